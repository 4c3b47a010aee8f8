"""Imported models against the transformers library, from which they come: tokens, logits and translations."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from conftest import WORDS

from nmtlab.analysis.attention.heads import all_heads
from nmtlab.errors import RunError
from nmtlab.interchange.folder import ModelFolder
from nmtlab.interchange.huggingface import import_model
from nmtlab.interchange.vocabularies import m2m_text, marian_text
from nmtlab.models.interface import on_device
from nmtlab.models.recording import recorded_attention
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.vocabulary import EOS, UNK
from nmtlab.workspace import Workspace

pytest.importorskip("transformers", reason="needs transformers, which the test extra installs")

from support.foreign_models import m2m, marian

MANY = ("en", "de", "gl")
NLLB = ("deu_Latn", "eng_Latn", "glg_Latn")
KINDS = ("marian", "marian-relu", "marian-separate", "marian-tagged", "m2m", "nllb")


@dataclass
class Imported:
    """A model of the transformers library, the run it became, and how to encode texts for it there.

    Args:
        theirs: the model.
        run: in its default direction.
        encode: tokenizes source and target lines into padded ids of theirs, the target's with the decoder's start.
        never: ids of theirs that are never generated here.
        first: id that a translation begins with there, if any.
    """

    theirs: torch.nn.Module
    run: Run
    encode: Callable
    never: list[int]
    first: int | None = None


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    generator = random.Random(1)
    sentences = [generator.choices(list(WORDS), k=generator.randint(2, 7)) for _ in range(300)]
    return [" ".join(words) for words in sentences], [" ".join(WORDS[word] for word in words) for words in sentences]


@pytest.fixture(scope="module", params=KINDS)
def imported(request, texts, tmp_path_factory) -> Imported:
    folder = tmp_path_factory.mktemp(request.param)
    make = _marian if request.param.startswith("marian") else _m2m
    return make(request.param, folder / "model", Workspace(folder / "data"), texts)


def _marian(kind: str, folder: Path, workspace: Workspace, texts) -> Imported:
    from transformers import MarianTokenizer

    tagged, separate = kind.endswith("tagged"), kind.endswith("separate")
    tags = (">>en<<", ">>gl<<") if tagged else ()
    theirs = marian(folder, texts, tags, separate, activation_function="relu" if kind.endswith("relu") else "swish")
    run = import_model(folder, kind, workspace, targets=("en", "gl") if tagged else ())
    tokenizer = MarianTokenizer.from_pretrained(folder)

    def encode(source: list[str], target: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        sources = [f">>en<< {line}" for line in source] if tagged else source
        ids = tokenizer(sources, text_target=target, return_tensors="pt", padding=True)
        return ids.input_ids, ids.labels

    return Imported(theirs, run, encode, _without_type(theirs, run))


def _m2m(kind: str, folder: Path, workspace: Workspace, texts) -> Imported:
    is_nllb = kind == "nllb"
    languages = NLLB if is_nllb else MANY
    source, target = ("deu_Latn", "eng_Latn") if is_nllb else ("de", "en")
    theirs = m2m(folder, [*texts[0], *texts[1]], is_nllb, languages)
    run = import_model(folder, kind, workspace, sources=(source,), targets=(target, languages[2]))
    first = theirs.config.vocab_size - (1 if is_nllb else 8) - len(languages)  # id of the first language
    ids = {code: first + place for place, code in enumerate(languages)}
    encode = _fairseq_encoder(folder, ids[source], ids[target])
    return Imported(theirs, run, encode, _without_type(theirs, run), ids[target])


def _without_type(theirs: torch.nn.Module, run: Run) -> list[int]:
    """Return the ids of theirs that are padding, M2M-100's <s>, or rows that belong to no type."""
    generated = set(their_ids(run, "target")[EOS:].tolist())
    return [number for number in range(theirs.config.vocab_size) if number not in generated]


