"""A corpus with noise: the training pairs of a clean one, and bad ones after them."""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport, copy_held_out
from nmtlab.text.corpora.lines import is_blank, new_folder, write_pairs
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.noise.kinds import NOISES, Kind, Noise

MOST = 10.0
"""Noise that is added, as a share of the clean pairs, at most."""


def with_noise(pairs: Sequence[Pair], noise: Noise, share: float, seed: int) -> list[Pair]:
    """Return clean pairs, unchanged and in their order, and bad ones after them.

    Args:
        pairs: clean ones.
        noise: a kind of noise.
        share: number of bad pairs to each clean one, above 0, `MOST` at most.
        seed: with the same one, the bad pairs of a smaller share are the first ones of a larger one.

    Raises:
        CorpusError: the share is out of range, or this kind of noise has not as many pairs.
    """
    if not 0 < share <= MOST:
        raise CorpusError(f"share is {share:g}", f"give more than 0 and at most {MOST:g}, which is {MOST:,.0%}")
    size = round(share * len(pairs))
    if not size:
        raise CorpusError(f"a share of {share:g} of {len(pairs):,} pairs is less than a pair", "raise --share")
    bad = list(islice(noise(pairs, np.random.default_rng(seed)), size))
    if len(bad) < size:
        raise CorpusError(f"{size:,} lines wanted, {len(bad):,} there", "lower --share")
    return [*pairs, *bad]


def add_noise(
    folder: Path | str,
    corpus: ParallelCorpus,
    kind: Kind,
    share: float,
    seed: int = 1,
    third: MonolingualCorpus | None = None,
) -> ImportReport:
    """Write the corpus `folder` atomically: training pairs with noise, dev and test as they are, with their gold data.

    Args:
        folder: must not exist.
        corpus: the clean corpus, with training text, which is held in memory.
        kind: of noise.
        share, seed: as of `with_noise`.
        third: text in another language, for pairs in the wrong language, and only for them.

    Raises:
        CorpusError: `folder` exists, the third text is missing, not needed or in a language of the corpus, the corpus
            cannot be read; or as `with_noise`, or as the kind of noise.
    """
    noise = _noise(corpus, kind, third)
    origin = {"corpus": corpus.name, "checksum": corpus.checksum(), **third_text(third)}
    report = ImportReport("noise", origin, *corpus.direction, {"kind": kind, "share": share, "seed": seed})
    report.inherit(corpus)
    clean = list(corpus.pairs("train"))
    with new_folder(folder) as temporary:
        source, target = (temporary / f"train.{code}" for code in corpus.direction)
        noisy = with_noise(clean, noise, share, seed)
        kept = write_pairs(source, target, noisy)
        report.kept = {"train": kept, **copy_held_out(corpus, temporary)}
        bad = noisy[len(clean) :]
        report.options |= {"clean": len(clean), "bad": len(bad), "different": len(set(bad))}
        report.save(temporary)
    return report


def third_text(third: MonolingualCorpus | None) -> dict[str, str | None]:
    """Return what is recorded of the third text of noise: its name with its language, and its checksum."""
    name = f"{third.name}:{third.language}" if third else None
    return {"third": name, "third_checksum": third.checksum() if third else None}


def _noise(corpus: ParallelCorpus, kind: Kind, third: MonolingualCorpus | None) -> Noise:
    """Return a kind of noise with all that it needs."""
    if not kind.startswith("wrong-language"):
        if third:
            raise CorpusError(f"--third {third.name}: {kind} needs no third text", "leave it out")
        return NOISES[kind]
    if third is None:
        raise CorpusError(f"{kind}: needs text in a third language", "name it with --third CORPUS:xx")
    if third.language in corpus.direction:
        known = " and ".join(corpus.direction)
        raise CorpusError(
            f"--third {third.name}: in {third.language}, but {corpus.name} is in {known}",
            "choose text in a third language",
        )
    return partial(NOISES[kind], third=[line for line in third.lines() if not is_blank(line)])
