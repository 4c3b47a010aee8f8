"""Open any run as something that translates."""

from nmtlab.device import choose_device
from nmtlab.models.build import load_weights
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run, Which
from nmtlab.training.prepare import model_for
from nmtlab.translation import Translator


def open_system(
    run: Run,
    search: SearchSettings | None = None,
    which: Which = "best",
    machine: MachineSettings | None = None,
) -> Translator:
    """Return a translator with a run's weights.

    Args:
        run: a trained run.
        search: how to search; the recipe's own settings if not given.
        which: the best checkpoint by dev BLEU, or the last.
        machine: where to compute; the recipe's own settings if not given.

    Raises:
        RunError: the run has no such checkpoint, or it is damaged.
    """
    device = choose_device(machine or run.recipe.machine)
    model = model_for(run.recipe, run.pipeline, run.translation_table)
    weights, _ = run.weights(which)
    load_weights(model, weights)
    return Translator(model.to(device).eval(), run.pipeline, search or run.recipe.search)
