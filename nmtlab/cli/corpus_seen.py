"""`nmtlab corpus stats --with RUN`: how a run's pipeline sees a text."""

from collections import Counter
from collections.abc import Sequence

from nmtlab.cli.answer import Answer, print_answer
from nmtlab.cli.tables import print_table
from nmtlab.runs.run import Run
from nmtlab.text.checks.seen import SeenSide, seen
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.extending import other_code

_MOST = 20
"""Letters and words that are listed, the most frequent ones."""

_REASONS = {
    "tag_known": "the run has no tags for this side",
    "pieces_per_word": "no words",
    "unknown": "no tokens",
    "unwritten": "only on the target side",
}


class SideSeen(Answer):
    """One language of one split as the run's pipeline sees it, in `CorpusSeen`."""

    split: str
    """`train`, `dev` or `test`."""
    side: str
    """`source` or `target`."""
    language: str
    """Its code."""
    language_known: bool
    """Whether it is a language of this side of the run."""
    tag_known: bool | None
    """Whether the run's pipeline has a tag for it."""
    words: int
    """White-space words."""
    tokens: int
    """Pieces of the run's pipeline."""
    pieces_per_word: float | None
    """Tokens per word."""
    unknown: float | None
    """Share of the tokens that become UNK, 0 to 1."""
    unwritten: float | None
    """Share of the tokens that the run can read but not generate, as they are outside its mask, 0 to 1."""
    letters: dict[str, int]
    """The most frequent letters without a type, for which tokens become UNK, with their counts."""
    unknown_words: dict[str, int]
    """The most frequent words with a token that becomes UNK, with their counts."""


class CorpusSeen(Answer):
    """What `nmtlab corpus stats --with RUN --json` prints."""

    name: str
    """Of the corpus."""
    run: str
    """Name of the run."""
    sides: list[SideSeen]
    """By split, source and target."""


def print_seen(run: Run, corpus: ParallelCorpus, as_json: bool) -> None:
    """Print how the pipeline of a run sees each split of a corpus."""
    sides = [(split, side) for split in corpus.splits for side in seen(run.pipeline, corpus, split)]
    if as_json:
        print_answer(CorpusSeen(name=corpus.name, run=run.name, sides=[_answer(*one) for one in sides]))
        return
    columns = ["split", "language", "words", "tokens", "pieces per word", "UNK", "read only"]
    rows = [[split, side.language, f"{side.words:,}", f"{side.tokens:,}", *_shares(side)] for split, side in sides]
    print_table(f"{corpus.name} as {run.name} sees it", columns, rows, set(columns[2:]))
    for split, side in sides:
        for note in _notes(side, run) if split == corpus.splits[0] else []:
            print(note)
    if added := _additions([side for split, side in sides if split == "train"], run):
        print(f"next: nmtlab train {corpus.name} --from {run.name}{added}")


def _additions(sides: Sequence[SeenSide], run: Run) -> str:
    """Return the options of a training that add what a run lacks; none if it cannot have the languages of the text."""
    untagged = [side.language for side in sides if side.tag is False]
    if len(untagged) > 1 or any(other_code(run.pipeline, language) for language in untagged):
        return ""  # files of other names come first
    if any(not side.known and side.tag is not False for side in sides):
        return ""
    tags = "".join(f" --add-tag {language} --like LANGUAGE" for language in untagged)
    return " --add-letters" * any(side.letters for side in sides) + tags


def _answer(split: str, side: SeenSide) -> SideSeen:
    return SideSeen.of(
        _REASONS,
        split=split,
        side=side.side,
        language=side.language,
        language_known=side.known,
        tag_known=side.tag,
        words=side.words,
        tokens=side.tokens,
        pieces_per_word=side.tokens / side.words if side.words else None,
        unknown=side.unknown / side.tokens if side.tokens else None,
        unwritten=side.unwritten / side.tokens if side.tokens and side.side == "target" else None,
        letters=dict(side.letters.most_common(_MOST)),
        unknown_words=dict(side.unknown_words.most_common(_MOST)),
    )


def _shares(side: SeenSide) -> list[str]:
    if not side.tokens:
        return ["", "", ""]
    unwritten = f"{side.unwritten / side.tokens:.2%}" if side.side == "target" else ""
    return [f"{side.tokens / side.words:.2f}", f"{side.unknown / side.tokens:.2%}", unwritten]


def _notes(side: SeenSide, run: Run) -> list[str]:
    """Return what is to be said of a side besides its shares."""
    does = "reads" if side.side == "source" else "writes"
    tag = {True: "; it has a tag for it", False: "; it has no tag for it: --add-tag gives it one", None: ""}[side.tag]
    if code := other_code(run.pipeline, side.language) if side.tag is False else "":
        tag = f"; it calls it {code}: name the files of the text so (train.{code}), or --add-tag gives it a tag"
    notes = [] if side.known else [f"{side.language}: not a language that {run.name} {does}{tag}"]
    notes += [f"{side.language}: a letter without a type becomes its bytes, never UNK"] if side.has_bytes else []
    for what, found in (("letters without a type", side.letters), ("words that become UNK", side.unknown_words)):
        notes += [f"{side.language}: {what}: {_listed(found)}"] if found else []
    return notes


def _listed(found: Counter[str]) -> str:
    most = ", ".join(f"{one} ({count:,})" for one, count in found.most_common(_MOST))
    return f"{most} and {len(found) - _MOST:,} more" if len(found) > _MOST else most
