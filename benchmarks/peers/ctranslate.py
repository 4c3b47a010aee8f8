"""CTranslate2's decoder alone, from subwords to subwords: the speed to aim at, and an oracle of translations."""

import time
from collections.abc import Sequence
from pathlib import Path

import ctranslate2


def decode(
    folder: Path,
    sentences: Sequence[list[str]],
    beam_size: int,
    batch_size: int = 64,
    threads: int = 1,
    length_penalty: float = 0.0,
    longest: int = 256,
) -> tuple[list[list[str]], float]:
    """Translate, and say how many seconds that took without loading the model.

    Args:
        folder: as `nmtlab.interchange.ctranslate` writes it.
        sentences: source tokens without EOS.
        beam_size: 1 is greedy.
        batch_size: sentences at once; CTranslate2 sorts them by length first.
        threads: each for a batch of its own, which is faster than several for one.
        length_penalty: scores are divided by |y| to this power.
        longest: a translation is cut off here, in tokens.

    Returns:
        The target tokens of each sentence, without BOS and EOS, and the seconds.
    """
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type="float32", inter_threads=threads, intra_threads=1
    )
    options = {
        "beam_size": beam_size,
        "max_batch_size": batch_size,
        "length_penalty": length_penalty,
        "max_decoding_length": longest,
        "min_decoding_length": 0,  # the empty translation is allowed, as in nmtlab
    }
    translator.translate_batch(list(sentences[:2]), **options)
    start = time.perf_counter()
    results = translator.translate_batch(list(sentences), **options)
    seconds = time.perf_counter() - start
    return [result.hypotheses[0] for result in results], seconds
