"""Word-level distillation: a run from scratch learns the distributions of a larger one (Kim and Rush 2016)."""

import json
import shutil

import numpy as np
import pytest
import torch
from torch import nn

from nmtlab.analysis.access.needs import overlap_warning
from nmtlab.errors import CorpusError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.recipe import TransformerSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.synthetic import Synthesis, back_translate
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.noise.adding import add_noise
from nmtlab.training.earlier_texts import target_overlap
from nmtlab.training.losses import soft_cross_entropy
from nmtlab.training.objective import Objective, Taught
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TEXT = ModelText(12, np.array([i not in (0, 1, 8) for i in range(12)]), joint=False)
TARGETS = [[9, 10, 5, 2], [11, 7, 2], [2]]


def transformer(width: int, layers: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    settings = TransformerSettings(
        d_model=width, d_ff=2 * width, encoder_layers=layers, decoder_layers=layers, heads=2, dropout=0.0
    )
    return build_model(settings, TEXT).double().eval()


def pairs() -> Batch[torch.Tensor]:
    return on_device(batch_of(padded([[5, 7, 4, 2], [6, 8, 2], [9, 2]]), padded(TARGETS)))


def padded(rows: list[list[int]]) -> np.ndarray:
    most = max(map(len, rows))
    return np.array([row + [0] * (most - len(row)) for row in rows])


def distributions(model: nn.Module, batch: Batch[torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
    """Return p(type | source, what precedes) at every target position, one after the other, and the types' ids."""
    with torch.no_grad():
        states = model(batch, model.encode(batch.source, batch.source_language))
        table = model.output_table(batch.target_language)
        logits = model.output(states, table).numpy().astype(np.float64)
    e = np.exp(logits - logits.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), np.arange(12) if table.ids is None else table.ids.numpy()


def at_temperature(p: np.ndarray, temperature: float) -> np.ndarray:
    """Return p to the power of 1/τ, made to sum to 1."""
    flat = p ** (1 / temperature)
    return flat / flat.sum(1, keepdims=True)


@pytest.mark.parametrize(("alpha", "temperature"), [(0.3, 1.0), (1.0, 1.0), (0.4, 2.0), (1.0, 0.5)])
def test_the_loss_is_that_of_a_loop_over_positions_and_types(alpha, temperature):
    student, teacher, smoothing = transformer(8, 1, 1), transformer(16, 2, 2), 0.1
    (p, ids), (q, _) = distributions(teacher, pairs()), distributions(student, pairs())
    gold = [token for row in TARGETS for token in row]
    soft, ours = at_temperature(p, temperature), at_temperature(q, temperature)
    expected = 0.0
    for position, token in enumerate(gold):
        for column, type_ in enumerate(ids):
            text = (type_ == token) * (1 - smoothing) + smoothing / len(ids)
            taught = alpha * temperature**2 * soft[position, column] * np.log(ours[position, column])
            expected -= (1 - alpha) * text * np.log(q[position, column]) + taught
    found = Objective(student, [Taught(smoothing, teacher.requires_grad_(False), alpha, temperature)])(pairs())
    assert found.total.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_a_student_that_is_its_teacher_has_nothing_to_learn_of_it(temperature):
    student = transformer(8, 1, 1)
    objective = Objective(student, [Taught(0.1, transformer(8, 1, 1).requires_grad_(False), 1.0, temperature)])
    gradients = torch.autograd.grad(objective(pairs()).total, list(student.parameters()), allow_unused=True)
    assert all(one is None or one.abs().max() < 1e-12 for one in gradients)


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_the_gradient_of_the_loss_is_that_of_finite_differences_for_every_logit(temperature):
    torch.manual_seed(3)
    logits, wanted = torch.randn(2, 4, 5, dtype=torch.float64)

    def loss(logits: torch.Tensor) -> torch.Tensor:
        return soft_cross_entropy(logits, wanted, temperature=temperature)

    (gradient,) = torch.autograd.grad(loss(leaf := logits.clone().requires_grad_()), leaf)
    step = 1e-6
    for place in np.ndindex(4, 5):
        moved = torch.zeros_like(logits)
        moved[place] = step
        slope = (loss(logits + moved) - loss(logits - moved)) / (2 * step)
        assert gradient[place].item() == pytest.approx(slope.item(), abs=1e-8)


def test_a_teacher_that_is_certain_of_the_text_teaches_the_text():
    logits = torch.randn(4, 5, dtype=torch.float64)
    gold = torch.tensor([0, 3, 3, 1])
    certain = torch.full((4, 5), -1e4, dtype=torch.float64).scatter_(1, gold[:, None], 0.0)
    expected = nn.functional.cross_entropy(logits, gold, reduction="sum")
    torch.testing.assert_close(soft_cross_entropy(logits, certain), expected)


# Trainings


@pytest.fixture(scope="module")
def here(tmp_path_factory, tiny_corpus, tiny_recipe) -> Workspace:
    """A workspace with a corpus `tiny`, and a run `teacher` of it."""
    workspace = Workspace(tmp_path_factory.mktemp("students") / "data")
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    train("teacher", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(workspace), workspace)
    return workspace


def opened(workspace: Workspace, name: str = "tiny") -> ParallelCorpus:
    return ParallelCorpus.open(workspace.data / "corpora" / name, "de", "en")


def leaky(here: Workspace, name: str, known: int = 3) -> ParallelCorpus:
    """Write other text whose dev set has targets of `tiny`'s training text."""
    tiny, folder = opened(here), here.data / "corpora" / name
    shutil.copytree(tiny.folder, folder)
    targets = list(tiny.lines("train", "en"))[:known]
    for language, lines in (("en", targets), ("de", ["ein hund"] * known)):
        write_lines(folder / f"dev.{language}", [*lines, *list(tiny.lines("dev", language))[known:]])
        write_lines(folder / f"train.{language}", [*tiny.lines("train", language)][known + 50 :])
    return opened(here, name)


TAUGHT = {"training.teacher": "teacher", "training.teacher_weight": 1.0, "training.max_evaluations": 1}


@pytest.mark.full
@pytest.mark.parametrize("family", ["transformer", "rnn"])
def test_a_student_may_be_smaller_than_its_teacher_and_of_another_family(here, tiny_recipe, family):
    smaller = tiny_recipe.with_changes({"model.d_model": 8, "model.d_ff": 8})
    recurrent = named_recipe("tied-small").with_changes({"model.d_model": 8, "model.layers": 1})
    student = smaller if family == "transformer" else recurrent.model_copy(update={"text": tiny_recipe.text})
    short = {"training.validate_every": 20, "training.batch_tokens": 200, "machine.threads": 1, "machine.device": "cpu"}
    run = train(f"student-{family}", student.with_changes(short | TAUGHT), opened(here), here)
    logged = run.log.metrics("train")
    assert all(
        terms["teacher"] == pytest.approx(loss) for loss, terms in zip(logged["loss"], logged["terms"], strict=True)
    )
    assert run.environment["teacher"] == Run(here.runs / "teacher").checkpoints.digest


def test_a_teacher_of_probabilities_that_was_trained_on_dev_is_refused(here, tiny_recipe):
    with pytest.raises(CorpusError, match=r"teacher 'teacher': was trained on 3 en sentences of dev; choose a teacher"):
        train("refused", tiny_recipe.with_changes(TAUGHT), leaky(here, "leaky"), here)
    assert not (here.runs / "refused").exists()


def test_a_teacher_of_translations_that_was_trained_on_dev_is_refused_or_noted(here, tiny_recipe):
    text, folder = leaky(here, "other"), here.data / "corpora" / "other.taught"
    how = Synthesis("target", limit=100)
    back_translate(Run(here.runs / "teacher"), MonolingualCorpus(text.folder, "de"), folder, how)
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 1})
    with pytest.raises(CorpusError, match=r"teacher 'teacher': was trained on 3 en sentences of dev"):
        train("noted", recipe, opened(here, "other.taught"), here)
    run = train("noted", recipe, opened(here, "other.taught"), here, allow_overlap=True)
    assert run.environment["overlap"] == {"dev (target side, in the teacher's text)": 3}
    assert "teacher" in overlap_warning(run, opened(here, "other.taught"), "dev")
    report = folder / "import.json"  # of an ensemble, the other members have been trained on text of their own
    facts = json.loads(report.read_text())
    first = {"run": "elsewhere", "weights": "0", "with": [{name: facts["origin"][name] for name in ("run", "weights")}]}
    report.write_text(json.dumps(facts | {"origin": facts["origin"] | first}))
    with pytest.raises(CorpusError, match=r"teacher 'teacher': was trained on 3 en sentences of dev"):
        train("member", recipe, opened(here, "other.taught"), here)
    assert not overlap_warning(run, opened(here, "other.taught"), "test")


def test_a_text_made_of_translations_and_a_phrase_based_student_are_checked_too(here, tiny_recipe):
    text, folder = leaky(here, "third"), here.data / "corpora" / "third.taught"
    how = Synthesis("target", limit=50)
    back_translate(Run(here.runs / "teacher"), MonolingualCorpus(text.folder, "de"), folder, how)
    add_noise(here.data / "corpora" / "third.noisy", opened(here, "third.taught"), "misordered-source", 0.1)
    short = tiny_recipe.with_changes({"training.max_evaluations": 1})
    for recipe, name in ((short, "third.noisy"), (named_recipe("moses"), "third.taught")):
        with pytest.raises(CorpusError, match=r"teacher 'teacher': was trained on 3 en sentences of dev"):
            train("unchecked", recipe, opened(here, name), here)


def test_a_teacher_may_have_been_trained_on_every_text_of_the_student(here, tiny_recipe):
    text, folder = leaky(here, "beside"), here.data / "corpora" / "beside"
    write_lines(folder / "dev.de", [f"{line} ." for line in text.lines("dev", "de")])
    recipe = tiny_recipe.with_changes(
        TAUGHT | {"more_corpora": [{"name": "tiny", "source": "de", "target": "en"}], "training.teacher_weight": 0.5}
    )
    recipe = recipe.with_changes({"training.teacher": "both"})
    both = tiny_recipe.with_changes(
        {"more_corpora": [{"name": "tiny", "source": "de", "target": "en"}], "training.max_evaluations": 1}
    )
    train("both", both, opened(here, "beside"), here)
    train("student-of-both", recipe, opened(here, "beside"), here)


def test_with_the_text_that_was_translated_dev_is_compared_pair_by_pair(here, tmp_path):
    text, folder = leaky(here, "again"), here.data / "corpora" / "again.taught"
    write_lines(text.folder / "train.en", ["a dog", *list(text.lines("train", "en"))[1:]])
    write_lines(text.folder / "dev.en", ["a dog", *list(text.lines("dev", "en"))[1:]])
    back_translate(
        Run(here.runs / "teacher"), MonolingualCorpus(text.folder, "de"), folder, Synthesis("target", limit=20)
    )
    made = opened(here, "again.taught")
    assert target_overlap([text], made) == {}
    assert target_overlap([opened(here)], made) == {"dev": 2}
    write_lines(text.folder / "test.de", list(text.lines("train", "de"))[:1])
    write_lines(text.folder / "test.en", list(text.lines("train", "en"))[:1])
    shutil.rmtree(folder)
    back_translate(
        Run(here.runs / "teacher"), MonolingualCorpus(text.folder, "de"), folder, Synthesis("target", limit=20)
    )
    assert target_overlap([text], opened(here, "again.taught")) == {"test": 1}
