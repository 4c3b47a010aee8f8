"""A training that is killed and resumed continues exactly as if uninterrupted."""

import os
import signal
import subprocess
import sys
import time

import pytest
from support.weights import same_weights

from nmtlab.errors import RunError
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run
from nmtlab.runs.writer import writing
from nmtlab.training.setup import train

EXACT = ["loss", "perplexity", "gradient_norm", "rate"]


def losses(run: Run) -> list[list[float]]:
    return run.log.metrics("train")[["step", *EXACT]].to_numpy().tolist()


def command(*words: str, data) -> list[str]:
    return [sys.executable, "-m", "nmtlab", *words]


def environment(data) -> dict[str, str]:
    return {**os.environ, "NMTLAB_DATA": str(data), "OMP_NUM_THREADS": "1"}


@pytest.mark.full
def test_one_seed_repeats_bit_for_bit(trained, tiny_corpus, tiny_recipe, workspace):
    run, _ = trained
    again = train("again", tiny_recipe, tiny_corpus, workspace)
    assert losses(again) == losses(run)
    assert same_weights(again, run)
    other = train("other", tiny_recipe.with_changes({"training.seed": 2}), tiny_corpus, workspace)
    assert losses(other) != losses(run)


@pytest.mark.full
@pytest.mark.parametrize("changes", [{}, {"training.average": 1e-2, "training.keep_checkpoints": 2}])
def test_a_killed_training_resumes_with_the_same_losses(changes, trained, tiny_corpus, tiny_recipe, workspace):
    wanted = tiny_recipe.with_changes(changes)
    whole = train("whole", wanted, tiny_corpus, workspace) if changes else trained[0]
    recipe = workspace.data / "recipe.toml"
    wanted.save(recipe)
    words = command("train", str(tiny_corpus.folder), "--recipe", str(recipe), "--name", "killed", data=workspace.data)
    process = subprocess.Popen(
        words, env=environment(workspace.data), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    log = workspace.runs / "killed" / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        steps = [line["step"] for line in read_log(log)]
        if max(steps, default=0) >= 30:  # the first checkpoint is at 20: later updates must be repeated
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = Run(workspace.runs / "killed")
    if killed.status == "finished":
        pytest.skip("the training ended before it could be killed")
    assert killed.status == "interrupted"

    subprocess.run([*words, "--resume"], env=environment(workspace.data), check=True, capture_output=True)

    assert killed.status == "finished"
    assert losses(killed) == losses(whole)
    assert killed.log.gradient_norms().equals(whole.log.gradient_norms())
    assert killed.log.g_values().equals(whole.log.g_values())
    assert killed.log.metrics("validation")[["step", "bleu", "perplexity"]].equals(
        whole.log.metrics("validation")[["step", "bleu", "perplexity"]]
    )
    assert same_weights(killed, whole)
    assert same_weights(killed, whole, "best")
    assert [path.read_bytes() for path in killed.checkpoints.kept.values()] == [
        path.read_bytes() for path in whole.checkpoints.kept.values()
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("training.schedule", "inverse-sqrt"),
        *(
            pytest.param(*choice, marks=pytest.mark.full)
            for choice in (
                ("training.schedule", "validation-decay"),
                ("training.schedule", "no-warmup"),
                ("model.positions", "learned"),
                ("model.positions", "relative"),
            )
        ),
    ],
)
def test_a_stopped_training_resumes_in_the_middle_of_an_epoch(field, value, tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes(
        {
            field: value,
            "training.word_dropout": 0.1,
            "training.validate_every": 10,
            "training.decay_patience": 1,
        }
    )
    whole = train("whole", recipe, tiny_corpus, workspace)
    steps = iter(range(1000))
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == 17)
    stopped = Run(workspace.runs / "stopped")
    assert (stopped.status, stopped.log.gradient_norms()["step"].max()) == ("stopped", 17)
    train("stopped", recipe, tiny_corpus, workspace, resume=True)
    assert stopped.log.gradient_norms().equals(whole.log.gradient_norms())
    assert same_weights(stopped, whole)


@pytest.mark.full
def test_a_training_that_is_stopped_before_its_first_update_begins_again(trained, tiny_corpus, tiny_recipe, workspace):
    train("stopped", tiny_recipe, tiny_corpus, workspace, should_stop=lambda: True)
    stopped = Run(workspace.runs / "stopped")
    assert (stopped.status, stopped.checkpoints.has_weights("last")) == ("stopped", False)
    train("stopped", tiny_recipe, tiny_corpus, workspace, resume=True)
    assert losses(stopped) == losses(trained[0])


