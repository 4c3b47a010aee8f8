"""What was learnt from a run after its training: stored answers and translations."""

from collections.abc import Callable
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

from nmtlab.files import write_text
from nmtlab.reading import read_json
from nmtlab.runs.answers import StoredAnswer, notes_folder, stored_answers
from nmtlab.runs.checkpoints import Checkpoints
from nmtlab.runs.schemas import TranslationFacts

_OTHER = 3  # rank of weights that are neither the run's original ones, nor unrecorded, nor those stored in its folder


class Notes:
    """The answers and translations stored with a run: in its folder, or `elsewhere` as `notes_folder` explains."""

    def __init__(self, folder: Path, elsewhere: Path | None, checkpoints: Checkpoints) -> None:
        self._folder, self._elsewhere, self._checkpoints = folder, elsewhere, checkpoints

    @cached_property
    def folder(self) -> Path:
        """Where new answers and translations are stored, in subfolders named as in the run's folder."""
        return notes_folder(self._folder, self._elsewhere)

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where answers and translations are found: the run's folder and, if different, `folder`."""
        return tuple(dict.fromkeys((self._folder, self.folder)))

    def path(self, relative: str | Path) -> Path:
        """Return the path of a file stored with the run: in its folder, else in `folder`, existing or not."""
        path = self._folder / relative
        return path if path.exists() else self.folder / relative

    def all_answers(self, analysis: str = "") -> list[StoredAnswer]:
        """Return the stored answers of one analysis, or of all, from any weights.

        Raises:
            RunError: a file is damaged.
        """
        return [answer for folder in self.folders for answer in stored_answers(folder, analysis)]

    def answers(self, analysis: str = "") -> list[StoredAnswer]:
        """Return those of `all_answers` that are from the best checkpoint, those from its original weights first.

        Unrecorded weights count as the original ones of their step; in a `folder` elsewhere, which is specific to the
        weights in the run's folder, as those.
        """
        rank = self._rank_of_weights()
        found = [(rank(a.question.checkpoint, a.question.weights, a.path), a) for a in self.all_answers(analysis)]
        return [answer for order, answer in sorted(found, key=itemgetter(0)) if order < _OTHER]

    def translations(self) -> list[tuple[dict[str, Any], Path]]:
        """Return facts and file of each stored translation by the best checkpoint, in the order of `answers`."""
        rank = self._rank_of_weights()
        stored = sorted(path for folder in self.folders for path in (folder / "translations").glob("*.json"))
        remedy = "remove that file; its translations are then made again"
        made = [(read_json(path, TranslationFacts, remedy), path.with_suffix(".txt")) for path in stored]
        ranked = [
            (rank(facts["step"], facts.get("weights"), path), facts, path) for facts, path in made if path.exists()
        ]
        return [(facts, path) for order, facts, path in sorted(ranked, key=itemgetter(0)) if order < _OTHER]

    def save_translation(self, name: str, lines: list[str]) -> Path:
        """Write translations, one sentence per line, and return the path."""
        path = self.folder / "translations" / name
        write_text(path, "".join(line.replace("\n", " ") + "\n" for line in lines))
        return path

    def _rank_of_weights(self) -> Callable[[int | None, str | None, Path], int]:
        """Return a function that ranks the weights behind a stored file: `_OTHER` if not the best checkpoint's."""
        checkpoints = self._checkpoints
        step, original = checkpoints.best_step, (checkpoints.original_digest, None)

        def rank(at: int | None, weights: str | None, path: Path) -> int:
            if at != step:
                return _OTHER
            if weights is None and not path.is_relative_to(self._folder):
                return len(original)
            if weights in original:
                return original.index(weights)
            return len(original) if weights == checkpoints.digest else _OTHER

        return rank
