"""The run whose distributions a training learns besides its text."""

from nmtlab.errors import RunError
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import MachineSettings, Recipe, SearchSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.workspace import Workspace


def teacher_of(recipe: Recipe, workspace: Workspace) -> Run | None:
    """Return the run whose distributions a recipe learns, if any.

    Raises:
        RunError: there is no such run, it has no weights, or it plans lengths and the recipe does not, or the reverse.
    """
    if not recipe.teacher:
        return None
    run = open_run(recipe.teacher, workspace)
    check_has_model(run)
    if not run.checkpoints.has_weights():
        raise RunError(f"teacher {run.name!r}: has no weights", "choose a run with weights")
    if run.recipe.model.plans_length != recipe.model.plans_length:
        raise RunError(f"teacher {run.name!r}: plans lengths, or does not, unlike the recipe", "choose another teacher")
    return run


def check_teacher(teacher: Run, pipeline: Pipeline) -> None:
    """Raise `RunError` if a teacher has other vocabularies or text settings: its distributions do not fit then."""
    ours, theirs = pipeline.checksum(), teacher.pipeline.checksum()
    if ours != theirs:
        raise RunError(
            f"teacher {teacher.name!r}: has other vocabularies or text settings (checksum {theirs[:8]}) than this "
            f"training ({ours[:8]})",
            "choose one trained on the same text with the same text settings, or go on from the teacher with --from",
        )


def check_same_teacher(run: Run, teacher: Run) -> None:
    """Raise `RunError` if a teacher has not the weights with which a run was begun."""
    if run.environment.get("teacher") != teacher.checkpoints.digest:
        raise RunError(
            f"run {run.name!r}: its teacher {teacher.name!r} has other weights than when it was begun",
            "bring these back, or train a new run",
        )


def open_teacher(teacher: Run, machine: MachineSettings) -> TranslationModel:
    """Return a teacher's model, whose weights are constants, in evaluation mode."""
    return open_model(teacher, SearchSettings(), machine=machine).model
