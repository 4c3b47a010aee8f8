"""Export of runs: other programs compute the same, what they lack is refused by name, and nothing is half-written."""

import json
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import support.foreign_models  # noqa: F401 (keeps the transformers library offline)
import torch
from support.learned import LEARNED, learned_run
from typer.testing import CliRunner

from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.cli.main import app
from nmtlab.errors import NmtlabError
from nmtlab.interchange.export import export_model
from nmtlab.interchange.huggingface import import_model
from nmtlab.interchange.served import open_served
from nmtlab.models.interface import on_device
from nmtlab.recipe import Recipe, SearchSettings, load_recipe
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.search.scores import hypothesis_score
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

POST, PRE = {"model.placement": "post", "model.norm": "layer"}, {"model.norm": "layer"}
HELD_BY_HUGGING_FACE = {
    "PostNorm + LayerNorm": POST | {"model.fixnorm": False},
    "PostNorm + LayerNorm, a vocabulary for each side": POST
    | {"model.fixnorm": False, "text.joint": False, "text.vocabulary_size": 50},
    "PostNorm + FixNorm + LayerNorm": POST,
    "PreNorm + LayerNorm": PRE | {"model.fixnorm": False},
    "PreNorm + FixNorm + LayerNorm + Swish": PRE | {"model.activation": "swish"},
}
POSITIONS = {
    "learned positions": {"model.positions": "learned", "model.max_positions": 70},
    "positions of distances": {"model.positions": "relative"},
    "no positions": {"model.positions": "none"},
}
SCALED = "PreNorm + FixNorm + ScaleNorm"
LINES, MORE = 12, 10


@pytest.fixture(scope="module")
def learned(tiny_corpus, tiny_recipe, tmp_path_factory):
    """Return a run of subwords that has learned a little, of a kind of model; each is trained once."""
    runs: dict[str, Run] = {}

    def learn(kind: str) -> Run:
        if kind not in runs:
            changes = {"text.segmentation": "bpe", "text.vocabulary_size": 70} | (HELD_BY_HUGGING_FACE | POSITIONS).get(
                kind, {}
            )
            recipe = tiny_recipe.with_changes(changes)
            runs[kind] = learned_run(tmp_path_factory.mktemp("data"), tiny_corpus, recipe)
        return runs[kind]

    return learn


@pytest.fixture(scope="module")
def lines(tiny_corpus) -> list[str]:
    return list(tiny_corpus.lines("test", "de"))[:LINES]


def exported(run: Run, folder: Path, program: str = "huggingface", **more) -> Path:
    export_model(run, program, folder / "model", **more)
    return folder / "model"


# Hugging Face


_FIRST, *_REST = HELD_BY_HUGGING_FACE


@pytest.fixture(scope="module", params=[_FIRST, *(pytest.param(kind, marks=pytest.mark.full) for kind in _REST)])
def both(request, learned, tmp_path_factory):
    """A run, and the model and the tokenizer that the transformers library makes of its folder."""
    transformers = pytest.importorskip("transformers", reason="needs transformers, which the test extra installs")
    run = learned(request.param)
    folder = exported(run, tmp_path_factory.mktemp("exported"))
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    return run, model, transformers.AutoTokenizer.from_pretrained(folder)


def test_transformers_tokenizes_alike(both, lines):
    run, _, tokenizer = both
    assert tokenizer(lines).input_ids == run.pipeline.encode_source(lines)
    targets = [translation.text for translation in open_model(run).translate(lines)]
    assert tokenizer(text_target=targets).input_ids == run.pipeline.encode_target(targets)


@torch.inference_mode()
def test_transformers_has_the_same_logits(both, tiny_corpus):
    run, theirs, _ = both
    ours, pipeline = open_model(run).model, run.pipeline
    texts = (list(tiny_corpus.lines("test", language))[:LINES] for language in ("de", "en"))
    source, target = (torch.from_numpy(pad(encode(text))) for encode, text in zip(
        (pipeline.encode_source, pipeline.encode_target), texts, strict=True))  # fmt: skip
    expected = ours.output(ours(on_device(batch_of(source.numpy(), target.numpy()))))
    read = torch.cat((torch.full((len(target), 1), BOS), target[:, :-1]), dim=1)
    logits = theirs(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=read).logits
    found = logits[target != PAD]
    torch.testing.assert_close(found[:, ours.output_ids], expected, atol=1e-5, rtol=1e-5)
    never = torch.ones(found.shape[1], dtype=torch.bool)
    never[ours.output_ids] = False
    assert found.softmax(-1)[:, never].max() == 0


