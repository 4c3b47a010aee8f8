"""How well does a system choose its words, and what decides the choice? Thesis 3.2.6 in one table of numbers."""

from collections.abc import Iterator

import pandas as pd

from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.measure import versioned
from nmtlab.analysis.attention.shift import attention_error, attention_shift
from nmtlab.analysis.lexical.choices import deciding_terms, rare_choices
from nmtlab.analysis.lexical.gold import has_gold
from nmtlab.analysis.lexical.lexicon import gold_translations, precision, system_translations
from nmtlab.analysis.lexical.norms import norm_correlations, word_norms
from nmtlab.analysis.lexical.rare_words import word_accuracy
from nmtlab.analysis.lexical.reference_links import reference_links
from nmtlab.analysis.lexical.unknown_words import reference_unknowns, unknown_summary
from nmtlab.models.interface import WORD_TERMS
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus

RARE = 10
"""A word is rare if its training count is below this."""

Quantity = tuple[str, float, int]


@versioned(1)
def lexical_choice(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the measures of a run's lexical choice, one number each.

    Links between words are those of `reference_links`.

    Args:
        run: any; for a phrase-based one, only its translations are measured.
        corpus: in its languages, with its training text.
        part: the split that is analysed, dev or test.

    Returns:
        A row for each `quantity` that applies to the run: its `value`, and `count`, the number of items measured:

        - `rare recall`, `frequent recall`: share of the reference words that are translated, among those with training
          counts of 1 to 9 and of 10 or more (3.2.6.2);
        - `norm-frequency`: rank correlation of ‖W_e‖, as used in the logit, with frequency (Figure 3.2);
        - `norm decides`: share of the wrong choices at rare words in which ‖W_e‖ had the largest effect (3.2.1);
        - `left shift`: how many words to the left of the linked word the attention peak is, mean (Figure 3.3);
        - `alignment error`: AER of the attention peaks, 0 to 1;
        - `right copies`: share of the words that it cannot generate for which it would copy the linked word (3.2.6.3);
        - `lexicon precision`: share of source types whose first translation in the lexical module is right
          (Table 3.9), for artificial languages.

    Raises:
        CorpusError: no such split, no training text, or other languages.
        RunError: the run has no weights.
    """
    run = in_direction(run, corpus)
    quantities = list(_translated(run, corpus, part))
    if run.recipe.model.neural:
        quantities += [*_norms(run, corpus, part), *_attention(run, corpus, part), *_lexicon(run, corpus)]
    return pd.DataFrame(quantities, columns=["quantity", "value", "count"])


def _translated(run: Run, corpus: ParallelCorpus, part: str) -> Iterator[Quantity]:
    buckets = word_accuracy(run, corpus, part, edges=(0, 1, RARE))
    for name, (_, bucket) in zip(("rare recall", "frequent recall"), buckets.iloc[1:].iterrows(), strict=True):
        yield name, bucket["recall"], bucket["words"]


def _norms(run: Run, corpus: ParallelCorpus, part: str) -> Iterator[Quantity]:
    correlations = norm_correlations(word_norms(run)).set_index("quantity")
    yield "norm-frequency", *correlations.loc["used_norm", ["spearman", "words"]]
    choices = rare_choices(run, corpus, part, below=RARE)
    wrong = int((~choices["right"]).sum())
    shares = deciding_terms(choices).set_index("effect")["share"]
    yield "norm decides", sum(shares.get(f"{name}_norm", 0.0) for name in WORD_TERMS), wrong


def _attention(run: Run, corpus: ParallelCorpus, part: str) -> Iterator[Quantity]:
    links = reference_links(run.pipeline, corpus, part)
    shifts = attention_shift(run, corpus, part, links)
    linked = shifts["shift"].dropna()
    yield "left shift", linked.mean(), len(linked)
    yield "alignment error", attention_error(shifts, links)["error_rate"].item(), len(linked)
    copies = unknown_summary(reference_unknowns(run, corpus, part, links))
    for line in copies.itertuples():
        yield "right copies", line.accuracy, round(line.linked * line.unknowns)


def _lexicon(run: Run, corpus: ParallelCorpus) -> Iterator[Quantity]:
    if run.recipe.model.family != "rnn" or run.recipe.model.lexicon != "module" or not has_gold(corpus):
        return
    judged = precision(system_translations(run), gold_translations(corpus, run.pipeline)).set_index("frequency")
    yield "lexicon precision", *judged.loc["all", ["precision_at_1", "types"]]
