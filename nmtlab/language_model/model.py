"""An n-gram language model: log-probabilities of sentences."""

from collections.abc import Collection, Iterable, Sequence
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory

from thot.common import NGramLanguageModel

from nmtlab.errors import CorpusError
from nmtlab.files import replacing
from nmtlab.language_model.learning import BUCKETS, COUNTS, WEIGHTS, learn_language_model
from nmtlab.reading import MAX_BYTES, read_bytes, reading

_REMEDY = "learn the model again"


class NgramModel:
    """An interpolated n-gram model (Jelinek and Mercer 1980).

    Each order's relative frequency is interpolated with the estimate of the order below, by a weight for how often the
    context was seen; below the unigram is a uniform distribution. A word outside of the given vocabulary is `<unk>`, or
    else a word of one sentence, or of none. The model is deficient: sentences have less than all of the probability, as
    `<s>` and unseen contexts keep a part.

    Args:
        folder: with the files of `learn_language_model`.

    Raises:
        RunError: a file is missing or damaged.
    """

    def __init__(self, folder: Path | str) -> None:
        self._files = _checked(Path(folder))
        self._model = NGramLanguageModel()
        self._model.load(str(Path(folder) / COUNTS))

    @classmethod
    def learn(
        cls, sentences: Iterable[Sequence[str]], order: int = 3, vocabulary: Collection[str] | None = None
    ) -> "NgramModel":
        """Return the model of a text, with all interpolation weights 0.5.

        Args:
            sentences: tokens of each, without white space; read once.
            order: tokens of the longest n-gram, at least 1.
            vocabulary: all words that the model knows, seen or not; None for those of two sentences or more.

        Raises:
            CorpusError: there is no sentence.
        """
        if order < 1:
            raise ValueError(f"order {order}: not at least 1")
        with TemporaryDirectory(prefix="nmtlab-") as folder:
            learn_language_model(Path(folder), sentences, order, vocabulary)
            if not (Path(folder) / COUNTS).stat().st_size:
                raise CorpusError("text of a language model: no sentence", "give more text")
            return cls(folder)

    def save(self, folder: Path | str) -> None:
        """Write the model's files into a folder, each atomically."""
        for name, content in self._files.items():
            with replacing(Path(folder) / name) as temporary:
                temporary.write_bytes(content)

    def log_prob(self, tokens: Sequence[str]) -> float:
        """Return the natural logarithm of the probability of a sentence and its end `</s>`."""
        return self._model.get_sentence_log_probability(list(tokens)) * log(10)

    def cross_entropy(self, tokens: Sequence[str]) -> float:
        """Return the cross-entropy of a sentence in nats per token, `</s>` among them."""
        return -self.log_prob(tokens) / (len(tokens) + 1)


def _checked(folder: Path) -> dict[str, bytes]:
    """Return the content of a model's files; the library crashes on damaged ones."""
    files = {}
    for name in (WEIGHTS, COUNTS):
        with reading(folder / name, _REMEDY):
            files[name] = read_bytes(folder / name, 16 * MAX_BYTES)
    with reading(folder / WEIGHTS, _REMEDY):
        order, buckets, size, *weights = files[WEIGHTS].decode("ascii").split()
        if (int(buckets), len(weights)) != (BUCKETS, BUCKETS * int(order)) or int(size) < 1:
            raise ValueError(f"not {BUCKETS} weights of each order")
        if not all(0 < float(weight) < 1 for weight in weights):
            raise ValueError("a weight is not between 0 and 1")
    with reading(folder / COUNTS, _REMEDY):
        for number, line in enumerate(files[COUNTS].decode().removesuffix("\n").split("\n"), start=1):
            *ngram, context, count = line.split(" ")
            if not (0 < len(ngram) <= int(order) and all(ngram) and 0 <= int(count) <= int(context) > 0):
                raise ValueError(f"line {number} is not an n-gram with its counts")
    return files
