"""Which sentences are available for inspection, and how have systems translated them?"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
from sacrebleu.metrics import CHRF

from nmtlab.analysis.access.translations import stored_translations
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.runs.pack import packed_lines
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

MOST = 1000
"""Maximum number of sentences of a text that are shown."""


class Text(NamedTuple):
    """A split of a corpus."""

    corpus: ParallelCorpus
    split: str
    packed: bool

    @property
    def name(self) -> str:
        return (
            f"{self.corpus.folder.parent.name} (packed {self.split})"
            if self.packed
            else f"{self.corpus.name} {self.split}"
        )


def texts(run: Run, workspace: Workspace) -> list[Text]:
    """Return the available texts of a run: test and dev of its corpora, and the text packed with the run.

    Of several corpora in one direction, it is the first. The texts of the default direction come first.
    """
    found: list[Text] = []
    for direction in run.directions:
        try:
            corpus = corpus_of(run.directed(*direction), workspace)
        except NmtlabError:
            continue  # trained elsewhere, on a corpus that is not here
        found += [Text(corpus, split, False) for split in ("test", "dev") if split in corpus.splits]
    if packed := run.sentences:
        found.append(Text(packed, "dev", True))
    return found


def corpus_of(run: Run, workspace: Workspace) -> ParallelCorpus:
    """Return the corpus that a run was trained on in its direction, the first of several.

    Raises:
        CorpusError: it is not here, or the run was not trained in this direction, or elsewhere.
    """
    for named in run.recipe.trained_corpora:
        if named.name and (named.source, named.target) == run.direction:
            return ParallelCorpus.open(workspace.corpus_folder(named.name), *run.direction)
    source, target = run.direction
    problem = f"run {run.name!r} has no training text from {source} to {target}"
    raise CorpusError(problem, "choose a direction of its training, or a run that was trained with nmtlab")


def by_title(found: Iterable[Text]) -> dict[str, Text]:
    """Return texts by a title for each: its name, with the direction if they are in several directions."""
    offered = list(found)
    several = len({text.corpus.direction for text in offered}) > 1
    return {
        f"{text.name}, {text.corpus.source} to {text.corpus.target}" if several else text.name: text for text in offered
    }


def sentences(runs: Sequence[Run], text: Text, most: int = MOST) -> pd.DataFrame:
    """Return the sentences of a text beside the stored translations of several systems.

    Args:
        runs: that translate in the text's direction.

    Returns:
        A row for each sentence, indexed by `line`, from 1: `dev line`, its number in the dev text, if the sentences are
        a sample packed with a run; `source`; `reference`; and for each run with a stored translation of the text, a
        column named after the run, and its sentence score in a column `NAME chrF`. With two such runs or more, `gain`
        is the last one's chrF minus the first one's.
    """
    pairs = list(read_by(runs, text).pairs(text.split))
    stored = {run.label: stored_translations(run, text.corpus, text.split) for run in runs}
    translated = {label: lines for label, lines in stored.items() if lines is not None}
    table = side_by_side([source for source, _ in pairs], [target for _, target in pairs], translated, most)
    if text.packed and (numbers := packed_lines(text.corpus)[: len(table)]) != table.index.tolist():
        table.insert(0, "dev line", numbers)
    return table


def read_by(runs: Sequence[Run], text: Text) -> ParallelCorpus:
    """Return the corpus of a text as runs read it: in context if all do so, and the documents of the text are known."""
    reads = bool(runs) and all(run.recipe.text.context for run in runs)
    return replace(text.corpus, context=reads and text.corpus.has_documents(text.split))


def side_by_side(
    sources: Sequence[str], references: Sequence[str], translations: Mapping[str, Sequence[str]], most: int = MOST
) -> pd.DataFrame:
    """Return sentences beside their translations by several systems, as `sentences`.

    Args:
        translations: one for each, by system.
    """
    table = pd.DataFrame({"source": sources[:most], "reference": references[:most]})
    table.index = pd.RangeIndex(1, len(table) + 1, name="line")
    for system, lines in translations.items():
        table[system] = lines[:most]
        table[f"{system} chrF"] = _chrf(table[system], table["reference"])
    if len(translations) > 1:
        first, *_, last = (table[f"{system} chrF"] for system in translations)
        table["gain"] = (last - first).round(1)
    return table


def _chrf(hypotheses: pd.Series, references: pd.Series) -> list[float]:
    chrf = CHRF()
    both = zip(hypotheses, references, strict=True)
    return [round(chrf.sentence_score(hypothesis, [reference]).score, 1) for hypothesis, reference in both]
