"""How do scores depend on the length of the sentence?"""

import pandas as pd

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.analysis.comparison.words import LENGTHS
from nmtlab.evaluation.rare_words import bucket_names, bucket_of
from nmtlab.evaluation.resampling import corpus_score, sentence_statistics
from nmtlab.evaluation.scores import bleu_metric, default_tokenizer


def bleu_by_length(compared: Compared) -> pd.DataFrame:
    """Return the corpus BLEU of the sentences of each length.

    Returns:
        A row for each bucket of reference lengths in words that has sentences, and system: `bucket`, `sentences`,
        `system`, `bleu` (mean over seeds).
    """
    metric = bleu_metric(default_tokenizer(compared.languages[1]))
    score, names = corpus_score(metric), bucket_names(LENGTHS)
    of_line = pd.Series([bucket_of(len(words), LENGTHS) for words in compared.reference_words])
    counts = {name: sentence_statistics(seeds, compared.references, metric) for name, seeds in compared.systems.items()}
    rows = []
    for bucket, lines in of_line.groupby(of_line).groups.items():
        for name, of_seeds in counts.items():
            scores = [score(sums) for sums in of_seeds[:, lines].sum(axis=1).tolist()]
            rows.append((names[bucket], len(lines), name, sum(scores) / len(scores)))
    return pd.DataFrame(rows, columns=["bucket", "sentences", "system", "bleu"])
