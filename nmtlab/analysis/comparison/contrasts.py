"""Does a system find the right translation likelier than one with a single fault? (contrastive pairs; Sennrich 2017)"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe.family import NO_DECODER
from nmtlab.search.forced import forced_decode_all
from nmtlab.text.corpora.lines import is_blank, read_lines
from nmtlab.translation import System


class ContrastivePair(NamedTuple):
    """A source sentence, its right translation, and a wrong one."""

    source: str
    right: str
    wrong: str


def read_contrasts(path: Path | str) -> list[ContrastivePair]:
    """Return the contrastive pairs of a file: source, right and wrong translation on each line, separated by tabs.

    Raises:
        CorpusError: the file cannot be read or is empty, or a line has not these three, or two that are the same.
    """
    found = []
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split("\t")
        if len(parts) != 3 or any(map(is_blank, parts)) or parts[1] == parts[2]:
            problem = f"{path}, line {number}: not a source, a right translation and another, wrong one"
            raise CorpusError(problem, "separate the three by tabs")
        found.append(ContrastivePair(*parts))
    if not found:
        raise CorpusError(f"{path}: empty", "give a line for each pair of translations")
    return found


def contrasts(system: System, pairs: Sequence[ContrastivePair]) -> pd.DataFrame:
    """Return the log-probabilities of right and wrong translations, summed over their tokens, EOS included.

    Returns:
        A row for each pair: `line`, from 1; `right` and `wrong`, log p of each given the source; `correct`, whether
        that of the right one is higher. Translations that are the same to the system are no success.

    Raises:
        RunError: a phrase-based system.
    """
    if system.model is None:
        raise RunError(NO_DECODER, "choose a transformer or an rnn")
    sources = [pair.source for pair in pairs for _ in range(2)]
    targets = [target for pair in pairs for target in (pair.right, pair.wrong)]
    ids = system.pipeline.encode_source(sources), system.pipeline.encode_target(targets)
    scores = {index: forced.log_prob for index, forced in forced_decode_all(system.model, *ids, record=False)}
    rows = [(n + 1, scores[2 * n], scores[2 * n + 1]) for n in range(len(pairs))]
    frame = pd.DataFrame(rows, columns=["line", "right", "wrong"])
    return frame.assign(correct=frame["right"] > frame["wrong"])