@pytest.mark.parametrize("beam", [1, 12])
def test_transformers_finds_the_same_translations(both, lines, beam):
    run, theirs, tokenizer = both
    system = open_model(run, SearchSettings(beam_size=beam, score="log-prob", extra_length=MORE))
    same = finished = 0
    for line, translation in zip(lines, system.translate(lines), strict=True):
        ids = tokenizer([line], return_tensors="pt")
        longest = ids.input_ids.shape[1] - 1 + MORE
        found = theirs.generate(**ids, num_beams=beam, length_penalty=0.0, max_new_tokens=longest, do_sample=False)
        text = tokenizer.batch_decode(found, skip_special_tokens=True)[0]
        same += text == translation.text
        finished += translation.hypotheses[0].finished
        if beam > 1 and text != translation.text:  # a finished hypothesis keeps a slot in our beam, but not in theirs
            pair = run.pipeline.encode_source([line]), run.pipeline.encode_target([text])
            ((_, forced),) = forced_decode_all(system.model, *pair)
            assert forced.log_prob > translation.hypotheses[0].log_prob
    assert same == LINES or (beam > 1 and same > LINES / 2)
    assert finished > LINES / 2


def test_an_exported_model_can_be_imported_again(both, lines, tmp_path):
    run, *_ = both
    again = import_model(exported(run, tmp_path), "again", Workspace(tmp_path))
    assert again.recipe.search == run.recipe.search
    assert again.pipeline.encode_source(lines) == run.pipeline.encode_source(lines)
    search = SearchSettings(beam_size=3, score="average")
    ours, theirs = (open_model(one, search).translate(lines) for one in (run, again))
    assert [one.texts for one in theirs] == [one.texts for one in ours]
    for one, other in zip(ours, theirs, strict=True):
        assert other.hypotheses[0].log_prob == pytest.approx(one.hypotheses[0].log_prob, abs=1e-4)


def test_what_the_original_cannot_generate_is_no_word_of_the_imported_one(both, tiny_corpus, tmp_path):
    run, *_ = both
    again = import_model(exported(run, tmp_path), "again", Workspace(tmp_path), corpus=tiny_corpus)
    ours, theirs = (word_norms(one).set_index("word") for one in (run, again))
    assert len(ours) < run.pipeline.target.size - len(SPECIALS)
    assert set(theirs.index) == set(ours.index)
    assert theirs["bias"].to_dict() == pytest.approx(ours["bias"].to_dict(), abs=1e-4)


def test_the_generation_settings_are_those_of_the_recipe(learned, tmp_path):
    run = learned("PostNorm + LayerNorm")
    settings = json.loads((exported(run, tmp_path) / "generation_config.json").read_text(encoding="utf-8"))
    assert settings["num_beams"] == run.recipe.search.beam_size
    assert settings["eos_token_id"] == EOS
    assert settings["length_penalty"] == run.recipe.search.alpha


# CTranslate2


@pytest.mark.parametrize("kind", ["PostNorm + LayerNorm", "PreNorm + LayerNorm", SCALED, *POSITIONS])
def test_ctranslate2_finds_the_same_greedy_translations(learned, lines, kind):
    pytest.importorskip("ctranslate2")
    run, lines = learned(kind), [*lines, "", "zzz unbekannt"]
    search = SearchSettings(beam_size=1, score="average")
    ours, theirs = open_model(run, search).translate(lines), open_served(run, search=search).translate(lines)
    assert [one.texts for one in theirs] == [one.texts for one in ours]
    for one, other in zip(ours, theirs, strict=True):
        for mine, its in zip(one.hypotheses, other.hypotheses, strict=True):
            assert (its.tokens, its.finished) == (mine.tokens, mine.finished)
            if mine.finished:
                assert (its.log_prob, its.score) == pytest.approx((mine.log_prob, mine.score), abs=1e-4)


