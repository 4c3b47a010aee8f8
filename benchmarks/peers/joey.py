"""joeynmt 2.3, in an environment of its own, trained and decoding on nmtlab's data."""

import json
import os
import re
import subprocess
import venv
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import sentencepiece

from nmtlab.text.corpora.lines import read_lines

from .joey_checkpoint import save_checkpoint
from .measurement import CLIP, LABEL_SMOOTHING, SIZE, Measurement, Size, after_warm_up, high_water_mark
from .weights import Weights

ENVIRONMENT = Path("data/cache/joeynmt-env")

# joeynmt imports importlib_metadata without asking for it; this sentencepiece is known to work with it.
_REQUIREMENTS = ["joeynmt==2.3.0", "importlib_metadata", "sentencepiece==0.2.0"]

_LOG_EVERY = 10

# Runs joeynmt's own command line and leaves its memory's high-water mark as the last words.
_RUNNER = "from joeynmt.__main__ import main; main(); print(open('/proc/self/status').read())"


@dataclass(frozen=True)
class Corpus:
    """A folder of train, dev and test texts, `train.de` or `train.de.xz`, and the direction."""

    folder: Path
    source: str = "de"
    target: str = "en"


@dataclass(frozen=True)
class Trained:
    """A model of nmtlab's: weights named as in `weights`, the vocabulary in the order of ids."""

    weights: Weights
    vocabulary: list[str]


def measure(
    corpus: Corpus,
    folder: Path,
    environment: Path = ENVIRONMENT,
    updates: int = 200,
    sentences: int = 200,
    batch_tokens: int = 4096,
    threads: int = 2,
    size: Size = SIZE,
    subwords: Path | None = None,
    trained: Trained | None = None,
) -> Measurement:
    """Train joeynmt for some updates, decode greedily and with beam 5, and measure all.

    Args:
        corpus: what to train on; the first sentences of its test text are translated.
        folder: for its files; what a former run left there is overwritten.
        environment: joeynmt's virtual environment, made on the first call (1.6 GB, a minute).
        updates: how many to train for; at least 20, the first ones are left out of the rate.
        sentences: how many to translate.
        batch_tokens: padded tokens to a batch (joeynmt's type 'token', which does not sort by length).
        threads: for each matrix product.
        size: of the model.
        subwords: a SentencePiece model to segment with; without it, a joint BPE of 8,000 types is learned.
        trained: decode with this model instead of joeynmt's own, which after few updates writes long nonsense;
            it needs the `subwords` it was trained with.

    Training's rate is the median of those that joeynmt logs; decoding's time is joeynmt's own, without loading.
    """
    python = make_environment(environment)
    folder.mkdir(parents=True, exist_ok=True)
    _write_texts(corpus, folder, sentences)
    subwords = subwords or _learn_subwords(corpus, folder)
    _write_vocabulary(subwords, trained, folder / "vocabulary.txt")
    config = _config(corpus, folder.resolve(), subwords.resolve(), updates, batch_tokens, size)
    training = _run(python, "train", config, folder, threads)
    if trained:
        config["testing"]["load_model"] = str(folder.resolve() / "trained.ckpt")
        config["model"]["tied_softmax"] = False  # where a bias has been folded in
        save_checkpoint(trained.weights, len(trained.vocabulary), size.layers, folder / "trained.ckpt")
    del config["data"]["dev"]  # or it would be translated too
    greedy = _run(python, "test", config | {"testing": config["testing"] | {"beam_size": 1}}, folder, threads)
    decoding = _run(python, "test", config, folder, threads)
    translations = list(read_lines(folder / "translations.test"))
    return Measurement(
        system="joeynmt 2.3",
        train_tokens_per_second=after_warm_up(_numbers(r"Tokens per Sec: +(\d+)", training)),
        decode_sentences_per_second=len(translations) / _generation_seconds(decoding),
        greedy_sentences_per_second=len(translations) / _generation_seconds(greedy),
        peak_memory_mib=high_water_mark(training),
        note=f"{updates} updates; decoding {high_water_mark(decoding):.0f} MiB, "
        f"{sum(len(line.split()) for line in translations) / len(translations):.1f} words a sentence",
    )


def make_environment(folder: Path) -> Path:
    """Return the Python of joeynmt's environment, with the same torch as ours; made if it is not there whole."""
    python = folder.resolve() / "bin/python"
    whole = folder / "complete"
    if not whole.exists():
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        # torch first: joeynmt takes any, and would bring the newest one.
        subprocess.run([*install, f"torch=={version('torch').split('+')[0]}"], check=True)
        subprocess.run([*install, *_REQUIREMENTS], check=True)
        whole.touch()
    return python


