"""What does a model translate if the right translations of new words must occur? (Kothur et al. 2018)"""

from collections.abc import Callable, Sequence

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring
from nmtlab.analysis.access.needs import DECODING, in_direction
from nmtlab.analysis.comparison.document_measures import share_right, with_dictionary
from nmtlab.analysis.comparison.new_words import Entry, document_lines
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import Words


def constrained_translations(
    run: Run,
    corpus: ParallelCorpus,
    documents: Sequence[str],
    dictionary: Sequence[Entry],
    split: str = "test",
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate documents by a beam search in whose result the translations of a dictionary's words must occur.

    Translations that the run cannot write, since they need a type that no training target has, are left out.

    Args:
        run: neural, with weights; it searches with a beam.
        corpus: in its languages.
        documents: the id of each line's document.
        dictionary: whose entries hold in their document.
        split: train, dev or test.
        on_progress: called with the number of sentences just translated.
        machine: where to compute; torch's choice if not given.

    Returns:
        A row for each sentence: `document`, `line` in the text from 1, `source`, `reference`, `constrained`.

    Raises:
        CorpusError: no such split, other languages, or there is not one id for each line.
        RunError: a run that plans lengths or searches without a beam.
        RecipeError: what must occur in a sentence is longer than its translation may be.
    """
    run, lines = in_direction(run, corpus), document_lines(corpus, split, documents)
    split_source, entries = Words(corpus.source).split, {(name, word): said for name, word, said in dictionary}
    system = open_model(run, machine=machine)
    must = [
        [said for word in split_source(source) if system.can_write(said := entries.get((name, word), ""))]
        for name, source in zip(lines["document"], lines["source"], strict=True)
    ]
    found = system.translate(lines["source"].tolist(), on_progress=on_progress, must=must)
    return lines.assign(constrained=[one.text for one in found])


_HOW = "with the dictionary's words as constraints"

CONSTRAINED = Analysis(
    "What does a model translate if the dictionary's words must occur?",
    constrained_translations,
    source="Kothur, Knowles and Koehn 2018",
    needs=DECODING,
    version=1,
    columns=("document", "line", "source", "reference", "constrained"),
    metrics=(
        Metric(
            "bleu-constrained", f"BLEU {_HOW}", "score", "BLEU", find=with_dictionary,
            scoring=Scoring(made_by=_HOW, column="constrained"),
            usable=USABLE_BLEU, if_diverged=0.0,
        ),
        Metric(
            "new-words-constrained", f"% of new words right {_HOW}", unit="%", find=with_dictionary,
            read=share_right("constrained"), if_diverged=0.0,
        ),
    ),
)  # fmt: skip
