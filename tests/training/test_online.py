"""A copy of a model that learns from one pair after the other: by hand, and how it depends on nothing else."""

import copy
import shutil

import pytest
import torch
from support.foreign_models import marian

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import NmtlabError
from nmtlab.interchange.huggingface import import_model
from nmtlab.models.interface import on_device
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.training.objective import sentence_log_probs, training_objective
from nmtlab.training.online import NotFiniteError, OnlineModel, OnlineSettings, adapted
from nmtlab.translation import Translator

PAIRS = [
    ("ein hund singt", "one dog sings"),
    ("das hund und katze", "the dog and cat"),
    ("ein rot haus", "one red house"),
]
STRONG = OnlineSettings(learning_rate=0.5, epochs=5)


@pytest.fixture(scope="module")
def run(zoo) -> Run:
    return zoo("learned")


@pytest.fixture(scope="module")
def system(run) -> Translator:
    return open_model(run)


def weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def test_a_step_goes_down_the_gradient_by_the_rate(system, run):
    recipe = run.recipe.with_changes({"training.clip_norm": 1e9})
    double = Translator(copy.deepcopy(system.model).double(), system.pipeline, system.settings)
    online = OnlineModel(double, recipe)
    source, target = PAIRS[0]
    model = copy.deepcopy(double.model).requires_grad_()
    ids = pad(system.pipeline.encode_source([source])), pad(system.pipeline.encode_target([target]))
    training_objective(model, recipe.training.label_smoothing)(on_device(batch_of(*ids))).total.backward()
    online.learn([(source, target)], rate=0.03, epochs=1)
    learned = weights(online.translator.model)
    for name, parameter in model.named_parameters():
        step = 0 if parameter.grad is None else 0.03 * parameter.grad
        torch.testing.assert_close(learned[name], (parameter - step).detach(), atol=1e-12, rtol=0)


@pytest.mark.parametrize("still", [OnlineSettings(learning_rate=0), OnlineSettings(epochs=0)])
def test_without_a_rate_or_steps_a_document_is_translated_as_ever(system, run, still):
    unadapted = [system.translate([source])[0].text for source, _ in PAIRS]
    assert adapted(system, run.recipe, "d", PAIRS, still) == unadapted
    different = [("ein hund singt", "mountain river old"), *PAIRS[1:]]
    assert adapted(system, run.recipe, "d", different, STRONG) != unadapted


def test_a_document_is_translated_alike_whatever_came_before(system, run):
    one, other = PAIRS, [("rot kind geht", "mountain mountain"), ("rot kind", "mountain"), ("kind geht", "river river")]
    alone = adapted(system, run.recipe, "b", other, STRONG)
    adapted(system, run.recipe, "a", one, STRONG)
    assert adapted(system, run.recipe, "b", other, STRONG) == alone


def test_dropout_depends_on_the_name_of_the_document(system, run):
    recipe = run.recipe.with_changes({"training.word_dropout": 0.5})
    found = {}
    for name in ("a", "a", "b"):
        model = OnlineModel(system, recipe, name)
        model.learn(PAIRS, 0.1, 3)
        found.setdefault(name, []).append(weights(model.translator.model))
    (first, again), (other,) = found["a"], found["b"]
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_a_document_of_one_sentence_is_not_adapted_to(system, run):
    (source, _), *_ = PAIRS
    entries = [("hund", "mountain")]
    assert adapted(system, run.recipe, "d", PAIRS[:1], STRONG, entries) == [system.translate([source])[0].text]


def test_a_dictionary_is_learned_before_the_first_sentence(system, run):
    model = OnlineModel(system, run.recipe, "d")
    entry = [("hund", "mountain")]
    before = model.log_probs(entry).item()
    model.learn(entry, 0.5, 20)
    assert model.log_probs(entry).item() > before + 1
    only = OnlineSettings(epochs=0, dictionary_learning_rate=0.5, dictionary_epochs=20)
    pairs = [("hund", ""), ("hund", "")]
    assert adapted(system, run.recipe, "d", pairs, only, entry) == 2 * [model.translate("hund")]


def test_the_run_and_its_opened_model_stay_as_they_are(zoo, workspace):
    run = zoo.copy("learned", workspace)
    files = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    system = open_model(run)
    before, digest = weights(system.model), run.checkpoints.digest
    adapted(system, run.recipe, "d", PAIRS, STRONG)
    assert all(torch.equal(before[name], value) for name, value in weights(system.model).items())
    assert not any(parameter.requires_grad for parameter in system.model.parameters())
    assert Run(run.folder).checkpoints.digest == digest
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == files
    shutil.rmtree(run.folder)


def test_a_blank_side_teaches_nothing(system, run):
    model = OnlineModel(system, run.recipe)
    before = weights(model.translator.model)
    model.learn([("", "one"), ("ein", " ")], 0.5, 3)
    assert all(torch.equal(before[name], value) for name, value in weights(model.translator.model).items())


def test_a_rate_that_is_too_high_is_refused_and_nothing_is_learned(system, run):
    model = OnlineModel(system, run.recipe)
    before = weights(model.translator.model)
    with pytest.raises(
        NotFiniteError, match=r"learning rate 1e\+38: the loss is not finite any more; choose a smaller"
    ):
        model.learn(PAIRS, 1e38, 3)
    assert all(torch.equal(before[name], value) for name, value in weights(model.translator.model).items())
    assert model.translate(PAIRS[0][0]) == system.translate([PAIRS[0][0]])[0].text


@pytest.mark.parametrize("wrong", [{"learning_rate": -0.1}, {"epochs": -1}, {"learning_rate": float("nan")}])
def test_settings_out_of_range_are_named(wrong):
    with pytest.raises(NmtlabError, match="out of range; give a finite number from 0"):
        OnlineSettings(**wrong)


def test_log_probs_are_those_of_the_objective(system, run):
    model = OnlineModel(system, run.recipe)
    ids = (pad(encode([pair[side] for pair in PAIRS])) for side, encode in enumerate(
        (system.pipeline.encode_source, system.pipeline.encode_target)
    ))  # fmt: skip
    with torch.no_grad():
        expected = sentence_log_probs(system.model, on_device(batch_of(*ids)))
    torch.testing.assert_close(model.log_probs(PAIRS), expected)


@pytest.mark.full  # loads transformers
def test_an_imported_marian_model_learns_a_pair(tiny_corpus, tmp_path, workspace):
    pytest.importorskip("transformers", reason="it makes the folder")
    marian(tmp_path / "opus", [list(tiny_corpus.lines("train", code)) for code in ("de", "en")])
    run = import_model(tmp_path / "opus", "opus", workspace)
    model, digest = OnlineModel(open_model(run), run.recipe), run.checkpoints.digest
    before = model.log_probs(PAIRS[:1]).item()
    model.learn(PAIRS[:1], 0.1, 5)
    assert model.log_probs(PAIRS[:1]).item() > before
    assert run.checkpoints.digest == digest


def test_an_adapted_model_is_searched_with_the_shortlists_of_the_system(system, run):
    lexicon = LexicalTable.of_rows([[]] * system.pipeline.source.size)
    settings = SearchSettings(shortlist=1, shortlist_translations=1)
    listed, (source, _) = Translator(system.model, system.pipeline, settings, lexicon), PAIRS[0]
    found = OnlineModel(listed, run.recipe).translate(source)
    assert found == listed.translate([source])[0].text
    assert found != Translator(system.model, system.pipeline, settings).translate([source])[0].text
