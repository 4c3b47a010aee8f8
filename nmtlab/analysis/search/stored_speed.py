"""Stored measurements of speed and quality: medians, the Pareto front, prices, and the systems of WNMT 2018."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.workspace import PUBLISHED, RESULTS, Workspace

FOLDER = "efficiency"
"""Folder of the files, in a folder of results."""

_SENTENCES = 2169  # of newstest2015 (Khayrallah et al. 2018, Table 3, of the same volume)
_WORDS = 62_954  # of the source of newstest2014 (Junczys-Dowmunt et al. 2018, of the same volume)

PRICES = {"cpu": 0.102, "gpu": 3.259}
"""US dollars an hour of the task's machines, m5.large and p3.2xlarge."""

SETTING = ["run", "engine", "precision", "beam_size", "shortlist", "batch_tokens", "threads"]
PLACE = ["corpus", "split", "sentences", "machine"]
MEASURED = [
    "seconds", "processor_seconds", "load_seconds", "words_per_second", "memory_mib", "size_mib", "bleu", "bleu_margin",
    "chrf", "chrf_margin",
]  # fmt: skip
COLUMNS = [*SETTING, "round", *PLACE, "words", *MEASURED, "signature", "load_average", "commit"]
_ADDED = {"shortlist": 0, "bleu_margin": math.nan, "chrf": math.nan, "chrf_margin": math.nan}
"""Columns that older files lack, with what stands for them."""

TIMED = [*SETTING, *PLACE, "kind", "item", "count", "seconds", "load_average", "commit"]
_TIMES = ".times.csv"