@pytest.mark.parametrize("score", ["log-prob", "length-normalised"])
def test_a_beam_of_ctranslate2_nearly_always_finds_the_same(learned, lines, score):
    pytest.importorskip("ctranslate2")
    run, search = learned(SCALED), SearchSettings(beam_size=6, score=score)
    ours, theirs = (system.translate(lines) for system in (open_model(run, search), open_served(run, search=search)))
    assert sum(one.text == other.text for one, other in zip(ours, theirs, strict=True)) >= LINES - 2


@pytest.mark.parametrize("score", ["log-prob", "average", "length-normalised"])
def test_what_a_beam_of_ctranslate2_finds_is_scored_and_ranked_as_here(learned, lines, score):
    pytest.importorskip("ctranslate2")
    run, search = learned(SCALED), SearchSettings(beam_size=4, score=score)
    found = [(line, h) for line, t in zip(lines, open_served(run, search=search).translate(lines, 4), strict=True)
             for h in t.hypotheses if h.finished]  # fmt: skip
    assert len(found) > LINES
    targets = [[*hypothesis.tokens, EOS] for _, hypothesis in found]
    sources = run.pipeline.encode_source([line for line, _ in found])
    for index, forced in forced_decode_all(open_model(run).model, sources, targets):
        length, log_prob = torch.tensor(len(targets[index])), torch.tensor(forced.log_prob)
        assert found[index][1].log_prob == pytest.approx(forced.log_prob, abs=1e-4)
        assert found[index][1].score == pytest.approx(float(hypothesis_score(search, log_prob, length)), abs=1e-4)
    for (line, better), (other, worse) in pairwise(found):
        assert line != other or better.score >= worse.score


def test_int8_is_smaller_and_its_translations_are_nearly_as_probable_as_it_says(learned, lines, tmp_path):
    ctranslate2 = pytest.importorskip("ctranslate2")
    if "int8" not in ctranslate2.get_supported_compute_types("cpu"):
        pytest.skip("needs a processor on which CTranslate2 computes in int8")
    run = learned(SCALED)
    sizes = [
        (exported(run, tmp_path / precision, "ctranslate2", precision=precision) / "model.bin").stat().st_size
        for precision in ("fp32", "int8", "int16")
    ]
    assert sizes[0] > sizes[2] > sizes[1]
    search = SearchSettings(beam_size=1)
    ours, theirs = open_model(run, search), open_served(run, "int8", search)
    (said,) = zip(*(one.hypotheses for one in theirs.translate(lines)), strict=True)
    targets = [[*one.tokens, *[EOS] * one.finished] for one in said]
    for index, forced in forced_decode_all(ours.model, run.pipeline.encode_source(lines), targets):
        assert said[index].log_prob == pytest.approx(forced.log_prob, abs=0.2 * len(targets[index]))


