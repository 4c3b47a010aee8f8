"""Which language is a line in? A classifier trained on text of a few known languages, and one that knows many."""

from collections.abc import Iterable, Mapping, Sequence

from nmtlab.errors import CorpusError, missing_package
from nmtlab.languages import language_of

UNDECIDED = ""
"""The language of a line without letters: a number or a sign is the same in every language."""

LONGEST = 4
"""Longest n-gram, in characters."""

_SMOOTHING = 0.1
"""Added to the count of each n-gram. On dev text of gl, pt, es and en, 0.01 recognised as many lines, 1 fewer, and
logistic regression, which takes a hundred times as long, no more."""


IMPROBABLE = 0.005
"""Probability of a language below which a line is in another one.

In 50 clean texts of 18 languages, at most 1.5 % of the lines of a side fall below it, and none in most. Of lines in
another language 92 % or more do, but of those in a closely related one (Spanish as Galician, Czech as Slovak) a fifth
to a half."""


class LanguageClassifier:
    """Naive Bayes over character n-grams within words, of 1 to 4 characters in lower case (scikit-learn).

    All languages are equally probable beforehand, whatever the size of their text. The same texts give the same
    classifier.

    Args:
        texts: language -> lines; two languages or more. Lines without letters are left out, and repeated ones.

    Raises:
        CorpusError: fewer than two languages, or one without a line that has letters.
    """

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB

        known = {language: list(dict.fromkeys(filter(has_letters, lines))) for language, lines in texts.items()}
        if len(known) < 2:
            raise CorpusError(f"language identification: text of {len(known)} language", "give text of two or more")
        for language, lines in known.items():
            if not lines:
                raise CorpusError(f"language identification: no text in {language}", "give lines with letters")
        self.languages = tuple(known)
        """Codes of the languages."""
        self._counts = CountVectorizer(analyzer="char_wb", ngram_range=(1, LONGEST))
        self._model = MultinomialNB(alpha=_SMOOTHING, fit_prior=False)
        labels = [language for language, lines in known.items() for _ in lines]
        self._model.fit(self._counts.fit_transform(line for lines in known.values() for line in lines), labels)

    def predict(self, lines: Sequence[str]) -> list[str]:
        """Return the most probable language of each line, `UNDECIDED` for one without letters."""
        decidable = [line for line in lines if has_letters(line)]
        if not decidable:
            return [UNDECIDED] * len(lines)
        found = iter(self._model.predict(self._counts.transform(decidable)).tolist())
        return [next(found) if has_letters(line) else UNDECIDED for line in lines]

    def accuracy(self, texts: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Return the share of each language's lines that are recognised, without those undecided; NaN if none is left.

        Args:
            texts: language -> lines that the classifier was not trained on.
        """
        shares = {}
        for language, lines in texts.items():
            found = [one for one in self.predict(lines) if one != UNDECIDED]
            shares[language] = found.count(language) / len(found) if found else float("nan")
        return shares


class Identifier:
    """Knows about 140 languages (py3langid: naive Bayes over byte n-grams), without text of them.

    Raises:
        NmtlabError: py3langid is not installed.
    """

    def __init__(self) -> None:
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ImportError as error:
            raise missing_package("py3langid") from error
        self._model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        self._known = set(self._model.labels)

    def knows(self, language: str) -> bool:
        """Return whether it knows the language of a code."""
        return language_of(language) in self._known

    def excludes(self, line: str, language: str) -> bool:
        """Return whether a line is not in a language: this is less probable than `IMPROBABLE`.

        Never so for a line without letters, or a language that it does not know.
        """
        if not (self.knows(language) and has_letters(line)):
            return False
        code, (best, _) = language_of(language), self._model.classify(line)
        return best != code and dict(self._model.rank(line))[code] < IMPROBABLE


def has_letters(line: str) -> bool:
    """Return whether a line has a letter of any script, so that it is in some language."""
    return any(map(str.isalpha, line))
