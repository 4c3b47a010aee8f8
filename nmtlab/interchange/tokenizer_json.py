"""NLLB's SentencePiece model from tokenizer.json, which is all that transformers 5 saves of it.

Byte-pair encoding has a list of merges there; in SentencePiece, any two neighbours that make a piece are merged, the
piece of lowest rank first. Where the list is that of all such pairs, by the rank of what they make, both cut text
alike, but for white space at its ends, which only transformers keeps.
"""

import base64
from collections.abc import Sequence

from sentencepiece.sentencepiece_model_pb2 import ModelProto, TrainerSpec  # type: ignore[attr-defined]  # generated

from nmtlab.errors import RunError
from nmtlab.interchange.folder import ModelFolder
from nmtlab.interchange.schemas import BpeTokenizer
from nmtlab.reading import reading
from nmtlab.text.segmentation.tokenizers import ImportedSubwords

FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")
"""The first types of NLLB; those of its SentencePiece model, without its own special ones, follow in their order."""

_OWN = ("<unk>", "<s>", "</s>")
"""The special types of its SentencePiece model."""

_REMEDY = "copy sentencepiece.bpe.model into the folder from the model that this one was fine-tuned from"

_SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
"""What transformers does besides the normalisation that is in the model, and SentencePiece always does."""


def model_of_tokenizer(folder: ModelFolder) -> bytes:
    """Return the serialised SentencePiece model that cuts text as a folder's tokenizer.json says.

    Raises:
        RunError: the file is damaged, or no SentencePiece model does that.
    """
    path = folder.path / "tokenizer.json"
    try:
        tokenizer = folder.json(path.name, BpeTokenizer)
    except RunError as error:
        raise RunError(error.problem, _REMEDY) from error
    model, (charsmap, *others) = tokenizer["model"], tokenizer["normalizer"]["normalizers"]
    types = sorted(model["vocab"], key=model["vocab"].__getitem__)
    pieces = types[len(FAIRSEQ) :]
    numbered = [model["vocab"][name] for name in types] == list(range(len(types)))
    exact = numbered and types == [*FAIRSEQ, *pieces] and _are_all(model["merges"], pieces) and others == [_SPACES]
    if not exact or charsmap["type"] != "Precompiled":
        raise RunError(f"{path}: types, merges or a normalisation that no SentencePiece model has", _REMEDY)
    with reading(path, _REMEDY):
        made = _model(pieces, base64.b64decode(charsmap["precompiled_charsmap"]))
        ImportedSubwords(made)
        return made


def _are_all(merges: Sequence[str | Sequence[str]], pieces: Sequence[str]) -> bool:
    """Return whether merges are all pairs of pieces that make a piece, by its rank."""
    rank = {piece: number for number, piece in enumerate(pieces)}
    pairs = [tuple(merge.split(" ") if isinstance(merge, str) else merge) for merge in merges]
    made = [rank.get("".join(pair), -1) for pair in pairs]
    cuts = ((piece[:at], piece[at:]) for piece in pieces for at in range(1, len(piece)))
    return made == sorted(made) and set(pairs) == {cut for cut in cuts if cut[0] in rank and cut[1] in rank}


def _model(pieces: Sequence[str], charsmap: bytes) -> bytes:
    model = ModelProto()
    model.trainer_spec.model_type = TrainerSpec.BPE
    model.normalizer_spec.precompiled_charsmap = charsmap
    kinds = (ModelProto.SentencePiece.UNKNOWN, ModelProto.SentencePiece.CONTROL, ModelProto.SentencePiece.CONTROL)
    for name, kind in zip(_OWN, kinds, strict=True):
        model.pieces.add(piece=name, score=0, type=kind)
    for rank, piece in enumerate(pieces):
        model.pieces.add(piece=piece, score=-rank)
    return model.SerializeToString(deterministic=True)
