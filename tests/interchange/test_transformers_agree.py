"""Imported models against the transformers library, from which they come: tokens, logits and translations."""

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from conftest import WORDS

from nmtlab.analysis.attention.heads import all_heads
from nmtlab.errors import RunError
from nmtlab.interchange.architectures import our_weights
from nmtlab.interchange.export import export_model
from nmtlab.interchange.folder import ModelFolder
from nmtlab.interchange.huggingface import import_model
from nmtlab.interchange.served import open_served
from nmtlab.interchange.vocabularies import m2m_text, marian_text
from nmtlab.models.build import load_weights, model_for
from nmtlab.models.interface import on_device
from nmtlab.models.recording import recorded_attention
from nmtlab.recipe import SearchSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK
from nmtlab.training.parallel import Group
from nmtlab.training.setup import train
from nmtlab.training.step import Stepper
from nmtlab.training.transfer import check_parent, continued_recipe, freeze
from nmtlab.workspace import Workspace

pytest.importorskip("transformers", reason="needs transformers, which the test extra installs")

from support.foreign_folder import changed
from support.foreign_models import m2m, marian

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

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


def updated(ours: Run, imported: Imported, texts, optimiser: str, start: int, frozen: list[str]) -> None:
    """Make three updates in either program, in double precision, and compare losses and weights."""
    changes = {f"transfer.{part}": "freeze" for part in frozen} | {
        "training.optimiser": optimiser, "training.label_smoothing": 0.1, "training.clip_norm": 1e9,
        "model.dropout": 0.0,
    }  # fmt: skip
    recipe, pipeline, theirs = ours.recipe.with_changes(changes), ours.pipeline, copy.deepcopy(imported.theirs).double()
    model = model_for(recipe, pipeline).double().train()
    load_weights(model, ours.checkpoints.weights()[0])
    freeze(model, recipe.transfer)
    theirs.get_input_embeddings().requires_grad_("source_embedding" not in frozen)
    if imported.run.name.endswith("separate"):
        theirs.model.decoder.embed_tokens.requires_grad_("target_embedding" not in frozen)
    stepper = Stepper(model, recipe, pipeline, Group.init(torch.device("cpu")))
    rate = 0.1 if optimiser == "sgd" else 1e-3
    kind = torch.optim.SGD if optimiser == "sgd" else torch.optim.Adam
    there = kind([parameter for parameter in theirs.parameters() if parameter.requires_grad], lr=rate)
    columns, after = their_ids(ours, "target")[model.output_ids], 1 if imported.first is not None else 0
    for step in range(1, 4):
        source, target = (lines[4 * step - 4 : 4 * step] for lines in texts)
        batch = batch_of(pad(pipeline.encode_source(source)), pad(pipeline.encode_target(target)))
        ids, labels = imported.encode(source, target)
        padding = theirs.config.pad_token_id
        read = torch.cat((torch.full((len(labels), 1), start), labels[:, :-1]), dim=1)
        mask = (ids != padding).long()
        logits = theirs(input_ids=ids, attention_mask=mask, decoder_input_ids=read).logits
        log_probs = logits[:, after:][labels[:, after:] != padding][:, columns].log_softmax(-1)
        kept = torch.from_numpy(batch.target)[torch.from_numpy(batch.target) != PAD]
        gold = log_probs.gather(1, model.output_index(kept.long())[:, None])
        loss = -0.9 * gold.mean() - 0.1 * log_probs.mean()
        there.zero_grad()
        loss.backward()
        there.step()
        update = stepper.update(step, [batch], rate)
        assert update.total.item() / update.counted_tokens == pytest.approx(loss.item(), rel=1e-5)
    rows = their_ids(ours, "source"), their_ids(ours, "target")
    expected = our_weights(theirs.state_dict(), recipe.model, rows)
    moved = {name: not torch.equal(weight, ours.checkpoints.weights()[0][name]) for name, weight in expected.items()}
    assert moved["encoder.0.attention.query.weight"]
    assert moved["source_embedding.weight"] == ("source_embedding" not in frozen)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(
            weight.detach(), expected[name], atol=1e-5, rtol=1e-5, msg=lambda m, n=name: f"{n}: {m}"
        )


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_three_updates_of_all_but_the_tables_are_the_same(imported, texts, optimiser):
    start = imported.theirs.config.decoder_start_token_id
    updated(imported.run, imported, texts, optimiser, start, ["source_embedding", "target_embedding", "output"])


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("kind", ["marian", "m2m"])
def test_three_updates_are_the_same_where_the_start_has_its_row(kind, optimiser, texts, tmp_path):
    """Their start shares its row with padding, which they do not train as input, or with the end; ours has its own."""
    folder, workspace = tmp_path / "model", Workspace(tmp_path / "data")
    imported = (_marian if kind == "marian" else _m2m)(kind, folder, workspace, texts)
    start = 0  # M2M-100's unused <s>
    if kind == "marian":
        start = imported.theirs.config.vocab_size
        imported.theirs.resize_token_embeddings(start + 1)
        imported.theirs.save_pretrained(folder)
    changed(folder, decoder_start_token_id=start)
    run = import_model(folder, "apart", workspace, *(tuple(side.languages) for side in (
        imported.run.pipeline.source, imported.run.pipeline.target,
    )))  # fmt: skip
    updated(run, imported, texts, optimiser, start, ["output"])


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


