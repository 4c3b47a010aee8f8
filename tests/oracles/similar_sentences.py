"""Do the differences of Table 3.13 rest on test sentences that training text has in nearly the same words?

    python tests/oracles/similar_sentences.py

Needs the texts of `nmtlab reproduce table-3.13 --scale small`; the translations are those of the packed runs.
"""

from collections import defaultdict

import numpy as np
import pandas as pd

from nmtlab.analysis.access.metric import Text
from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.metrics import find_metric, scored_text
from nmtlab.grids.results.score_differences import score_differences
from nmtlab.grids.results.scored import Scored
from nmtlab.runs.listing import open_run_of
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.similar import similar
from nmtlab.thesis.measured import measured
from nmtlab.workspace import Workspace

TEST_BLEU = find_metric("tokenized-test-bleu")

FIRST = "PreNorm + LayerNorm"
"""The system that the others are compared with."""


def main() -> None:
    workspace = Workspace.find()
    stored = measured("table-3.13")
    cells = stored.cells
    print(f"{TEST_BLEU.label}, means over seeds, and differences to {FIRST}, 95 % of seeds and sentences.")
    print("Similar: 70 % of all words of a source or reference and of that side of a training pair are in both.")
    for row in ("gl-en", "sk-en", "de-en"):
        scored = Scored.of(stored, TEST_BLEU, row)
        if scored is None or scored.corpus is None:
            print(f"\n{row}: its text is not in this workspace")
            continue
        own = cells[(cells["row"] == row) & (cells["metric"] == TEST_BLEU.key)]
        text = scored_text(TEST_BLEU, scored.corpus, None)
        systems, near = translated(scored, own, workspace), similar_to_train(text, scored.corpus)
        for title, chosen in (("all", near | True), ("not similar", ~near), ("similar", near)):
            print(f"\n{row}, {title}: {chosen.sum()} sentences")
            print_differences(part(text, systems, scored.corpus, chosen))


def translated(scored: Scored, cells: pd.DataFrame, workspace: Workspace) -> dict[str, list[list[str]]]:
    """Return the translations of each seed of each system."""
    systems = defaultdict[str, list[list[str]]](list, {FIRST: []})
    for cell in cells.itertuples():
        systems[cell.column].append(scored.translations(open_run_of(cell.run, cell.machine, workspace)))
    return systems


def similar_to_train(text: Text, corpus: ParallelCorpus) -> np.ndarray:
    """Return whether each sentence or its reference is similar to one of train: (sentences,) bool."""
    sides = ((text.sources, corpus.source), (text.references[0], corpus.target))
    return np.any([similar(lines, corpus.lines("train", language), language) for lines, language in sides], axis=0)


def part(text: Text, systems: dict[str, list[list[str]]], corpus: ParallelCorpus, chosen: np.ndarray) -> Compared:
    """Return the chosen sentences with their translations, as words that the score compares."""

    def words(lines: list[str]) -> list[str]:
        kept = [line for line, here in zip(lines, chosen, strict=True) if here]
        return TEST_BLEU.scored(kept, corpus.target)

    made = {name: [words(lines) for lines in seeds] for name, seeds in systems.items()}
    return Compared(words(text.sources), [words(lines) for lines in text.references], made, corpus.direction)


def print_differences(compared: Compared) -> None:
    for line in score_differences(compared).query("metric == 'BLEU'").itertuples():
        margin = "" if line.system == FIRST else f"{line.difference:+6.1f} ± {(line.high - line.low) / 2:.1f}"
        print(f"  {line.system:30} {line.score:5.1f} ({line.seeds}) {margin}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