def test_a_finished_run_is_not_resumed_and_a_taken_name_is_not_trained_over(trained, tiny_corpus, tiny_recipe):
    run, workspace = trained
    before = losses(run)
    with pytest.raises(RunError, match="finished"):
        train("whole", tiny_recipe, tiny_corpus, workspace, resume=True)
    with pytest.raises(RunError, match=r"'whole'.*--resume"):
        train("whole", tiny_recipe, tiny_corpus, workspace)
    assert losses(run) == before


def test_a_run_is_not_resumed_on_other_text(tiny_corpus, make_corpus, tiny_recipe, workspace):
    from nmtlab.text.corpora.corpus import ParallelCorpus

    steps = iter(range(1000))
    train("run", tiny_recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == 5)
    folder = make_corpus()
    (folder / "train.en").write_text((folder / "train.en").read_text().replace("dog", "hound"))
    with pytest.raises(RunError, match="other text"):
        train("run", tiny_recipe, ParallelCorpus.open(folder), workspace, resume=True)


def test_a_run_that_read_a_byte_order_mark_as_text_says_so_when_resumed(
    tiny_corpus, make_corpus, tiny_recipe, workspace
):
    from nmtlab.text.corpora.corpus import ParallelCorpus

    steps = iter(range(1000))
    train("run", tiny_recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == 1)
    folder = make_corpus()
    (folder / "train.en").write_text("\ufeff" + (folder / "train.en").read_text().replace("dog", "hound", 1))
    with pytest.raises(
        RunError, match=rf"perhaps when byte order marks were read as text, as in {folder.name}/train.en"
    ):
        train("run", tiny_recipe, ParallelCorpus.open(folder), workspace, resume=True)


def test_a_run_can_be_written_by_one_process_only(trained):
    run, _ = trained
    with writing(run), pytest.raises(RunError, match="another process"), writing(Run(run.folder)):
        pass


def test_a_loss_that_is_not_finite_ends_the_run_as_diverged(tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes(
        {"training.lr_scale": 1e30, "training.validate_every": 10, "model.norm": "layer", "model.fixnorm": False}
    )
    run = train("diverged", recipe, tiny_corpus, workspace)
    assert run.status == "diverged"
    end = run.log.metrics("end")
    assert len(end) == 1
    assert end["step"].iloc[0] <= 30


@pytest.mark.full
@pytest.mark.parametrize(("minutes", "begins_at"), [(1e-9, 10), (0.0, 0)])
def test_a_training_is_saved_by_the_clock_between_its_evaluations(
    tiny_corpus, tiny_recipe, workspace, minutes, begins_at
):
    recipe = tiny_recipe.with_changes({"training.save_minutes": minutes})
    whole = train("whole", recipe, tiny_corpus, workspace)
    asked = iter(range(1000))

    def crash() -> bool:
        if next(asked) == 17:  # before the first evaluation, which is after 20 updates
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        train("crashed", recipe, tiny_corpus, workspace, should_stop=crash)
    assert (Run(workspace.run_folder("crashed")).checkpoints.last_step or 0) == begins_at
    resumed = train("crashed", recipe, tiny_corpus, workspace, resume=True)
    for name in EXACT:
        assert resumed.log.metrics("train")[name].tolist() == whole.log.metrics("train")[name].tolist()
    assert resumed.log.gradient_norms().equals(whole.log.gradient_norms())
    assert resumed.log.metrics("validation")["bleu"].tolist() == whole.log.metrics("validation")["bleu"].tolist()


def test_a_training_stopped_by_the_clock_is_evaluated_and_resumes_exactly(tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes({"training.validate_every": 4, "training.max_evaluations": 2})
    whole = train("whole", recipe, tiny_corpus, workspace)
    run = train("timed", recipe, tiny_corpus, workspace, minutes=0)
    assert (run.status, run.log.last_step) == ("stopped", 1)
    assert list(run.log.metrics("validation")["step"]) == [1]
    assert run.checkpoints.best_step == 1
    run = train("timed", recipe, tiny_corpus, workspace, resume=True)
    assert run.status == "finished"
    assert list(run.log.metrics("validation")["step"]) == [1, 4, 8]
    assert losses(run) == losses(whole)
    assert same_weights(run, whole)
