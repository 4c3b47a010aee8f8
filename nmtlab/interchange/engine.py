"""Which engine translates with a run: CTranslate2 where it finds the same text sooner, nmtlab otherwise."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from nmtlab.device import choose_device
from nmtlab.errors import NmtlabError
from nmtlab.interchange.conversion import can_keep
from nmtlab.interchange.served import check_served, open_served
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.translation import System

Engine = Literal["nmtlab", "ctranslate2"]


class Choice(NamedTuple):
    """An engine, and why it was chosen, as a clause; empty if it was asked for."""

    engine: Engine
    why: str

    def __str__(self) -> str:
        return f"engine: {self.engine} ({self.why})"


def choose_engine(
    asked: Engine | Literal["auto"], run: Run, search: SearchSettings, machine: MachineSettings, others: Sequence[str]
) -> Choice:
    """Return the engine that is asked for; with `auto`, CTranslate2 if it finds the same text sooner, else nmtlab.

    Only greedy search is the same there: its beam search stops sooner, and misses better translations.

    Args:
        asked: taken as it is, without a reason, unless it is `auto`.
        search: settings of the search.
        machine: where nmtlab would compute.
        others: why CTranslate2 cannot do the rest of what is asked for, as clauses.
    """
    if asked != "auto":
        return Choice(asked, "")
    if others:
        return Choice("nmtlab", others[0])
    try:
        check_served(run, search)
    except NmtlabError as error:
        return Choice("nmtlab", error.problem)
    if search.beam_size > 1:
        return Choice("nmtlab", f"a beam of {search.beam_size} can find better translations than CTranslate2's")
    if not search.allow_empty:
        return Choice("nmtlab", "search.allow_empty = false: CTranslate2 gives other scores")
    if _in_half(run):
        return Choice("nmtlab", "the run computes in bfloat16, which CTranslate2 rounds otherwise")
    if not can_keep(run, "fp32", search, "best"):
        return Choice("nmtlab", "the converted model cannot be kept here")
    if choose_device(machine).type != "cpu":
        return Choice("nmtlab", "there is a GPU")
    return Choice("ctranslate2", "greedy search finds the same translations there, and sooner")


def open_fastest(
    run: Run, search: SearchSettings | None = None, machine: MachineSettings | None = None
) -> tuple[System, Choice]:
    """Open a run with the engine that `choose_engine` chooses, and say which and why; arguments as of `open_system`.

    Raises:
        RunError: as of `open_system`.
    """
    search, machine = search or run.recipe.search, machine or MachineSettings()
    choice = choose_engine("auto", run, search, machine, [])
    if choice.engine == "ctranslate2":
        return open_served(run, search=search, machine=machine), choice
    return open_system(run, search, machine=machine), choice


def _in_half(run: Run) -> bool:
    """Return whether an imported model is stored, and computes, in half precision."""
    return bool(run.origin.imported) and run.recipe.machine.precision == "bf16"