def _write_texts(corpus: Corpus, folder: Path, sentences: int) -> None:
    for part, limit in (("train", None), ("dev", None), ("test", sentences)):
        for language in (corpus.source, corpus.target):
            lines = _read_lines(corpus.folder / f"{part}.{language}")[:limit]
            (folder / f"{part}.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _read_lines(path: Path) -> list[str]:
    packed = path.with_name(f"{path.name}.xz")
    return list(read_lines(packed if packed.exists() else path))


def _learn_subwords(corpus: Corpus, folder: Path) -> Path:
    sentencepiece.SentencePieceTrainer.train(
        input=[str(folder / f"train.{language}") for language in (corpus.source, corpus.target)],
        model_prefix=str(folder / "subwords"),
        model_type="bpe",
        vocab_size=8000,
        character_coverage=1.0,
        minloglevel=2,
    )
    return folder / "subwords.model"


def _write_vocabulary(subwords: Path, trained: Trained | None, path: Path) -> None:
    """Write the types that joeynmt puts behind its own four special ones."""
    if trained:
        types = trained.vocabulary[4:]
    else:
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(subwords))
        plain = (i for i in range(len(pieces)) if not (pieces.is_control(i) or pieces.is_unknown(i)))
        types = [pieces.id_to_piece(i) for i in plain]
    path.write_text("".join(f"{piece}\n" for piece in types), encoding="utf-8")


def _config(corpus: Corpus, folder: Path, subwords: Path, updates: int, batch_tokens: int, size: Size) -> dict:
    def side(language: str) -> dict:
        return {
            "lang": language,
            "level": "bpe",
            "tokenizer_type": "sentencepiece",
            "tokenizer_cfg": {"model_file": str(subwords)},
            "voc_file": str(folder / "vocabulary.txt"),
        }

    half = {
        "type": "transformer",
        "num_layers": size.layers,
        "num_heads": size.heads,
        "embeddings": {"embedding_dim": size.d_model, "scale": True, "dropout": size.dropout},
        "hidden_size": size.d_model,
        "ff_size": size.feed_forward,
        "dropout": size.dropout,
        "layer_norm": "pre",
    }
    texts = {part: str(folder / part) for part in ("train", "dev", "test")}
    return {
        "name": "peer",
        "joeynmt_version": "2.3.0",
        "model_dir": str(folder / "model"),
        "use_cuda": False,
        "data": {**texts, "dataset_type": "plain", "src": side(corpus.source), "trg": side(corpus.target)},
        "model": {"encoder": half, "decoder": half, "tied_embeddings": True, "tied_softmax": True},
        "training": {
            "optimizer": "adam",
            "scheduling": "warmupinversesquareroot",  # none is an error, and "plateau" fails on today's torch
            "learning_rate": 1e-3,
            "learning_rate_warmup": 400,
            "learning_rate_min": 0.0,
            "normalization": "tokens",
            "label_smoothing": LABEL_SMOOTHING,
            "clip_grad_norm": CLIP,
            "batch_size": batch_tokens,
            "batch_type": "token",
            "epochs": 1000,
            "updates": updates,
            "logging_freq": _LOG_EVERY,
            "validation_freq": _LOG_EVERY * 1_000_000,  # never: its time is not training's
            "overwrite": True,
        },
        "testing": {"beam_size": 5, "beam_alpha": 0.6, "batch_size": 64, "batch_type": "sentence"},
    }


def _run(python: Path, mode: str, config: dict, folder: Path, threads: int) -> str:
    """Run joeynmt, and return its log and the text of /proc/self/status at its end."""
    path = folder / f"{mode}.yaml"
    path.write_text(json.dumps(config))  # JSON is YAML
    output = ["--output-path", str(folder / "translations")] if mode == "test" else ["--skip-test"]
    finished = subprocess.run(
        [str(python), "-c", _RUNNER, mode, str(path), *output],
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    (folder / f"{mode}.log").write_text(finished.stdout, encoding="utf-8")
    if finished.returncode:
        raise RuntimeError(f"joeynmt {mode} failed; see {folder / f'{mode}.log'}")
    return finished.stdout


def _generation_seconds(log: str) -> float:
    return sum(_numbers(r"Generation took ([\d.]+)\[sec\]", log))


def _numbers(pattern: str, log: str) -> list[float]:
    return [float(number) for number in re.findall(pattern, log)]
