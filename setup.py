"""Puts into a wheel what the pages show without a checkout: published values, results and a few packed runs."""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

EVIDENCE = Path(__file__).parent / "data/evidence"
FILES = ("published/*.csv", "results/*.csv", "results/*.csv.xz", "results/efficiency/*.csv")
RUNS = ("deep-de-en.pre-scalenorm", "small-qaa-en.fixnorm.s1", "small-qaa-en.untied.s1")


class BuildWithData(build_py):
    """Copies modules, and evidence into `nmtlab/evidence`; an editable install finds it in the checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            copy_evidence(Path(self.build_lib) / "nmtlab/evidence")


def copy_evidence(target: Path) -> None:
    """Copy the evidence of a wheel, and list the runs that it leaves out, which verdicts count as kept."""
    shutil.rmtree(target, ignore_errors=True)
    for file in (*(path for pattern in FILES for path in EVIDENCE.glob(pattern)), *packed()):
        copy = target / file.relative_to(EVIDENCE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    names = {path.name.removesuffix(".tar.xz") for path in EVIDENCE.glob("runs/*.tar.xz")}
    left_out = sorted(names - {*RUNS})
    (target / "runs/left_out.txt").write_text("".join(f"{name}\n" for name in left_out), encoding="utf-8")


def packed() -> Iterator[Path]:
    """Yield the archives of `RUNS` and those of their vocabularies."""
    for name in RUNS:
        path = EVIDENCE / f"runs/{name}.tar.xz"
        with tarfile.open(path) as archive:
            facts = json.load(archive.extractfile(f"{name}/packed.json"))
        yield path
        yield EVIDENCE / f"vocabularies/{facts['vocabulary']}.tar.xz"


setup(cmdclass={"build_py": BuildWithData})
