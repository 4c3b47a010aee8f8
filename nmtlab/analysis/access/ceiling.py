"""How good can a system be whose translations consist of words?"""

from collections.abc import Sequence

from nmtlab.evaluation.scores import bleu, default_tokenizer
from nmtlab.recipe.text import WordRules
from nmtlab.text.segmentation.tokenizers import Words


def word_ceiling(references: Sequence[str], language: str, rules: WordRules = "unicode") -> float:
    """Return the BLEU of a text split into words and joined again, against itself: that of a faultless word system.

    Args:
        references: one per sentence.
        rules: of the words.
    """
    words = Words(language, rules=rules)
    lines = [words.join(words.split(line)) for line in references]
    if lines == list(references):
        return 100.0  # BLEU of very short sentences is 0, even of the reference
    return bleu(lines, [references], default_tokenizer(language)).value
