"""Memory and speed of the way from text to batches, on an artificial language of any size.

    python benchmarks/memory.py --pairs 10000000

Everything runs in one process, as before a training. `peak RssAnon` is memory that is not a page of a file (sampled
from /proc/self/status, so this runs on Linux only); it should not grow with the number of pairs, but for the four bytes
a pair of an epoch's order.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from nmtlab.recipe.text import TextSettings
from nmtlab.text.artificial.language_settings import ArtificialSettings
from nmtlab.text.artificial.writing import write_corpus
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000, help="training pairs (%(default)s)")
    parser.add_argument("--language", default="qaa", help="artificial language (%(default)s)")
    parser.add_argument("--segmentation", default="bpe", choices=["word", "bpe", "unigram"])
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--folder", type=Path, help="where to work; a corpus there is used again (a temporary one)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        measure(arguments, arguments.folder or Path(temporary))


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    print(f"{'phase':<10}{'seconds':>9}{'peak RssAnon MB':>17}")
    text = folder / f"{arguments.language}-{arguments.pairs}"
    if not text.exists():
        with phase("generate"):
            settings = ArtificialSettings(vocabulary=4000, names=200)
            write_corpus(text, [arguments.language], settings, train=arguments.pairs, train_gold=False)
    corpus = ParallelCorpus.open(text, arguments.language, "en")
    with phase("learn"):
        pipeline = Pipeline.learn(TextSettings(segmentation=arguments.segmentation), corpus)
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        with phase("encode"):
            encoded = EncodedCorpus.open(Path(cache), pipeline, corpus)
        with phase("epoch"):
            began = time.perf_counter()
            batches = tokens = padded = 0
            for batch in Batches(Mixture([encoded]), arguments.batch_tokens, seed=1).epoch(0):
                batches += 1
                tokens += batch.source_tokens + batch.target_tokens
                padded += batch.source.size + batch.target.size
            seconds = time.perf_counter() - began
        size = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
    print(f"{len(encoded):,} pairs in {batches:,} batches, {tokens:,} tokens, {1 - tokens / padded:.1%} padding")
    print(f"{tokens / seconds / 1e6:.1f} M tokens/s streamed, {size / 1e6:,.0f} MB of ids on disk")


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Print how long the block took, and the most anonymous memory it was seen with."""
    done = Event()
    seen = [anonymous()]

    def watch() -> None:
        while not done.wait(0.05):
            seen.append(max(seen.pop(), anonymous()))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    began = time.perf_counter()
    yield
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    print(f"{name:<10}{seconds:>9.1f}{seen[0]:>17.0f}", flush=True)


def anonymous() -> float:
    """Return this process' RssAnon in MB."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
