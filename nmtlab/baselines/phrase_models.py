"""Phrase table and lexical models of a phrase-based system, written to its folder by sil-thot.

A sentence is a list of tokens without white space. All files of these models begin with `tm`; `lm`, of the language
model, is beside them.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from thot.alignment import Ibm1AlignmentModel
from thot.translation import PhraseExtractParameters, PhraseModel

from nmtlab.alignment.aligner import AlignmentModel, Link, WordAligner

TokenPair = tuple[list[str], list[str]]

_IBM1_ITERATIONS = 5
_TRANSLATIONS = 20  # kept per phrase
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
