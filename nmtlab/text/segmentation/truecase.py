"""Truecasing with the most frequent case of words, as in Moses."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sacremoses import MosesDetruecaser, MosesTruecaser


class Truecaser:
    """Gives sentence-initial words their most frequent case elsewhere (thesis 3.1.3).

    A word inside a sentence keeps its case, unless that form is unseen in training. Words that training has seen only
    sentence-initially stay unchanged.

    Args:
        text: the output of `to_text`.
    """

    def __init__(self, text: str) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, "truecase")
            path.write_text(text, encoding="utf-8")
            self._truecaser = MosesTruecaser(load_from=str(path))
        self._detruecaser = MosesDetruecaser()
        self._text = text

    @classmethod
    def learn(cls, sentences: Iterable[list[str]]) -> "Truecaser":
        """Learn from tokenized sentences; memory grows only with the number of types."""
        truecaser = MosesTruecaser()
        truecaser.train(sentences)
        with TemporaryDirectory() as folder:
            path = Path(folder, "truecase")
            truecaser.save_model(str(path))
            return cls(path.read_text(encoding="utf-8"))

    def to_text(self) -> str:
        """Return what was learned as a Moses truecase model: one line `form (count/all) form (count)` per word."""
        return self._text

    def apply(self, words: Sequence[str]) -> list[str]:
        """Return the words of a sentence in their true case."""
        # use_known matches Moses; without it sacremoses also changes words inside the sentence.
        return self._truecaser.truecase(" ".join(words), use_known=True)

    def undo(self, words: Sequence[str]) -> list[str]:
        """Return the words with sentence-initial capitals."""
        return self._detruecaser.detruecase(" ".join(words))
