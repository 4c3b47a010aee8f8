"""Phrase table, lexical models and language model of a phrase-based system, written to its folder by sil-thot.

A sentence is a list of tokens without white space. All files of a folder begin with `tm` (translation) or `lm`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from thot.alignment import Ibm1AlignmentModel
from thot.translation import PhraseExtractParameters, PhraseModel

from nmtlab.alignment.aligner import AlignmentModel, Link, WordAligner

TokenPair = tuple[list[str], list[str]]

_IBM1_ITERATIONS = 5
_TRANSLATIONS = 20  # kept per phrase
_LENGTH_BUCKETS = "3 10"  # of the language model's weights: three of them, of ten words
# As sil-machine's trainer writes them: interpolation weights of phrase table and lexical models, and length models.
_CONSTANT_FILES = {
    "lambda": "0.7 0.7",
    "srcsegmlentable": "Uniform",
    "trgcutstable": "0.999",
    "trgsegmlentable": "Geometric",
}


def learn_phrases(
    folder: Path, pairs: Sequence[TokenPair], aligner: AlignmentModel, max_phrase_length: int, seed: int
) -> None:
    """Write the phrase table of training pairs, none with a blank side, and the lexical models that smooth it.

    `max_phrase_length` counts target tokens.
    """
    swapped = [(target, source) for source, target in pairs]
    _learn_lexical_model(folder / "tm_invswm", pairs)
    _learn_lexical_model(folder / "tm_swm", swapped)
    links = WordAligner.train(pairs, aligner, seed).align(pairs)
    aligned = folder / "tm.A3.final"
    aligned.write_text("".join(_in_giza_format(pairs, links)), encoding="utf-8")
    parameters = PhraseExtractParameters()
    parameters.max_target_phrase_length = max_phrase_length
    phrases = PhraseModel()
    phrases.build(str(aligned), parameters, pseudo_ml=False)
    phrases.print_phrase_table(str(folder / "tm.ttable"), n=_TRANSLATIONS)
    phrases.clear()
    aligned.unlink()
    for ending, content in _CONSTANT_FILES.items():
        (folder / f"tm.{ending}").write_text(content, encoding="utf-8")


def learn_language_model(folder: Path, sentences: Iterable[Sequence[str]], order: int) -> None:
    """Write the n-gram counts of target sentences, and initial interpolation weights.

    A word's first occurrence counts as an unknown word, which gives unknown words their probability.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    seen: set[str] = set()
    for sentence in sentences:
        known = [word if word in seen else "<unk>" for word in sentence]
        seen.update(sentence)
        words = ["<s>", *known, "</s>"]
        counts.update(tuple(words[i : i + n]) for n in range(1, order + 1) for i in range(len(words) - n + 1))
    words_in_all = sum(count for ngram, count in counts.items() if len(ngram) == 1)
    lines = (
        f"{' '.join(ngram)} {counts[ngram[:-1]] if ngram[:-1] else words_in_all} {count}\n"
        for ngram, count in sorted(counts.items(), key=lambda entry: (len(entry[0]), entry[0]))
    )
    (folder / "lm").write_text("".join(lines), encoding="utf-8")
    write_language_model_weights(folder, order, [0.5] * 3 * order)


def write_language_model_weights(folder: Path, order: int, weights: Iterable[float]) -> None:
    """Write the interpolation weights of n-grams of each order, (3 * order,) numbers in (0, 1)."""
    written = " ".join(f"{weight:.6f}" for weight in weights)
    (folder / "lm.weights").write_text(f"{order} {_LENGTH_BUCKETS} {written}\n", encoding="utf-8")


def _learn_lexical_model(prefix: Path, pairs: Iterable[TokenPair]) -> None:
    model = Ibm1AlignmentModel()
    for first, second in pairs:
        model.add_sentence_pair(first, second, 1)
    model.start_training()
    for _ in range(_IBM1_ITERATIONS):
        model.train()
    model.end_training()
    model.print(str(prefix))


def _in_giza_format(pairs: Iterable[TokenPair], links: Iterable[set[Link]]) -> Iterator[str]:
    for (source, target), linked in zip(pairs, links, strict=True):
        positions: list[list[int]] = [[] for _ in target]
        for i, j in sorted(linked):
            positions[j].append(i + 1)
        words = (f"{word} ({{ {' '.join(map(str, at))} }})" for word, at in zip(target, positions, strict=True))
        yield f"# 1\n{' '.join(source)}\nNULL ({{ }}) {' '.join(words)}\n"