def _fairseq_encoder(folder: Path, source_id: int, target_id: int) -> Callable:
    """Return an encoder in fairseq's way: M2M100Tokenizer knows its hundred languages only, and these models three."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor()
    processor.Load(str(folder / "sentencepiece.bpe.model"))

    def ids(line: str, tag: int) -> list[int]:
        # <s> <pad> </s> <unk> stand before the pieces, <unk> <s> </s> in SentencePiece itself
        found = [3 if number == 0 else number + 1 for number in processor.encode(line)]
        return [tag, *found, 2]

    def encode(source: list[str], target: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        sides = [[ids(line, tag) for line in lines] for lines, tag in ((source, source_id), (target, target_id))]
        return tuple(torch.tensor([[*row, *[1] * (max(map(len, rows)) - len(row))] for row in rows]) for rows in sides)

    return encode


def their_ids(run: Run, side: str) -> torch.Tensor:
    """Return the id of theirs for each of our types."""
    folder = ModelFolder(run.folder.parents[2] / "model")
    pipeline = run.pipeline
    read = m2m_text if pipeline.settings.target_tag == "own" else marian_text
    text = read(folder, (pipeline.source.languages, pipeline.target.languages), pipeline.joint)
    return text.rows[("source", "target").index(side)]


@pytest.fixture(scope="module")
def with_bytes(texts, tmp_path_factory) -> tuple[Run, Path]:
    """A run of de to en and gl whose subwords fall back to bytes, and the folder that it was imported from."""
    folder = tmp_path_factory.mktemp("bytes")
    marian(folder / "model", texts, (">>en<<", ">>gl<<"), byte_fallback=True)
    run = import_model(folder / "model", "bytes", Workspace(folder / "data"), targets=("en", "gl"))
    return run, folder / "model"


@pytest.mark.parametrize("text", ["the price is 5 €", "naïve", "a dog 🐈‍⬛ sees", "the dog sees a cat", ""])
def test_pieces_that_are_bytes_are_joined_as_there(with_bytes, text):
    from transformers import MarianTokenizer

    run, folder = with_bytes
    there = MarianTokenizer.from_pretrained(folder)
    ids = there(text_target=text).input_ids
    pieces = run.pipeline.target.tokenizer.split(text)
    assert there.convert_ids_to_tokens(ids)[:-1] == pieces
    assert run.pipeline.target.text(run.pipeline.target_ids(text)) == there.decode(ids, skip_special_tokens=True)
    assert "<0x" not in " ".join(run.pipeline.target.tokenizer.words(text)[0])


def test_a_word_that_replaces_an_unknown_one_stays_as_it_is(with_bytes):
    pipeline = with_bytes[0].pipeline
    assert pipeline.target.text([*pipeline.target_ids("the dog")[:-1], UNK, UNK], ["¿Qué?"]) == "the dog ¿Qué? <unk>"


def test_a_typed_tag_gives_the_ids_that_the_direction_gives_here(with_bytes):
    """There a tag is typed; here the direction is chosen, and the same ids are read."""
    from transformers import MarianTokenizer

    run, folder = with_bytes
    there = MarianTokenizer.from_pretrained(folder)
    rows = their_ids(run, "source")
    for code in ("en", "gl"):
        ours = rows[run.directed("de", code).pipeline.source_ids("ein hund")].tolist()
        assert ours == there(f">>{code}<< ein hund").input_ids
        with pytest.raises(RunError, match=f"begins with '>>{code}<<'.*; remove it; choose {code} with --to"):
            run.pipeline.source_ids(f" >>{code}<<ein hund")
    with pytest.raises(RunError, match="'>>xyz<<': nmtlab adds the language's tag; remove it; choose one of en, gl"):
        run.pipeline.encode_source(["ein hund", ">>xyz<< ein hund"])
    assert run.pipeline.source_ids("ein >>gl<< hund")


LINES = 12


def test_the_same_text_has_the_same_tokens(imported, texts):
    sources = [*texts[0][:LINES], "ein hund, der nicht da war", "größer  und ▁ älter"]
    theirs, _ = imported.encode([line.replace("▁", " ") for line in sources], texts[1][: len(sources)])
    rows, pad_id = their_ids(imported.run, "source"), imported.theirs.config.pad_token_id
    for line, expected in zip(sources, theirs.tolist(), strict=True):
        assert rows[imported.run.pipeline.source_ids(line)].tolist() == [n for n in expected if n != pad_id]


@torch.inference_mode()
def test_the_logits_are_the_same(imported, texts):
    model, pipeline = open_model(imported.run).model, imported.run.pipeline
    source, target = (lines[:LINES] for lines in texts)
    batch = on_device(batch_of(pad(pipeline.encode_source(source)), pad(pipeline.encode_target(target))))
    ours = model.output(model(batch))
    ids, labels = imported.encode(source, target)
    config = imported.theirs.config
    start = torch.full((len(labels), 1), config.decoder_start_token_id)
    mask = (ids != config.pad_token_id).long()
    read = torch.cat((start, labels[:, :-1]), dim=1)
    logits = imported.theirs(input_ids=ids, attention_mask=mask, decoder_input_ids=read).logits
    after = 1 if imported.first is not None else 0  # the language is not predicted here
    expected = logits[:, after:][labels[:, after:] != config.pad_token_id]
    columns = their_ids(imported.run, "target")[model.output_ids]
    torch.testing.assert_close(ours, expected[:, columns], atol=1e-5, rtol=1e-5)
    stepped = model.step(model.start(model.encode(batch.source)), batch.target_input[:, :1]).log_probs[:, 0]
    torch.testing.assert_close(stepped, logits[:, after, columns].log_softmax(-1), atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_every_attention_weight_is_the_same(imported, texts):
    model, pipeline = open_model(imported.run).model, imported.run.pipeline
    (source, *_), (target, *_) = texts
    ours = recorded_attention(
        model, on_device(batch_of(pad([pipeline.source_ids(source)]), pad([pipeline.target_ids(target)])))
    )
    ids, labels = imported.encode([source], [target])
    start = torch.full((1, 1), imported.theirs.config.decoder_start_token_id)
    imported.theirs.set_attn_implementation("eager")
    read = torch.cat((start, labels[:, :-1]), dim=1)
    theirs = imported.theirs(input_ids=ids, decoder_input_ids=read, output_attentions=True)
    for weights, expected in zip(
        ours, (theirs.encoder_attentions, theirs.decoder_attentions, theirs.cross_attentions), strict=True
    ):
        torch.testing.assert_close(weights, torch.stack(expected), atol=1e-5, rtol=1e-5)


def test_the_tag_that_the_decoder_reads_has_its_name(imported, texts):
    (source, *_), (target, *_) = texts
    shown = all_heads(imported.run, source, target).query("kind == 'decoder self-attention'")
    read = shown.drop_duplicates("attended_position")["attended_piece"].tolist()
    pipeline = imported.run.pipeline
    tag = {"m2m": ["__en__"], "nllb": ["eng_Latn"]}.get(imported.run.name, [])
    assert read == ["<s>", *tag, *pipeline.target.pieces(pipeline.target_ids(target))]


@pytest.mark.parametrize("beam", [1, 24])
def test_the_translations_are_the_same(imported, texts, beam):
    """A beam may differ now and then: a finished hypothesis keeps a slot in ours, but not in theirs."""
    source, length = texts[0][:LINES], 12
    ids, _ = imported.encode(source, texts[1][:LINES])
    after = 1 if imported.first is not None else 0
    average = not after  # their average counts the language
    found = imported.theirs.generate(
        ids,
        attention_mask=(ids != imported.theirs.config.pad_token_id).long(),
        num_beams=beam,
        max_new_tokens=length + after,
        forced_bos_token_id=imported.first,
        suppress_tokens=imported.never,
        renormalize_logits=True,
        length_penalty=float(average),
        early_stopping="never",  # as here: until no open hypothesis can win
        do_sample=False,
    )
    rows, pipeline = their_ids(imported.run, "target"), imported.run.pipeline
    pad_id, end = imported.theirs.config.pad_token_id, imported.theirs.config.eos_token_id
    system, finished, same = open_model(imported.run), 0, 0
    for line, expected in zip(source, found[:, 1 + after :].tolist(), strict=True):
        extra = length - (len(pipeline.source_ids(line)) - 1)
        score = "average" if average else "log-prob"
        system.settings = SearchSettings(beam_size=beam, score=score, extra_length=extra)
        hypothesis = system.translate([line])[0].hypotheses[0]
        ours = [*rows[list(hypothesis.tokens)].tolist(), *([end] if hypothesis.finished else [])]
        same += ours == [number for number in expected if number != pad_id]
        finished += hypothesis.finished
    assert same >= (LINES if beam == 1 else LINES - 1)
    assert finished > LINES / 2