def medians(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of each setting over its rounds.

    Args:
        measured: rows of `efficiency`, also of several measurements.

    Returns:
        A row for each setting on each text and kind of machine, with the medians of what was measured,
        `milliseconds` and `processor_milliseconds` (per sentence), the number of `rounds`, the `signature` of BLEU and
        the highest `load_average`.
    """
    groups = measured.groupby([*PLACE, *SETTING], sort=False)
    others = groups.agg(
        rounds=("round", "size"), signature=("signature", "first"), load_average=("load_average", "max")
    )
    found = groups[MEASURED].median().join(others).reset_index()
    each = 1000 / found["sentences"]
    return found.assign(milliseconds=each * found["seconds"], processor_milliseconds=each * found["processor_seconds"])


NOISE = 0.5
"""Difference in BLEU below which two systems count as equally good: on 1,000 sentences it may be chance."""


def marked(found: pd.DataFrame, cost: str, score: str = "bleu") -> pd.DataFrame:
    """Return rows of `medians` with `frontier`, a lead of up to `NOISE` counting as none; a copy is never on it."""
    systems = found[found["engine"] != "echo"]
    return found.assign(frontier=frontier(systems, cost, score, NOISE).reindex(found.index, fill_value=False))


def frontier(frame: pd.DataFrame, cost: str, score: str = "bleu", margin: float = 0.0) -> pd.Series:
    """Return which rows are worth their cost: better, by more than a margin, than those that cost less.

    Args:
        frame: a row for each system.
        cost: column that is better the lower; a row where it is below 0 is not on the frontier.
        score: column that is better the higher.
        margin: difference in score that counts as none, at least 0.
    """
    ordered = frame[frame[cost] >= 0].sort_values([cost, score], ascending=[True, False], kind="stable")
    best, worth = -math.inf, []
    for value in ordered[score]:
        worth.append(value > best + margin)
        best = value if worth[-1] else best
    return pd.Series(worth, ordered.index, dtype=bool).reindex(frame.index, fill_value=False)


def new_file(workspace: Workspace, corpus: str, split: str) -> Path:
    """Return the file of a new measurement on a text, named by the time in UTC."""
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return workspace.data / "results" / FOLDER / f"{corpus}.{split}.{when}.csv"


def times_file(measured: Path) -> Path:
    """Return the file of `where_time_goes`, beside that of `efficiency`."""
    return measured.with_name(measured.name.removesuffix(".csv") + _TIMES)


def stored_efficiency(workspace: Workspace) -> tuple[pd.DataFrame, list[Path]]:
    """Return all rows that were measured in a workspace or come with nmtlab, and the files that are damaged.

    Returns:
        Rows as of `nmtlab.analysis.search.translation_speed.efficiency`; none if nothing was measured. What older files
        lack is NaN.
    """
    return _stored([path for path in _files(workspace) if not path.name.endswith(_TIMES)], COLUMNS, MEASURED)


def stored_times(workspace: Workspace) -> tuple[pd.DataFrame, list[Path]]:
    """Return all that is stored of `where_time_goes`, and the files that are damaged; as `stored_efficiency`.

    Returns:
        Of what was measured several times, the medians, and the highest `load_average`.
    """
    paths = [path for path in _files(workspace) if path.name.endswith(_TIMES)]
    times, damaged = _stored(paths, TIMED, ["count", "seconds", "load_average"])
    groups = times.assign(item=times["item"].astype(str)).groupby([*SETTING, *PLACE, "kind", "item"], sort=False)
    how = {"count": "median", "seconds": "median", "load_average": "max", "commit": "last"}
    return groups.agg(how).reset_index()[TIMED], damaged


def _files(workspace: Workspace) -> list[Path]:
    folders = {(folder / FOLDER).resolve() for folder in (workspace.data / "results", RESULTS)}
    return sorted(path for folder in folders for path in folder.glob("*.csv"))


def _stored(paths: Sequence[Path], columns: list[str], numbers: list[str]) -> tuple[pd.DataFrame, list[Path]]:
    found, damaged = [pd.DataFrame(columns=columns)], []
    for path in paths:
        try:
            read = pd.read_csv(path)
            read = read.assign(**{name: value for name, value in _ADDED.items() if name not in read})
            found.append(read[columns].astype(dict.fromkeys(numbers, float)))
        except (ValueError, KeyError, OSError):
            damaged.append(path)
    return pd.concat(found[1:] or found, ignore_index=True), damaged


def words_per_dollar(words_per_second: float, dollars_per_hour: float) -> float:
    """Return how many words a US dollar translates (Junczys-Dowmunt et al. 2018).

    Raises:
        NmtlabError: the price is not above 0.
    """
    if not 0 < dollars_per_hour < math.inf:
        raise NmtlabError(f"price {dollars_per_hour:g}: no price of an hour", "give US dollars an hour, above 0")
    return words_per_second * 3600 / dollars_per_hour


def priced(found: pd.DataFrame, dollars_per_hour: float) -> pd.DataFrame:
    """Return rows of `medians` with `dollars`, the price of a million words of the source; NaN if it has none.

    Raises:
        NmtlabError: as of `words_per_dollar`.
    """
    speed = found["words_per_second"]
    return found.assign(dollars=1e6 / (speed.where(speed > 0) * words_per_dollar(1.0, dollars_per_hour)))


def published_efficiency() -> pd.DataFrame:
    """Return the systems of the efficiency task of WNMT 2018 (Birch et al. 2018, Tables 1 to 5).

    Returns:
        Rows for each system and kind of `processor`, without the system that copies its input, with `bleu`.
        Those of the `test` newstest2015 have `milliseconds` (per sentence), `processor_milliseconds`
        (the same for those on a CPU, of which one core was used: as printed, the two differ by less than 1 %; missing
        for those on a GPU), `memory_mib` (of the host) and `size_mib` (of the image of its container); those of
        newstest2014, whose number of words is known, have `words_per_second` and `dollars`, the price of a million
        words at `PRICES`.
    """
    printed = pd.read_csv(PUBLISHED / "wnmt-2018-efficiency.csv")
    systems = printed[printed["system"] != "echo"].reset_index(drop=True)
    first, priced, on_cpu = (
        systems["test"] == "newstest2014",
        systems["processor"].map(PRICES),
        systems["processor"] == "cpu",
    )
    milliseconds = (1000 * systems["seconds"] / _SENTENCES).mask(first)
    speed = (_WORDS / systems["seconds"]).where(first)
    costs = {
        "milliseconds": milliseconds, "processor_milliseconds": milliseconds.where(on_cpu),
        "memory_mib": systems["memory_mib"].mask(first), "size_mib": systems["image_mib"].mask(first),
        "words_per_second": speed, "dollars": 1e6 / (speed * 3600 / priced),
    }  # fmt: skip
    return systems.assign(**costs)[["processor", "system", "test", *costs, "bleu"]]
