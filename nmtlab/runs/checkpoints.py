"""The best and the last checkpoint of a run, and the last ones that its training kept."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmtlab.runs.origin import Origin
from nmtlab.runs.schemas import BestFacts, LastFacts
from nmtlab.runs.tensors import Which, checkpoint_path, load_digest, load_facts, load_tensors
from nmtlab.runs.training_log import TrainingLog

if TYPE_CHECKING:
    from torch import Tensor

_FACTS = {"best": BestFacts, "last": LastFacts}


class Checkpoints:
    """The checkpoints in a run's folder, and what is recorded of those that it was packed without."""

    def __init__(self, folder: Path, log: TrainingLog, origin: Origin) -> None:
        self._folder, self._log, self._origin = folder, log, origin

    def path(self, which: Which) -> Path:
        """Return the path of a checkpoint, existing or not."""
        return checkpoint_path(self._folder, which)

    def optimiser_path(self, step: int) -> Path:
        """Return the path of the optimiser's state that belongs to the last checkpoint, existing or not."""
        return self._folder / "checkpoints" / f"last.optimiser-{step:07d}.safetensors"

    def has_weights(self, which: Which = "best") -> bool:
        return self.path(which).exists()

    def weights(self, which: Which = "best") -> "tuple[dict[str, Tensor], dict[str, Any]]":
        """Return named weights and facts (step, BLEU) of a checkpoint.

        Raises:
            RunError: there is no such checkpoint, it is damaged, or the run was packed without it.
        """
        self._origin.check_model()
        return load_tensors(self.path(which), _FACTS[which])

    @property
    def anchor_path(self) -> Path:
        """The path of what holds the weights near those of the parent, existing or not."""
        return self._folder / "checkpoints" / "anchor.safetensors"

    def anchor(self) -> "dict[str, Tensor]":
        """Return what holds the weights near those of the parent, by name; errors as of `weights`."""
        return load_tensors(self.anchor_path)[0]

    def kept_path(self, step: int) -> Path:
        """Return the path of a checkpoint kept besides the best and the last, existing or not."""
        return self._folder / "checkpoints" / f"kept-{step:07d}.safetensors"

    @property
    def kept(self) -> dict[int, Path]:
        """The checkpoints kept besides the best and the last, by step, in the order of training."""
        files = (self._folder / "checkpoints").glob("kept-[0-9]*.safetensors")
        numbers = (file.stem.removeprefix("kept-") for file in files)
        return {step: self.kept_path(step) for step in sorted(int(number) for number in numbers if number.isdecimal())}

    def kept_weights(self, step: int) -> "dict[str, Tensor]":
        """Return the named weights of a kept checkpoint; errors as of `weights`."""
        return load_tensors(self.kept_path(step), BestFacts)[0]

    def optimiser(self, step: int) -> "tuple[dict[str, Tensor], dict[str, Any]]":
        """Return what training needs, besides the weights, to resume from the last checkpoint."""
        return load_tensors(self.optimiser_path(step), LastFacts)

    @property
    def best_bleu(self) -> float | None:
        """Dev BLEU of the best checkpoint; of the log if the checkpoint is not here; None without an evaluation."""
        if self.has_weights() and (stored := self._facts("best").get("bleu")) is not None:
            return stored
        validations = self._log.metrics("validation")
        if not len(validations):
            return None
        of_best = validations.loc[validations["step"] == self.best_step, "bleu"]
        return float((of_best if len(of_best) else validations["bleu"]).max())

    @property
    def best_step(self) -> int | None:
        """Step of the best checkpoint, even if it was not packed; None if there was none."""
        if packed := self._origin.packed:
            return packed.get("best_step")
        return self._facts("best")["step"] if self.has_weights() else None

    @property
    def last_step(self) -> int | None:
        """Step of the last checkpoint; of a packed run, its last logged step; None if there was none."""
        if self._origin.packed:
            end = self._log.metrics("end")
            return int(end["step"].iloc[-1]) if len(end) else None
        return self._facts("last")["step"] if self.has_weights("last") else None

    @property
    def digest(self) -> str | None:
        """Digest of the best checkpoint in the run's folder; None if there is none."""
        return self.digest_of("best")

    def digest_of(self, which: Which) -> str | None:
        """Return the digest of a checkpoint in the run's folder; None if it is not there."""
        return load_digest(self.path(which)) if self.has_weights(which) else None

    @property
    def original_digest(self) -> str | None:
        """Digest of the best checkpoint as it was trained: packing halves its precision; None if not recorded."""
        packed = self._origin.packed
        return packed.get("weights") if packed else self.digest

    def _facts(self, which: Which) -> dict[str, Any]:
        return load_facts(self.path(which), _FACTS[which])
