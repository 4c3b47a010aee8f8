"""Why does Arthur copy the wrong words for unknown ones? Where it and `tied` look, on qaa-en.

    python tests/oracles/arthur_copies.py

Needs the runs of `nmtlab reproduce table-3.6 --scale small`.
"""

import numpy as np

from nmtlab.analysis.access.word_pairs import word_pairs
from nmtlab.analysis.lexical.lexical_choice import reference_unknowns
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import gold_links
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.workspace import Workspace

LINES = 300


def looks(run: Run, workspace: Workspace) -> tuple[int, float, float, float]:
    """Return how many words of the references are unknown; of them the shares of right copies, of peaks of attention
    on unknown source words, and of unknown words among those that are linked to them.
    """
    corpus = ParallelCorpus.open(workspace.corpus_folder(run.recipe.corpus.name), "qaa", "en")
    links = gold_links(corpus, "test")
    words = reference_unknowns(run, corpus, "test", links, limit=LINES)
    words = words[words["linked"]]
    pairs = {pair.line: pair for pair in word_pairs(run, corpus, "test", links, LINES)}
    looked_at, wanted = [], []
    for word in words.itertuples():
        pair = pairs[word.line]
        linked = [source for source, target in pair.links if target == word.target_position]
        right = min(linked, key=lambda source: abs(source - word.source_position))
        looked_at.append(pair.source_ids[word.source_position] == UNK)
        wanted.append(pair.source_ids[right] == UNK)
    return len(words), words["correct"].mean(), np.mean(looked_at), np.mean(wanted)


def main() -> None:
    workspace = Workspace.find()
    print(f"first {LINES} test sentences of qaa-en: words that a system cannot say, where there is a gold link\n")
    print(f"{'run':24} {'words':>6} {'right':>6} {'peak on an unknown word':>24} {'where it should be':>19}")
    for system in ("tied", "arthur"):
        for seed in (1, 2, 3):
            name = f"small-qaa-en.{system}.s{seed}"
            count, right, looked_at, wanted = looks(open_run(name, workspace), workspace)
            print(f"{name:24} {count:6} {right:6.3f} {looked_at:24.3f} {wanted:19.3f}", flush=True)
    table = open_run("small-qaa-en.arthur.s1", workspace).translation_table
    row = slice(table.offsets[UNK], table.offsets[UNK + 1])
    targets = dict(zip(table.targets[row].tolist(), table.probabilities[row].tolist(), strict=True))
    print(f"\np(unknown word | unknown word) in Arthur's table: {targets[UNK]:.3f}, of {len(targets)} types")


if __name__ == "__main__":
    main()
