"""The decoder of a phrase-based system, loaded from its folder."""

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path

from thot.translation import TranslationData

from nmtlab.errors import RunError
from nmtlab.files import write_text

_MANIFEST = "phrase.json"
_MAX_TOKENS = 200  # per sentence: the library returns nothing for a longer one


@dataclass(frozen=True)
class Weights:
    """Weights of the log-linear model (Och and Ney 2002), in the decoder's order; only their ratios matter."""

    word_penalty: float = -3.0
    language_model: float = 1.0
    target_phrase_length: float = 1.0
    jump: float = 0.1
    source_phrase_length: float = 1.0
    phrase: float = 1.0
    inverse_phrase: float = 1.0


def write_manifest(folder: Path, weights: Weights) -> None:
    """Write the weights, and the SHA-256 of every file in the folder, beside the models."""
    manifest = {"weights": asdict(weights), "files": _digests(folder)}
    write_text(folder / _MANIFEST, json.dumps(manifest, indent=1) + "\n")


def load_verified_weights(folder: Path) -> Weights:
    """Return the weights, after checking the models against the manifest.

    Raises:
        RunError: a file is missing, or has changed since `write_manifest`.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        if _digests(folder) == manifest["files"]:
            return Weights(**manifest["weights"])
    except (OSError, ValueError, TypeError, KeyError):
        pass
    raise RunError(
        f"run {folder.parent.name!r}: its {folder.name}/ is missing or damaged",
        "restore it from a backup, or train the run again",
    )


@dataclass(frozen=True)
class Decoded:
    """A translation as the decoder returns it.

    Args:
        tokens: of the translation.
        sources: for each token the source positions [begin, end) of the phrase that its phrase translates.
        score: of the log-linear model.
    """

    tokens: list[str]
    sources: list[tuple[int, int]]
    score: float


class PhraseDecoder:
    """Translates tokens with the models of a folder.

    Args:
        folder: written by `nmtlab.baselines.phrase_models`.
        weights: of the models.
        stack_size: most hypotheses per stack, that is, with the same number of translated words.
        distortion_limit: how many words ahead of its turn a phrase may be translated.
        max_phrase_length: most tokens of a source phrase.
    """

    def __init__(
        self, folder: Path, weights: Weights, stack_size: int, distortion_limit: int, max_phrase_length: int
    ) -> None:
        # Loaded here, since the library takes seconds to load.
        from machine.translation.thot import ThotSmtParameters, ThotWordAlignmentModelType
        from machine.translation.thot.thot_utils import load_smt_decoder, load_smt_model

        parameters = ThotSmtParameters(
            translation_model_filename_prefix=str(folder / "tm"),
            language_model_filename_prefix=str(folder / "lm"),
            model_non_monotonicity=distortion_limit,
            model_a=max_phrase_length,
            decoder_s=stack_size,
        )
        self._model = load_smt_model(ThotWordAlignmentModelType.IBM1, parameters)
        self._decoder = load_smt_decoder(self._model, parameters)
        self.set_weights(weights)

    def set_weights(self, weights: Weights) -> None:
        """Change the weights of the models."""
        self._model.weights = [*astuple(weights), 0.0]  # the last weighs a sentence length model, which is not used

    def translate(self, sentence: Sequence[str], n_best: int = 1) -> list[Decoded]:
        """Return translations of a sentence of one or more tokens, best first; unknown tokens are copied.

        A sentence that is too long for the decoder is translated in consecutive parts.
        """
        begins = range(0, len(sentence), _MAX_TOKENS)
        parts = [self._translate(sentence[begin : begin + _MAX_TOKENS], begin, n_best) for begin in begins]
        return [_joined(ranked) for ranked in zip(*parts, strict=False)]

    def _translate(self, sentence: Sequence[str], offset: int, n_best: int) -> list[Decoded]:
        written = " ".join(sentence)
        found = self._decoder.translate_n(written, n_best) if n_best > 1 else [self._decoder.translate(written)]
        return [_decoded(data, offset) for data in found]


def _decoded(data: TranslationData, offset: int) -> Decoded:
    sources: list[tuple[int, int]] = []
    for (first, last), end in zip(data.source_segmentation, data.target_segment_cuts, strict=True):
        sources += [(offset + first - 1, offset + last)] * (end - len(sources))
    return Decoded(list(data.target), sources, data.score)


def _joined(parts: Sequence[Decoded]) -> Decoded:
    return Decoded(
        list(chain.from_iterable(part.tokens for part in parts)),
        list(chain.from_iterable(part.sources for part in parts)),
        sum(part.score for part in parts),
    )


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(file for file in folder.iterdir() if file.name != _MANIFEST)
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}