def test_a_folder_for_ctranslate2_can_be_used_as_its_card_says(learned, lines, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ctranslate2")
    run = learned("PreNorm + LayerNorm")
    folder = exported(run, tmp_path, "ctranslate2")
    monkeypatch.chdir(folder)
    _, program, _ = (folder / "README.md").read_text(encoding="utf-8").split("```")
    exec(program.removeprefix("python").replace('"..."', repr(lines[0])), {})
    found = capsys.readouterr().out.rstrip("\n")
    beam_of_two = SearchSettings(beam_size=2, score="average")  # CTranslate2's default
    assert found == open_model(run, beam_of_two).translate(lines[:1])[0].text


@pytest.mark.parametrize("field", ["coverage", "replace_unknown"])
def test_a_search_that_ctranslate2_lacks_is_refused(learned, field):
    pytest.importorskip("ctranslate2")
    with pytest.raises(NmtlabError, match=rf"search\.{field}: CTranslate2 does not search like that; set it to "):
        open_served(learned(SCALED), search=SearchSettings(**{field: True}))


# Several languages


@pytest.fixture(scope="module", params=["source", "decoder"])
def both_ways(request, make_corpus, tiny_recipe, tmp_path_factory) -> Run:
    """A run trained in two directions whose target language is a tag of the source, or what the decoder reads first."""
    workspace = Workspace(tmp_path_factory.mktemp("data"))
    (workspace.data / "corpora").mkdir()
    folder = Path(shutil.copytree(make_corpus(), workspace.data / "corpora" / "tiny"))
    changes = LEARNED | POST | {
        "text.segmentation": "bpe", "text.vocabulary_size": 100, "text.target_tag": request.param,
        "more_corpora": [{"name": "tiny", "source": "en", "target": "de"}],
    }  # fmt: skip
    recipe = tiny_recipe.with_changes(changes)
    return train("many", recipe, ParallelCorpus.open(folder), workspace, allow_overlap=True)


@pytest.mark.parametrize("direction", [("de", "en"), ("en", "de")])
def test_each_direction_has_its_tag_and_its_mask(both_ways, direction, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs transformers, which the test extra installs")
    run, lines = both_ways.directed(*direction), ["ein hund sieht", "one dog", "katze geht nach haus"]
    folder, greedy = exported(run, tmp_path), SearchSettings(beam_size=1, allow_empty=False)
    ours = [translation.text for translation in open_model(run, greedy).translate(lines)]
    assert all(ours)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    tag = f">>{direction[1]}<< " if run.recipe.text.target_tag == "source" else ""
    assert tag in (folder / "README.md").read_text(encoding="utf-8")
    for line, text in zip(lines, ours, strict=True):
        ids = tokenizer([tag + line], return_tensors="pt")
        assert ids.input_ids[0].tolist() == run.pipeline.source_ids(line)
        longest = ids.input_ids.shape[1] - 1 + greedy.extra_length
        found = model.generate(**ids, num_beams=1, do_sample=False, min_new_tokens=1, max_new_tokens=longest)
        assert tokenizer.batch_decode(found, skip_special_tokens=True) == [text]
    pytest.importorskip("ctranslate2")
    assert [translation.text for translation in open_served(run, search=greedy).translate(lines)] == ours


# The folder


def test_the_card_names_languages_text_scores_and_licence(learned, tmp_path):
    run = learned("PostNorm + LayerNorm")
    folder = exported(run, tmp_path, scores=["BLEU 12.00 on tiny test, signature"])
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert card.startswith('---\nlanguage:\n- "de"\n- "en"\nlibrary_name: transformers\n')
    assert "\npipeline_tag: translation\n---\n# " in card
    for part in (
        "translates from de to en. It was trained on tiny.",
        f"- BLEU {run.log.metrics('validation')['bleu'].max():.2f} on dev, the best in training",
        "- BLEU 12.00 on tiny test, signature",
        "nmtlab does not know the licence of tiny.",
    ):
        assert part in card
    assert load_recipe(folder / "recipe.toml") == run.recipe


def test_the_command_exports_and_translates(learned, lines, tmp_path, monkeypatch):
    pytest.importorskip("ctranslate2")
    run = learned(SCALED)
    monkeypatch.setenv("NMTLAB_DATA", str(run.folder.parents[1]))
    out = tmp_path / "model"
    done = CliRunner().invoke(app, ["runs", "export", run.name, "--to", "ctranslate2", "--folder", str(out)])
    assert done.exit_code == 0
    assert done.output.startswith(f"exported {run.name} to {out} (")
    assert {path.name for path in out.iterdir()} >= {"model.bin", "source.spm", "README.md", "recipe.toml"}
    words = ["translate", run.name, "--engine", "ctranslate2", "--beam", "1"]
    found = CliRunner().invoke(app, words, input="\n".join(lines))
    ours = open_model(run, SearchSettings(beam_size=1)).translate(lines)
    assert found.stdout.splitlines() == [translation.text for translation in ours]


# What is refused


def refusal(run: Run, folder: Path, program: str = "ctranslate2", **more) -> str:
    """Return the message of a refused export, which must leave nothing behind."""
    with pytest.raises(NmtlabError) as refused:
        exported(run, folder, program, **more)
    assert not any(folder.iterdir())
    return str(refused.value)


def untrained(recipe: Recipe, corpus, folder: Path, changes: dict) -> Run:
    changes |= {"training.max_evaluations": 1, "training.validate_every": 1}
    return train("run", recipe.with_changes(changes), corpus, Workspace(folder))


@pytest.mark.parametrize("score", ["word-reward", "bounded-reward"])
def test_a_score_that_the_transformers_library_lacks_is_named(learned, tmp_path, score):
    other = shutil.copytree(learned("PostNorm + LayerNorm").folder, tmp_path / "other")
    Run(other).recipe.with_changes({"search.score": score}).save(other / "recipe.toml")
    (tmp_path / "to").mkdir()
    found = refusal(Run(other), tmp_path / "to", "huggingface")
    assert f"search.score = '{score}': the transformers library has no such score" in found
    exported(Run(other), tmp_path / "to", "ctranslate2")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model.plan_length", True), ("model.decoder_history", "average"), ("model.language_vectors", True),
        ("model.adapter_width", 4), ("model.clip_inputs", 0.5),
        ("model.embedding_share", 0.5), ("model.attention_share", 0.5), ("model.feed_forward_share", 0.5),
    ],
)  # fmt: skip
@pytest.mark.parametrize("program", ["huggingface", "ctranslate2"])
def test_a_part_that_other_programs_lack_is_named(tiny_corpus, tiny_recipe, tmp_path, field, value, program):
    run = untrained(tiny_recipe, tiny_corpus, tmp_path / "data", {field: value})
    (tmp_path / "out").mkdir()
    shown = {True: "true", "average": "'average'"}.get(value, f"{value}")
    assert f"{field} = {shown}: no such part in the other program" in refusal(run, tmp_path / "out", program)


