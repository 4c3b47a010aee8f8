"""The text of an experiment is made once under its name, and checked against its declaration afterwards."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import Directed, FirstPairs, NoisyCorpus, backwards, in_direction
from nmtlab.grids.declared.whole_corpora import (
    ConcatenatedCorpus,
    ExternalCorpus,
    MultiParallelCorpus,
    SyntheticCorpus,
    SyntheticFamily,
)
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.text.corpora.lines import write_lines
from nmtlab.workspace import Workspace

GROWN = SyntheticCorpus("little-qaa-en", "qaa", ArtificialSettings(vocabulary=100, names=2), train=20, dev=4, test=3)
JOINED = ConcatenatedCorpus("little-uz-en", "uz", "en", ("news", "tales"), train=5, dev=1, test=0)
LINED_UP = MultiParallelCorpus("little-gl-pt", "gl", "pt", ("tales-gl", "tales-pt"), dev=1)
_LITTLE = {"vocabulary": 100, "names": 2}
RELATIVES = (("qaa", ArtificialSettings(**_LITTLE)), ("qad", ArtificialSettings(**_LITTLE, cognates=0.0)))
GROWN_TOGETHER = SyntheticFamily("little-family", RELATIVES, train=20, dev=4, test=3)


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    """A workspace with corpora stored elsewhere: two from Uzbek, and the same text in two other languages."""
    for name in ("news", "tales"):
        folder = tmp_path / "elsewhere" / name
        folder.mkdir(parents=True)
        for split, size in (("train", 6), ("dev", 2)):
            for language in ("uz", "en"):
                write_lines(folder / f"{split}.{language}", [f"{name} {split} {language} {n}" for n in range(size)])
    for code in ("gl", "pt"):
        folder = tmp_path / "elsewhere" / f"tales-{code}"
        folder.mkdir()
        for split, size in (("train", 6), ("dev", 2)):
            for language in (code, "en"):
                write_lines(folder / f"{split}.{language}", [f"tales {split} {language} {n}" for n in range(size)])
    return Workspace(tmp_path / "data", (tmp_path / "elsewhere",))


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


MADE = {"grown": GROWN, "joined": JOINED, "lined up": LINED_UP, "grown together": GROWN_TOGETHER}


@pytest.mark.parametrize("corpus", [*MADE.values(), *map(backwards, MADE.values())], ids=lambda corpus: corpus.name)
def test_a_corpus_is_made_once_and_found_again(corpus, workspace):
    first = corpus.open(workspace)
    made = times(first.folder)
    assert first.folder == workspace.data / "corpora" / corpus.name
    assert (first.source, first.target) == (corpus.source, corpus.target)
    assert corpus.open(workspace) == first
    assert times(first.folder) == made
    assert [path.name for path in first.folder.parent.iterdir()] == [corpus.name]


def test_the_numbers_of_pairs_are_those_declared(workspace):
    assert GROWN.open(workspace).check() == {"train": 20, "dev": 4, "test": 3}
    assert JOINED.open(workspace).check() == {"train": 5, "dev": 1}
    assert LINED_UP.open(workspace).check() == {"train": 6, "dev": 1}
    assert GROWN_TOGETHER.open(workspace).check() == {"train": 20, "dev": 4, "test": 3}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(JOINED, train=6), "made with train = 5 instead of 6"),
        (replace(JOINED, skip=2), "made with skip = 0 instead of 2"),
        (
            replace(JOINED, parts=("tales", "news")),
            r"made with parts = \['news', 'tales'\] instead of \['tales', 'news'\]",
        ),
        (replace(LINED_UP, dev=2), "made with dev = 1 instead of 2"),
        (
            replace(LINED_UP, parts=("tales-pt", "tales-gl")),
            r"made with parts = \['tales-gl', 'tales-pt'\] instead of \['tales-pt', 'tales-gl'\]",
        ),
        (replace(GROWN_TOGETHER, start=9), "made with start = 0 instead of 9"),
        (
            replace(GROWN_TOGETHER, relatives=(RELATIVES[0], ("qad", RELATIVES[0][1]))),
            r"made with qad: cognates = 0\.0 instead of 1\.0",
        ),
        (replace(GROWN_TOGETHER, relatives=RELATIVES[:1]), r"made with languages = \['qaa', 'qad'\] instead of"),
    ],
)
def test_a_corpus_made_otherwise_is_not_taken_for_it(workspace, other, said):
    folder = next(corpus for corpus in MADE.values() if corpus.name == other.name).open(workspace).folder
    with pytest.raises(CorpusError, match=rf"corpus '{other.name}': {said}.*; rename or remove .*{other.name}, and"):
        other.open(workspace)
    assert folder.exists()


def test_the_pairs_after_the_first_are_a_corpus_too(workspace):
    first = replace(JOINED, name="first", train=2).open(workspace)
    rest, whole = (replace(JOINED, name=name, train=0, skip=skip) for name, skip in (("rest", 2), ("whole", 0)))
    parts = [*first.pairs("train"), *rest.open(workspace).pairs("train")]
    assert sorted(parts) == sorted(whole.open(workspace).pairs("train"))
    assert first.count("train") == 2
    with pytest.raises(CorpusError, match="made with skip = 2 instead of 0"):
        replace(rest, skip=0).open(workspace)


def test_a_language_grown_otherwise_is_not_taken_for_it(workspace):
    GROWN.open(workspace)
    with pytest.raises(CorpusError, match=r"little-qaa-en.*made with ambiguity = 0\.0 instead of 0\.5; rename"):
        replace(GROWN, settings=ArtificialSettings(vocabulary=100, names=2, ambiguity=0.5)).open(workspace)


def test_a_folder_that_no_experiment_made_is_left_alone(workspace):
    (workspace.data / "corpora/little-uz-en").mkdir(parents=True)
    with pytest.raises(CorpusError, match=r"'little-uz-en': its import\.json is missing.*; rename or remove"):
        JOINED.open(workspace)
    (workspace.data / "corpora/little-uz-en/import.json").write_text(json.dumps({"kind": "text"}), encoding="utf-8")
    with pytest.raises(CorpusError, match="made with parts = None"):
        JOINED.open(workspace)


def test_a_part_that_is_missing_is_named_and_the_remedy_with_it(workspace):
    corpus = replace(JOINED, parts=("news", "letters"))
    with pytest.raises(CorpusError, match=r"'little-uz-en': its part 'letters' was not found; .*NMTLAB_CORPORA"):
        corpus.open(workspace)
    assert not (workspace.data / "corpora").exists()


def test_a_corpus_in_another_direction_is_the_same_folder_and_a_name_for_two(workspace):
    reverse = backwards(JOINED)
    assert reverse == Directed(JOINED, "en", "uz")
    assert backwards(reverse) == in_direction(reverse, "uz", "en") == JOINED
    opened, other = JOINED.open(workspace), reverse.open(workspace)
    assert (other.folder, other.direction) == (opened.folder, ("en", "uz"))
    assert list(other.pairs("dev")) == [(target, source) for source, target in opened.pairs("dev")]
    assert reverse.name == JOINED.name
    far = in_direction(in_direction(GROWN_TOGETHER, "qad", "qaa"), "en", "qad").open(workspace)
    assert far.check() == {"train": 20, "dev": 4, "test": 3}
    with pytest.raises(CorpusError, match="no language 'fr'"):
        in_direction(JOINED, "uz", "fr").open(workspace)


def test_a_corpus_to_be_brought_is_found_or_asked_for(workspace):
    assert ExternalCorpus("news", "uz", "en").open(workspace).folder == workspace.more_corpora[0] / "news"
    with pytest.raises(
        CorpusError, match=r"'kftt-en-ja': not found.*; import it .*'nmtlab corpus import', from en to ja"
    ):
        ExternalCorpus("kftt-en-ja", "en", "ja").open(workspace)


def test_the_first_pairs_of_a_corpus_keep_its_dev_and_its_order(workspace):
    whole = ExternalCorpus("news", "uz", "en")
    first, all_pairs = FirstPairs(whole, 2).open(workspace), whole.open(workspace)
    assert list(first.pairs("train")) == list(all_pairs.pairs("train"))[:2]
    assert list(first.pairs("dev")) == list(all_pairs.pairs("dev"))
    made = times(first.folder)
    assert times(FirstPairs(whole, 2).open(workspace).folder) == made
    with pytest.raises(CorpusError, match="6 training pairs; choose at most 6"):
        FirstPairs(whole, 7).open(workspace)
    write_lines(all_pairs.folder / "train.uz", ["other"] * 6)
    with pytest.raises(CorpusError, match="'news-first-2': made with checksum"):
        FirstPairs(whole, 2).open(workspace)


def test_a_noisy_corpus_has_the_clean_pairs_first_and_is_made_once(workspace):
    noisy, clean = NoisyCorpus(GROWN, "copied-target", 0.2), GROWN.open(workspace)
    opened = noisy.open(workspace)
    assert (noisy.name, opened.direction) == ("little-qaa-en.copied-target-20", ("qaa", "en"))
    pairs = list(opened.pairs("train"))
    assert pairs[:20] == list(clean.pairs("train"))
    assert len(pairs) == 24
    assert all(source == target for source, target in pairs[20:])
    assert list(opened.pairs("test")) == list(clean.pairs("test"))
    made = times(opened.folder)
    assert times(noisy.open(workspace).folder) == made
    assert backwards(noisy).open(workspace).direction == ("en", "qaa")


def test_noise_drawn_otherwise_has_another_name_and_is_not_taken_for_it(workspace):
    noisy = NoisyCorpus(GROWN, "misaligned", 0.5)
    other = replace(noisy, seed=2)
    assert other.name == "little-qaa-en.misaligned-50.noise-2"
    assert [*other.open(workspace).pairs("train")] != [*noisy.open(workspace).pairs("train")]
    noisy.open(workspace).folder.rename(workspace.data / "corpora" / NoisyCorpus(GROWN, "short", 0.5).name)
    with pytest.raises(CorpusError, match="made with kind = 'misaligned' instead of 'short'; rename or remove"):
        NoisyCorpus(GROWN, "short", 0.5).open(workspace)


def test_noise_of_clean_text_that_has_changed_is_not_taken_for_that_of_the_new_one(workspace):
    noisy = NoisyCorpus(ExternalCorpus("news", "uz", "en"), "copied-source", 1.0)
    noisy.open(workspace)
    write_lines(workspace.more_corpora[0] / "news" / "train.uz", ["other"] * 6)
    with pytest.raises(CorpusError, match=r"'news\.copied-source-100': made with checksum"):
        noisy.open(workspace)


def test_noise_of_the_other_direction_is_not_taken_for_it(workspace):
    NoisyCorpus(GROWN, "copied-target", 0.5).open(workspace)
    with pytest.raises(CorpusError, match="made with source = 'qaa' instead of 'en'"):
        NoisyCorpus(backwards(GROWN), "copied-target", 0.5).open(workspace)


def test_noise_from_a_third_text_that_has_changed_is_not_taken_for_that_of_the_new_one(workspace):
    noisy = NoisyCorpus(JOINED, "wrong-language-target", 0.4, third=ExternalCorpus("tales-gl", "gl", "en"))
    noisy.open(workspace)
    write_lines(workspace.more_corpora[0] / "tales-gl" / "train.gl", ["other"] * 6)
    with pytest.raises(CorpusError, match="made with third_checksum"):
        noisy.open(workspace)


def test_noise_in_the_wrong_language_is_the_source_side_of_a_third_text(workspace):
    third = ExternalCorpus("tales-gl", "gl", "en")
    noisy = NoisyCorpus(JOINED, "wrong-language-target", 0.4, third=third)
    bad = list(noisy.open(workspace).pairs("train"))[5:]
    lines = {source for source, _ in third.open(workspace).pairs("train")}
    assert len(bad) == 2
    assert {target for _, target in bad} <= lines
    with pytest.raises(CorpusError, match=r"made with third = 'tales-gl:gl' instead of 'tales-pt:pt'"):
        replace(noisy, third=ExternalCorpus("tales-pt", "pt", "en")).open(workspace)
