"""Where corpora, runs and caches are kept."""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from nmtlab.errors import CorpusError, RunError, did_you_mean

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,149}")
_MARKER = ".nmtlab"
_INSTALLED = Path(__file__).parent / "evidence"  # a wheel has it, a checkout does not

EVIDENCE = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1] / "data" / "evidence"
"""What comes with nmtlab: `published/`, `results/`, `runs/`, `vocabularies/`. Only `nmtlab evidence` writes there."""

PUBLISHED = EVIDENCE / "published"
"""Published values and claims, in a checkout as text to read and correct by hand."""

RESULTS = EVIDENCE / "results"
"""The measured tables that come with nmtlab."""


@dataclass(frozen=True)
class Workspace:
    """The `data` folder: what a user makes, in `corpora/`, `runs/`, `results/`, `cache/`, and corpora kept elsewhere.

    In a checkout it also contains `evidence/`, which is shown with the user's runs. A workspace elsewhere begins empty,
    so that nobody's list begins with hundreds of runs; nmtlab installed from a wheel shows the few that it contains.
    Published values, measured tables and their verdicts are those of `EVIDENCE` in every workspace.
    """

    data: Path
    more_corpora: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", Path(self.data))

    def __repr__(self) -> str:
        runs = len(list(self.runs.glob("*/recipe.toml")))
        return f"Workspace {str(self.data)!r}: {len(self.corpus_names())} corpora, {runs} runs"

    @classmethod
    def find(cls) -> "Workspace":
        """Return the workspace of the environment or of the current folder.

        `NMTLAB_DATA` names the data folder. Without it, nmtlab takes the nearest `data` folder with a file `.nmtlab`,
        here or in a parent folder, else `./data`. `NMTLAB_CORPORA` lists further folders of corpora, separated as in
        `PATH`.
        """
        more = tuple(Path(folder) for folder in os.environ.get("NMTLAB_CORPORA", "").split(os.pathsep) if folder)
        if named := os.environ.get("NMTLAB_DATA"):
            return cls(Path(named), more)
        here = Path.cwd()
        marked = (folder / "data" for folder in (here, *here.parents) if (folder / "data" / _MARKER).exists())
        return cls(next(marked, here / "data"), more)

    @property
    def runs(self) -> Path:
        return self.data / "runs"

    @property
    def jobs(self) -> Path:
        """Trainings started from the page *Train*, a folder each; see `nmtlab.jobs`."""
        return self.data / "jobs"

    @property
    def results(self) -> Path:
        """Tables saved by `nmtlab reproduce --save`."""
        return self.data / "results"

    @property
    def evidence(self) -> Path:
        """The evidence that this workspace shows: its folder `evidence` or, without one, that of a wheel."""
        ours = self.data / "evidence"
        return _INSTALLED if _INSTALLED.is_dir() and not ours.is_dir() else ours

    @property
    def cache(self) -> Path:
        return self.data / "cache"

    @property
    def notes(self) -> Path:
        """What is measured on packed runs, which are not written into."""
        return self.cache / "notes"

    def run_folder(self, name: str) -> Path:
        """Return the folder of the run `name`, existing or not; a name cannot lead out of the runs folder.

        Raises:
            RunError: the name has characters that are not allowed.
        """
        if not _NAME.fullmatch(name):
            raise RunError(
                f"run name {name!r}: not allowed",
                "use up to 150 letters, digits and . _ + -, beginning with a letter or digit",
            )
        return self.runs / name

    def corpus_names(self) -> list[str]:
        """Return the names of all parallel corpora with training text, sorted."""
        parents = (self.data / "corpora", *self.more_corpora)
        sides = Counter(file.parent for parent in parents for file in parent.glob("[!.]*/train.*"))
        return sorted({folder.name for folder, number in sides.items() if number > 1})

    def corpus_folders(self) -> list[Path]:
        """Return the folders of all corpora, by name; one of the workspace hides others of its name."""
        found: dict[str, Path] = {}
        for parent in (self.data / "corpora", *self.more_corpora):
            for file in parent.glob("[!.]*/*.*"):
                if file.name.startswith(("train.", "dev.", "test.")):
                    found.setdefault(file.parent.name, file.parent)
        return [found[name] for name in sorted(found)]

    def new_corpus_folder(self, name: str) -> Path:
        """Return the folder for a new corpus `name`.

        Raises:
            CorpusError: the name is not allowed, or taken.
        """
        folder = self.own_corpus_folder(name)
        if folder.exists():
            raise CorpusError(
                f"corpus {name!r}: already exists", f"choose another name, or remove it: nmtlab corpus remove {name}"
            )
        return folder

    def own_corpus_folder(self, name: str) -> Path:
        """Return the folder of the corpus `name` in the workspace, existing or not.

        Raises:
            CorpusError: the name is not allowed.
        """
        if not _NAME.fullmatch(name):
            raise CorpusError(
                f"corpus name {name!r}: not allowed",
                "use up to 150 letters, digits and . _ + -, beginning with a letter or digit",
            )
        return self.data / "corpora" / name

    def corpus_folder(self, name: str) -> Path:
        """Return the folder of the corpus `name`: a corpus of the workspace, or a path to a folder.

        Raises:
            CorpusError: there is no such corpus.
        """
        if os.sep in name or name in (".", ".."):
            candidates = [Path(name)]
        else:
            candidates = [folder / name for folder in (self.data / "corpora", *self.more_corpora)]
        for folder in candidates:
            if folder.is_dir():
                return folder
        searched = ", ".join(str(folder) for folder in candidates)
        path = f".{os.sep}{name}"
        if Path(name).is_file():
            remedy = "import it with 'nmtlab corpus import', or give the path of a folder"
            raise CorpusError(f"corpus {name!r}: a file, not a corpus", remedy)
        raise CorpusError(
            f"corpus {name!r}: not found (searched {searched})",
            f"give {path} for the folder here"
            if Path(path).is_dir()
            else did_you_mean(name, [folder.name for folder in self.corpus_folders()])
            + "make one with 'nmtlab corpus import' or 'nmtlab corpus make', or give the path of its folder",
        )
