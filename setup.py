"""Puts into a wheel what the pages show without a checkout: published values, results and a few packed runs."""

import shutil
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DATA = Path(__file__).parent / "data"
FILES = ("published/*.csv", "results/*.csv", "results/*.parquet", "results/efficiency/*.csv")
RUNS = ("deep-de-en.pre-scalenorm", "small-qaa-en.fixnorm.s1", "small-qaa-en.untied.s1")


class BuildWithData(build_py):
    """Copies modules, and data into `nmtlab/data`; an editable install finds its data in the checkout."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            copy_data(Path(self.build_lib) / "nmtlab/data")


def copy_data(target: Path) -> None:
    """Copy the data of a wheel, and list the other runs of the gallery, which verdicts count as kept."""
    shutil.rmtree(target, ignore_errors=True)
    for file in (path for pattern in FILES for path in DATA.glob(pattern)):
        copy = target / file.relative_to(DATA)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    for name in RUNS:
        shutil.copytree(DATA / "gallery" / name, target / "gallery" / name)
    left_out = sorted(gallery_names() - {*RUNS})
    (target / "gallery/left_out.txt").write_text("".join(f"{name}\n" for name in left_out), encoding="utf-8")


def gallery_names() -> set[str]:
    """Return the names of all runs in the gallery: folders, and folders in archives."""
    names = {path.name for path in DATA.glob("gallery/[!.]*") if path.is_dir()}
    for file in DATA.glob("gallery/*.tar.xz"):
        with tarfile.open(file) as archive:
            names |= {name.partition("/")[0] for name in archive.getnames()}
    return names


setup(cmdclass={"build_py": BuildWithData})
