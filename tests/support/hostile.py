"""Text and names that bite: markup, letters read from right to left, a token that does not end."""

from pathlib import Path

from nmtlab.text.corpora.corpus import ParallelCorpus

BROKEN = "<img src=x onerror=alert(2)>"
"""Name of a folder that is not a run."""

SCRIPT, IMAGE = "<script>alert(1)</script>", "<img src=x onerror=alert(1)>"
LONG = "x" * 10_000
HOSTILE = [
    (f"{SCRIPT} hund sieht", f"{SCRIPT} dog sees"),
    (f"hund {IMAGE}", f"dog {IMAGE}"),
    ("كلب يرى القط", "the dog sees a cat"),
    ("כלב רואה חתול", "a dog sees the cat"),
    ("நாய் பூனையைப் பார்க்கிறது", "the dog sees the cat"),
    ("犬 が 猫 を 見る 。", "犬 sees the cat ."),
    (f"hund {LONG}", f"dog {LONG}"),
    ("\"a\" & 'b' <b>fett</b> &lt;i&gt;", "\"a\" & 'b' <b>bold</b> &lt;i&gt;"),
    ("\\(x^2\\) $y$ %{z} {{ 1 }}", "\\(x^2\\) $y$ %{z} {{ 1 }}"),
]
"""Lines that are markup, are read from right to left, or do not end."""

TINY = [
    "text.segmentation=word", "text.vocabulary_size=0", "model.d_model=16", "model.d_ff=32", "model.heads=2",
    "model.encoder_layers=2", "model.decoder_layers=2", "training.batch_tokens=200", "training.validate_every=20",
    "training.max_evaluations=3", "training.warmup_updates=20", "machine.threads=1", "machine.device=cpu",
]  # fmt: skip


def write_hostile_corpus(folder: Path) -> ParallelCorpus:
    """Write a corpus of simple and of hostile lines; none of training is in dev or test too."""
    simple = [("hund sieht katze", "dog sees cat"), ("katze sieht haus", "cat sees house"), ("rot haus", "red house")]
    seen = [(f"{source} alt", f"{target} old") for source, target in (*20 * simple, *HOSTILE)]
    folder.mkdir(parents=True)
    for split, pairs in (("train", seen), ("dev", HOSTILE + simple), ("test", simple + HOSTILE)):
        for side, language in enumerate(("de", "en")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{split}.{language}").write_text(lines, encoding="utf-8")
    return ParallelCorpus.open(folder, "de", "en")
