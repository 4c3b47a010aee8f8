"""What several tests need: one thread, no GPU, no deadlines, and a small corpus that can be learned in seconds."""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # CUDA_VISIBLE_DEVICES=0 pytest uses the first GPU

import hypothesis
import pytest
import torch
from support.editor import Editor, editor_in
from support.zoo import Zoo

from nmtlab.recipe import Recipe, named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

torch.set_num_threads(1)

hypothesis.settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
hypothesis.settings.load_profile("untimed")

WORDS = {
    "ein": "one", "hund": "dog", "katze": "cat", "sieht": "sees", "haus": "house", "rot": "red", "kind": "child",
    "geht": "goes", "nach": "to", "berg": "mountain", "und": "and", "fluss": "river", "alt": "old", "singt": "sings",
}  # fmt: skip

TINY = [
    "text.segmentation=word", "text.vocabulary_size=0", "model.d_model=16", "model.d_ff=32", "model.heads=2",
    "model.encoder_layers=1", "model.decoder_layers=1", "training.batch_tokens=200", "training.validate_every=20",
    "training.max_evaluations=3", "training.warmup_updates=20", "machine.threads=1", "machine.device=cpu",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest files, so that no process is left alone with one: those with the most full tests."""
    tests = Counter(item.path for item in items)
    full = Counter(item.path for item in items if item.get_closest_marker("full") or item.path.suffix == ".ipynb")
    items.sort(key=lambda item: (-full[item.path], -tests[item.path]))


def write_split(folder: Path, split: str, count: int, seed: int) -> None:
    generator = random.Random(seed)
    sentences = [generator.choices(list(WORDS), k=generator.randint(2, 7)) for _ in range(count)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{split}.de").write_text("".join(" ".join(s) + "\n" for s in sentences), encoding="utf-8")
    (folder / f"{split}.en").write_text(
        "".join(" ".join(WORDS[w] for w in s) + "\n" for s in sentences), encoding="utf-8"
    )


@pytest.fixture(scope="session")
def make_corpus(tmp_path_factory) -> Callable[[], Path]:
    """Make a corpus of its own for a test that spoils it."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("corpora") / "tiny"
        write_split(folder, "train", 300, seed=1)
        held_out = set((folder / "train.de").read_text(encoding="utf-8").splitlines())
        for split, seed in (("dev", 2), ("test", 3)):
            write_split(folder, split, 40, seed)
            for language in ("de", "en"):
                path = folder / f"{split}.{language}"
                source = (folder / f"{split}.de").read_text(encoding="utf-8").splitlines()
                lines = path.read_text(encoding="utf-8").splitlines()
                kept = [line for line, s in zip(lines, source, strict=True) if s not in held_out]
                path.with_suffix(f".{language}.kept").write_text("\n".join(kept) + "\n", encoding="utf-8")
            for language in ("de", "en"):
                (folder / f"{split}.{language}.kept").rename(folder / f"{split}.{language}")
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_corpus(make_corpus) -> ParallelCorpus:
    return ParallelCorpus.open(make_corpus())


@pytest.fixture(scope="session")
def tiny_recipe() -> Recipe:
    return named_recipe("transformer-small").with_settings(TINY)


def train_with_two_processes(corpus: ParallelCorpus, recipe: Recipe, name: str, workspace: Workspace) -> Run:
    """Train under torchrun, connected over the loopback device: the machine's name may not resolve."""
    recipe.save(workspace.data / "recipe.toml")
    words = [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1"),
        *("--nproc-per-node", "2", "-m", "nmtlab", "train", str(corpus.folder)),
        *("--recipe", str(workspace.data / "recipe.toml"), "--name", name),
    ]
    environment = {**os.environ, "NMTLAB_DATA": str(workspace.data), "GLOO_SOCKET_IFNAME": "lo"}
    result = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
    assert not result.returncode, result.stdout + result.stderr
    return Run(workspace.runs / name)


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    return Workspace(tmp_path / "data")


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory) -> Path:
    """A folder of all processes of this session."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def zoo(shared_folder, tiny_corpus, tiny_recipe) -> Iterator[Zoo]:
    """Trained runs of several kinds, read-only."""
    zoo = Zoo(shared_folder / "zoo", tiny_corpus, tiny_recipe)
    yield zoo
    zoo.check()


@pytest.fixture(scope="session")
def trained(zoo) -> tuple[Run, Workspace]:
    """A run trained to the end, and the workspace it is in; all tests read it, so whoever measures takes a copy."""
    return zoo("trained"), zoo.workspace("trained")


@pytest.fixture(scope="session")
def editor(shared_folder, tiny_corpus, tiny_recipe) -> Editor:
    """A run of two sources with one attention, its triplets and their workspace; whoever writes takes a copy."""
    return editor_in(shared_folder / "editor", tiny_corpus, tiny_recipe)