def test_a_run_that_goes_on_from_it_is_exported_and_read_again(imported, texts, tmp_path):
    """A few updates on text of its direction; then the library, CTranslate2 and another import translate as it does."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    (source, target), parent = imported.run.direction, imported.run
    workspace, folder = Workspace(parent.folder.parents[1]), tmp_path / "text"
    for split, part in (("train", slice(100, 300)), ("dev", slice(20))):
        for code, lines in ((source, texts[0]), (target, texts[1])):
            write_lines(folder / f"{split}.{code}", lines[part])
    changes = {
        "training.validate_every": 5, "training.max_evaluations": 1, "training.batch_tokens": 300,
        "training.learning_rate": 1e-3, "search.beam_size": 1, "search.score": "log-prob", "search.allow_empty": False,
        "machine.threads": 1, "machine.device": "cpu",
    }  # fmt: skip
    recipe = continued_recipe(parent, named_recipe("fine-tune")).with_changes(changes)
    text = ParallelCorpus.open(folder, source, target)
    run = train(f"{parent.name}-child", recipe, text, workspace, allow_overlap=True)
    assert not torch.equal(*(one.checkpoints.weights()[0]["decoder.0.attention.key.weight"] for one in (run, parent)))
    export_model(run, "huggingface", tmp_path / "out")
    card = (tmp_path / "out/README.md").read_text(encoding="utf-8")
    assert f"It was trained on text, going on from {parent.name}, imported from " in card
    lines = texts[0][:LINES]
    ours = [translation.text for translation in open_model(run).translate(lines)]
    again = import_model(tmp_path / "out", "again", Workspace(tmp_path / "again"), (source,), (target,))
    assert [translation.text for translation in open_model(again).translate(lines)] == ours
    model = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    tag = {"source": f">>{target}<< ", "own": f">>{source}<< "}.get(recipe.text.target_tag, "")
    for line, text in zip(lines, ours, strict=True):
        ids = tokenizer([tag + line], return_tensors="pt")
        assert ids.input_ids[0].tolist() == _swapped(run.pipeline.source_ids(line), model.config.pad_token_id)
        after = int(recipe.text.target_tag == "own")
        longest = ids.input_ids.shape[1] - 1 + recipe.search.extra_length + after
        found = model.generate(**ids, num_beams=1, do_sample=False, min_new_tokens=1 + after, max_new_tokens=longest)
        assert tokenizer.batch_decode(found, skip_special_tokens=True) == [text]
    pytest.importorskip("ctranslate2")
    assert [translation.text for translation in open_served(run).translate(lines)] == ours


def _swapped(ids: list[int], padding: int) -> list[int]:
    """Return ids of ours as an export has them: with another id for padding, it has swapped that and BOS."""
    return [{PAD: padding, BOS: 1 - padding}.get(number, number) for number in ids]


def test_a_language_that_it_was_not_imported_with_is_refused_with_what_would_do(imported, tmp_path):
    """M2M-100 has the tag of a target language, which may become a source; an untagged source is what it is called."""
    (source, target), (_, *more) = imported.run.direction, [*imported.run.pipeline.target.languages, ""]
    is_known = imported.run.recipe.text.target_tag == "own"
    corpus = ParallelCorpus(tmp_path, target if is_known else "fr", more[0] if is_known else target)
    remedy = f"import the model again with --source {f'{target} too' if is_known else 'fr'}"
    recipe = continued_recipe(imported.run, named_recipe("fine-tune"))
    with pytest.raises(RunError, match=f"reads {source}, .* is in {corpus.source}; {remedy}"):
        check_parent(imported.run, recipe, [corpus], [""])
