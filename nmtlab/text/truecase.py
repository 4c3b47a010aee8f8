"""The most frequent case of words, as in Moses."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from sacremoses import MosesDetruecaser, MosesTruecaser


class Truecaser:
    """Gives the word at the beginning of a sentence the case it mostly has elsewhere (thesis 3.1.3).

    A word inside a sentence keeps its case, unless training has never seen it so. Words that training has seen at
    the beginning of sentences alone stay as they are.

    Args:
        text: what `to_text` returned.
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
        """Learn from tokenized sentences; what is held grows with the number of different words only."""
        truecaser = MosesTruecaser()
        truecaser.train(sentences)
        with TemporaryDirectory() as folder:
            path = Path(folder, "truecase")
            truecaser.save_model(str(path))
            return cls(path.read_text(encoding="utf-8"))

    def to_text(self) -> str:
        """Return what was learned, as a Moses truecase model: a line `form (count/all) form (count)` for each word."""
        return self._text

    def apply(self, words: Sequence[str]) -> list[str]:
        """Return the words of a sentence in their true case."""
        # use_known is what Moses does; without it sacremoses would change words inside the sentence too.
        return self._truecaser.truecase(" ".join(words), use_known=True)

    def undo(self, words: Sequence[str]) -> list[str]:
        """Return the words with a capital at the beginning of each sentence."""
        return self._detruecaser.detruecase(" ".join(words))
