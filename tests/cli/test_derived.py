"""`nmtlab runs average` and `runs prune`: runs whose weights come from those of another."""

import shutil

import pytest

from nmtlab.nn.pruning import share_of_zeros
from nmtlab.runs.run import Run
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TEXT = "ein hund singt\n"


@pytest.fixture(scope="session")
def trained_kept(tmp_path_factory, tiny_corpus, tiny_recipe) -> Run:
    changes = {"training.keep_checkpoints": 2, "training.validate_every": 5}
    return train("kept", tiny_recipe.with_changes(changes), tiny_corpus, Workspace(tmp_path_factory.mktemp("kept")))


@pytest.fixture
def kept(data, trained_kept) -> Run:
    """A run that has kept its last two evaluated checkpoints."""
    return Run(shutil.copytree(trained_kept.folder, data / "runs/kept"))


@pytest.mark.full
def test_the_mean_of_checkpoints_is_a_complete_run(nmtlab, data, kept):
    (kept.folder / "checkpoints/kept-0000015.old.safetensors").touch()  # not the training's
    said = nmtlab("runs", "average", "kept", "--last", 2, "--name", "mean")
    assert said == (0, "run mean: the mean of kept after 10, 15 updates\nnext: nmtlab evaluate mean --split dev\n", "")
    mean = Run(data / "runs/mean")
    assert (mean.status, mean.checkpoints.best_step, mean.recipe) == ("finished", 15, kept.recipe)
    assert mean.log.metrics("end")["mean_of"].item()["run"] == "kept"
    assert nmtlab("translate", "mean", stdin=TEXT).code == 0
    assert "BLEU" in nmtlab("evaluate", "mean", "--split", "dev").out
    assert nmtlab("runs", "show", "mean").out.startswith("run mean: the mean of kept after 10, 15 updates\n")
    assert "mean" in nmtlab("runs", "list").out
    assert nmtlab("runs", "pack", "mean", "--weights", "--to", ".").code == 0
    assert nmtlab("runs", "unpack", "mean.tar.xz", "--name", "again").code == 0
    assert Run(data / "runs/again").log.made_of == "the mean of kept after 10, 15 updates"
    assert "finished and cannot be resumed" in nmtlab("train", "tiny", "--name", "mean", "--resume").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kept", "--last", "3", "--name", "mean"), "run 'kept': 2 kept checkpoints, not 3; choose a lower --last"),
        (("whole", "--name", "mean"), "run 'whole': no kept checkpoints; train one with --set training.keep_checkpoin"),
        (("kept", "--name", "whole"), "run 'whole': already exists"),
        (("nobody", "--name", "mean"), "run 'nobody': not found"),
        (("kept", "whole", "--name", "mean"), "runs 'kept', 'whole': the mean of several trainings' weights translates "
         "nothing; name one, or translate with all: nmtlab translate kept --with whole"),
    ],
)  # fmt: skip
def test_what_has_no_mean_is_refused_in_a_line(words, said, nmtlab, data, kept):
    found = nmtlab("runs", "average", *words)
    assert (found.code, found.err.count("\n")) == (2, 1)
    assert said in found.err
    assert not (data / "runs/mean").exists()


def test_a_run_packed_without_its_model_has_no_checkpoints(nmtlab, data, kept):
    nmtlab("runs", "pack", "kept", "--to", ".")
    nmtlab("runs", "unpack", "kept.tar.xz", "--name", "light")
    assert "run 'light': no kept checkpoints" in nmtlab("runs", "average", "light", "--name", "mean").err


def test_a_run_without_its_smallest_weights_is_a_complete_run(nmtlab, data):
    said = nmtlab("runs", "prune", "whole", "--share", 0.4, "--name", "light")
    made = "whole without the smallest 40 % of the values of each of its matrices"
    assert said == (0, f"run light: {made}\nnext: nmtlab evaluate light --split dev\n", "")
    light = Run(data / "runs/light")
    assert light.log.metrics("end")["pruned"].item()["weights"] == Run(data / "runs/whole").checkpoints.digest
    assert share_of_zeros(light.checkpoints.weights()[0]) == pytest.approx(0.4, abs=0.01)
    assert nmtlab("translate", "light", stdin=TEXT).code == 0
    assert nmtlab("runs", "show", "light").out.startswith(f"run light: {made}\n")
    assert nmtlab("runs", "prune", "whole", "--share", 0.4, "--name", "blind", "--blind").out.startswith(
        "run blind: whole without the smallest 40 % of all values of its matrices together\n"
    )
    refused = nmtlab("runs", "prune", "whole", "--share", 40, "--name", "none")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "share 40: not above 0 and below 1; give one such as 0.4" in refused.err
    assert "give one of --share and --rank" in nmtlab("runs", "prune", "whole", "--name", "none").err
    assert (
        "--blind: belongs to --share"
        in nmtlab("runs", "prune", "whole", "--rank", 0.4, "--blind", "--name", "none").err
    )
    assert not (data / "runs/none").exists()


def test_a_run_of_a_lower_rank_is_a_complete_run(nmtlab, data):
    said = nmtlab("runs", "prune", "whole", "--rank", 0.25, "--name", "low")
    made = "whole with 25 % of the singular values of each matrix"
    assert said == (0, f"run low: {made}\nnext: nmtlab evaluate low --split dev\n", "")
    assert nmtlab("translate", "low", stdin=TEXT).code == 0
    assert nmtlab("runs", "show", "low").out.startswith(f"run low: {made}\n")