@pytest.mark.parametrize("family", ["rnn", "conv", "bytenet"])
def test_a_model_of_another_family_is_refused(tiny_corpus, tiny_recipe, tmp_path, family):
    run = untrained(tiny_recipe, tiny_corpus, tmp_path / "data", {"model.family": family, "model.d_model": 8})
    (tmp_path / "out").mkdir()
    assert f"model.family = '{family}': only Transformers can be exported" in refusal(run, tmp_path / "out")


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({}, "model.norm = 'scale'"),
        (POST, "text.segmentation = 'word'"),
        (PRE | {"model.positions": "relative"}, "model.positions = 'relative'"),
        (PRE | {"model.positions": "fairseq"}, "model.positions = 'fairseq'"),
        (PRE | {"text.joint": False}, "PreNorm with a table for each side"),
    ],
)
def test_what_hugging_face_lacks_is_named(tiny_corpus, tiny_recipe, tmp_path, changes, part):
    run = untrained(tiny_recipe, tiny_corpus, tmp_path / "data", dict(changes))
    (tmp_path / "out").mkdir()
    message = refusal(run, tmp_path / "out", "huggingface")
    assert part in message
    assert "export it to ctranslate2" in message


def test_a_precision_is_for_ctranslate2_only(learned, tmp_path):
    message = refusal(learned("PostNorm + LayerNorm"), tmp_path, "huggingface", precision="int8")
    assert message == "precision int8: for ctranslate2 only; leave it out"


def test_an_existing_folder_is_left_as_it_is(learned, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine").write_text("kept", encoding="utf-8")
    with pytest.raises(NmtlabError, match="already exists"):
        exported(learned(SCALED), tmp_path, "ctranslate2")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["mine"]


def test_without_ctranslate2_the_message_says_how_to_get_it(learned, tmp_path, monkeypatch):
    for name in ("ctranslate2", "ctranslate2.specs"):
        monkeypatch.setitem(sys.modules, name, None)
    assert refusal(learned(SCALED), tmp_path).startswith("ctranslate2 is not installed; pip install 'ctranslate2")


def test_a_norm_that_nobody_here_can_describe_is_refused_by_name(learned, tmp_path, monkeypatch):
    from nmtlab.interchange import folding

    monkeypatch.delitem(folding._EPSILONS, "scale")
    said = r"model.norm = 'scale': no such part in the other program; choose a run with layer or rms"
    with pytest.raises(NmtlabError, match=said):
        exported(learned(SCALED), tmp_path, "ctranslate2")
    assert not list(tmp_path.iterdir())
