"""Back-translation in rounds: each direction trains on what the other one has translated (Hoang et al. 2018).

One model of both directions trains on what it has translated itself (Niu et al. 2018).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.interchange.engine import open_fastest
from nmtlab.reading import read_json
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.synthetic import Synthesis, back_translate
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import REPORT
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.training.corpora import check_joint, open_corpora
from nmtlab.training.events import OnEvent, Preparing, ignore
from nmtlab.training.resuming import check_same_text, check_same_training
from nmtlab.training.setup import train
from nmtlab.training.transfer import continued_recipe
from nmtlab.workspace import Workspace


@dataclass(frozen=True)
class Rounds:
    """What is trained in rounds, and on which text.

    Args:
        name: of the runs, as `NAME.back1` and `NAME.forth1`, and of the text that each makes, as `NAME.by-back1`.
        recipe: of every run; its seed is also that of the draw of lines.
        corpus: real pairs, in the direction of the forward runs.
        texts: monolingual text by language: of the target language, and for more than one round of the source language.
        rounds: their number, 1 or more.
        ratio: lines that are translated in each round per real pair, above 0; no line twice until all have been.
        beam_size: of the translations; 1 is greedy search.
        warm: whether runs go on from those of the round before. Synthetic text is then not tagged: the first run of a
            direction that reads real pairs alone knows no tag.
        both_ways: whether one run, `NAME.both1`, has both directions: that of the first round reads real pairs alone,
            and a later one what the one before has translated, as `NAME.by-both1.en`, always as sources.

    Raises:
        CorpusError: text in one of the languages is missing, or is in another.
        RecipeError: the recipe names further corpora, reads in context, is phrase-based, or has separate vocabularies
            for both directions.
    """

    name: str
    recipe: Recipe
    corpus: ParallelCorpus
    texts: Mapping[str, MonolingualCorpus]
    rounds: int = 1
    ratio: float = 1.0
    beam_size: int = 1
    warm: bool = False
    both_ways: bool = False

    def __post_init__(self) -> None:
        if self.recipe.more_corpora:
            raise RecipeError("the recipe names further corpora, in one direction", "leave out more_corpora")
        if self.both_ways:
            check_joint(self.recipe)
        if self.recipe.text.context:
            raise RecipeError("text.context: text that is made has no documents", "leave it out")
        if not self.recipe.model.neural:
            raise RecipeError("the recipe is phrase-based, and cannot be resumed", "choose a neural one")
        for language, text in self.texts.items():
            if text.language != language:
                problem = f"text {text.name}: in {text.language}, but {language} is needed"
                raise CorpusError(problem, f"choose text in {language}")
        source, target = self.corpus.direction
        for language, side in ((target, "target"), *(((source, "source"),) if self.rounds > 1 else ())):
            if language not in self.texts:
                remedy = f"name it with --{side}-text" + (", or make one round" if side == "source" else "")
                raise CorpusError(f"no monolingual text in {language}", remedy)

    def with_synthetic(self, made: Mapping[Direction, str]) -> Recipe:
        """Return the recipe of a run on real pairs and on synthetic text, by its direction; of both directions on both.

        The first run has none.
        """
        origin = "" if self.warm else "synthetic"
        source, target = self.corpus.direction
        more = [{"name": self.corpus.name, "source": target, "target": source}] if self.both_ways else []
        more += [{"name": name, "source": way[0], "target": way[1], "origin": origin} for way, name in made.items()]
        return self.recipe.with_changes({"training.sampling_exponent": 1.0, "more_corpora": more})

    def synthesis(self, number: int) -> Synthesis:
        """Return how text is translated in a round, counted from 1."""
        search = self.recipe.search.model_copy(update={"beam_size": self.beam_size})
        lines = max(1, round(self.ratio * self.corpus.count("train")))
        return Synthesis(search=search, limit=lines, seed=self.recipe.training.seed, part=number - 1)


class Step(NamedTuple):
    """A run that was trained, with the number of lines that it translated for the next, and dropped; 0 of the last.

    A run of both directions is a step in each.
    """

    round: int
    run: Run
    lines: int
    dropped: int


def back_translate_in_rounds(
    settings: Rounds,
    workspace: Workspace,
    watch: Callable[[str], OnEvent] = lambda run: ignore,
    should_stop: Callable[[], bool] = lambda: False,
    allow_overlap: bool = False,
) -> Iterator[Step]:
    """Train backward and forward runs in turn, or runs of both, each on real pairs and what the one before translated.

    The synthetic side is always the source: a run learns to write from real text only. All are ordinary runs and
    corpora; finished ones are not made again, and interrupted trainings are resumed.

    Args:
        settings: what to train.
        workspace: where runs and corpora are.
        watch: returns what is called with the events of a run, by its name.
        should_stop: polled often; the steps end before the one that was stopped.
        allow_overlap: as of `train`.

    Raises:
        RunError: a run has diverged, or one of the name is another training.
        CorpusError: a corpus has the name of a text to be made.
        NmtlabError: as of `train` and `back_translate`.
    """
    forward = settings.corpus
    back = replace(forward, source=forward.target, target=forward.source)
    ways = {"both": (forward, back)} if settings.both_ways else {"back": (back,), "forth": (forward,)}
    steps = [(number, way) for number in range(1, settings.rounds + 1) for way in ways]
    made: dict[Direction, str] = {}
    for number, way in steps:
        directions, name = ways[way], f"{settings.name}.{way}{number}"
        recipe, on_event = settings.with_synthetic(made), watch(name)
        if settings.warm and number > 1:
            recipe = continued_recipe(Run(workspace.run_folder(f"{settings.name}.{way}{number - 1}")), recipe)
        run = _trained(name, recipe, directions[0], workspace, on_event, should_stop, allow_overlap)
        if run.status != "finished":
            return
        made, counts = {}, {one.direction: (0, 0) for one in directions}
        for source, target in counts if (number, way) != steps[-1] else ():
            text = f"{settings.name}.by-{way}{number}" + (f".{source}" if settings.both_ways else "")
            made[target, source] = text
            folder, directed = workspace.own_corpus_folder(text), run.directed(source, target)
            try:
                counts[source, target] = _translated(directed, settings, number, folder, on_event, should_stop)
            except _StoppedError:
                return
        for direction, (lines, dropped) in counts.items():
            yield Step(number, run.directed(*direction), lines, dropped)


class _StoppedError(Exception):
    """A translation was stopped."""


def _trained(
    name: str,
    recipe: Recipe,
    pairs: ParallelCorpus,
    workspace: Workspace,
    on_event: OnEvent,
    should_stop: Callable[[], bool],
    allow_overlap: bool,
) -> Run:
    """Return the run of a name: trained, resumed, or finished before."""
    folder = workspace.run_folder(name)
    run = Run(folder) if folder.exists() else None
    if run:
        check_same_training(run, recipe, pairs, 1)
        check_same_text(run, corpora := open_corpora(recipe, pairs, workspace), [one.checksum() for one in corpora])
    if run is None or run.status not in ("finished", "diverged"):
        run = train(name, recipe, pairs, workspace, run is not None, on_event, should_stop, allow_overlap)
    if run.status == "diverged":
        raise RunError(f"run {name!r}: the loss is no longer finite", "choose a lower learning rate and another name")
    return run


def _translated(
    run: Run, settings: Rounds, number: int, folder: Path, on_event: OnEvent, should_stop: Callable[[], bool]
) -> tuple[int, int]:
    """Translate lines with a run, unless it was done before; return how many, and how many were dropped."""
    text, how = settings.texts[run.direction[0]], settings.synthesis(number)

    def check_stop(lines: int) -> None:
        if should_stop():
            raise _StoppedError

    if not folder.exists():
        on_event(Preparing(f"translating {min(how.limit, text.count()):,} lines"))
        system, _ = open_fastest(run, how.search, settings.recipe.machine)
        back_translate(run, text, folder, how, settings.recipe.machine, check_stop, system)
    report = read_json(folder / REPORT, dict, f"'nmtlab corpus remove {folder.name}' removes it")
    origin, options = report.get("origin", {}), report.get("options", {})
    wanted = {"weights": run.checkpoints.original_digest, "checksum": text.checksum()}
    if any(origin.get(field) != value for field, value in wanted.items()) or not how.facts.items() <= options.items():
        problem = f"corpus {folder.name!r}: already exists, but from another run, text, search or number of lines"
        raise CorpusError(problem, f"choose another name, or remove it: nmtlab corpus remove {folder.name}")
    return options["lines"], sum(report["dropped"].get("train", {}).values())
