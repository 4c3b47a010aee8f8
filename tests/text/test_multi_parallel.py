"""Corpora of several languages into English, joined on identical English sentences."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from nmtlab.cli.main import app
from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import normalise
from nmtlab.text.corpora.corpus import SPLITS, ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.multi_parallel import join_languages

DATA = Path(__file__).parents[2].parent / "shared/data"


def corpus(folder: Path, code: str, **splits: list[tuple[str, str]]) -> ParallelCorpus:
    folder.mkdir(parents=True)
    for split, pairs in splits.items():
        for language, side in ((code, 0), ("en", 1)):
            write_lines(folder / f"{split}.{language}", [pair[side] for pair in pairs])
    return ParallelCorpus(folder, code, "en")


def said(code: str, *words: str) -> list[tuple[str, str]]:
    return [(f"{code} {word}", word) for word in words]


def lines(folder: Path, split: str, *codes: str) -> list[tuple[str, ...]]:
    texts = [(folder / f"{split}.{code}").read_text(encoding="utf-8").splitlines() for code in codes]
    return list(zip(*texts, strict=True))


def test_line_n_means_the_same_in_every_language_and_new_directions_open(tmp_path):
    gl = corpus(tmp_path / "gl", "gl", train=said("gl", "a", "b", "c"), test=said("gl", "x", "y", "z"))
    pt = corpus(tmp_path / "pt", "pt", train=said("pt", "c", "a", "d"), test=said("pt", "z", "x"))
    report = join_languages(tmp_path / "all", [gl, pt])
    assert lines(tmp_path / "all", "train", "gl", "pt", "en") == [("gl a", "pt a", "a"), ("gl c", "pt c", "c")]
    zero_shot = ParallelCorpus.open(tmp_path / "all", "pt", "gl")
    assert list(zero_shot.pairs("test")) == [("pt x", "gl x"), ("pt z", "gl z")]
    assert zero_shot.splits == ("train", "test")
    assert report.kept == {"train": 2, "dev": 0, "test": 2}
    assert report.dropped["train"] == {"target sentence not in all": 2}
    assert report.dropped["test"] == {"target sentence not in all": 1}
    assert report.read == 7
    assert report.options["languages"] == ["gl", "pt", "en"]


def test_the_first_translation_is_taken_and_blanks_and_repetitions_are_counted(tmp_path):
    gl = corpus(tmp_path / "gl", "gl", test=[("", "a"), ("un", "a"), ("outro", "a"), ("dous", "b"), ("tres", "c")])
    pt = corpus(tmp_path / "pt", "pt", test=[("um", "a"), ("dois", "B"), ("  ", "c"), ("três", "")])
    report = join_languages(tmp_path / "all", [gl, pt])
    assert lines(tmp_path / "all", "test", "gl", "pt", "en") == [("un", "um", "a")]
    assert report.options["dropped_pairs"] == {
        "gl test": {"blank side": 1, "duplicate": 1},
        "pt test": {"blank side": 2},
    }
    assert report.dropped["test"] == {"target sentence not in all": 3}  # b, B and c
    saved = json.loads((tmp_path / "all/import.json").read_text(encoding="utf-8"))
    assert (saved["kind"], saved["origin"], saved["read"]) == ("join", {"parts": ["gl", "pt"]}, 4)
    assert saved["options"]["dropped_pairs"] == report.options["dropped_pairs"]


def test_a_line_of_train_falls_if_any_language_has_it_in_dev_or_test(tmp_path):
    gl = corpus(tmp_path / "gl", "gl", train=said("gl", "a", "b", "c"), dev=[("D", "d"), ("e", "E")], test=[("x", "y")])
    pt = corpus(
        tmp_path / "pt", "pt", train=[("pt A", "a"), ("p", "b"), ("pt c", "c")], dev=[("pt  a", "d"), ("pt", "E")],
        test=[("pt x", "y")],
    )  # fmt: skip
    report = join_languages(tmp_path / "all", [gl, pt])
    assert lines(tmp_path / "all", "train", "en") == [("b",), ("c",)]
    assert report.dropped["train"] == {"sentence of dev or test": 1}


words = st.sampled_from("a b c d e f A".split())
texts = st.lists(st.tuples(words, words), min_size=1, max_size=8)


@settings(max_examples=40)
@given(texts, texts, texts, texts, texts, texts, st.integers(0, 3))
def test_whatever_is_joined_it_is_what_a_plain_search_finds(tmp_path_factory, a, b, c, d, e, f, most):
    folder = tmp_path_factory.mktemp("join")
    english = [[(f"gl{one}", two) for one, two in text] for text in (a, b, c)]
    others = [[(f"pt{one}", two) for one, two in text] for text in (d, e, f)]
    gl, pt = (
        corpus(folder / code, code, **dict(zip(SPLITS, given, strict=True)))
        for code, given in (("gl", english), ("pt", others))
    )
    both = zip(english, others, strict=True)
    if not any({two for _, two in one} & {two for _, two in other} for one, other in both):
        with pytest.raises(CorpusError, match="is in all of them"):
            join_languages(folder / "all", [gl, pt], {"train": most})
        return
    report = join_languages(folder / "all", [gl, pt], {"train": most})
    held_out: set[str] = set()
    for number, split in reversed(list(enumerate(SPLITS))):
        pairs = [{two: one for one, two in reversed(text[number])} for text in (english, others)]
        expected = [(pairs[0][word], pairs[1][word], word) for word in pairs[0] if word in pairs[1]]
        expected = [line for line in expected if not {normalise(side) for side in line} & held_out]
        held_out |= {normalise(side) for line in expected for side in line}
        found = lines(folder / "all", split, "gl", "pt", "en") if report.kept[split] else []
        assert len(found) == report.kept[split]
        if split == "train" and most:
            assert set(found) <= set(expected)
            assert len(found) == min(most, len(expected))
        else:
            assert sorted(found) == sorted(expected)


def test_a_smaller_selection_is_part_of_a_larger_one(tmp_path):
    numbers = [str(number) for number in range(60)]
    parts = [corpus(tmp_path / code, code, test=said(code, *numbers)) for code in ("gl", "pt", "es")]
    few, many = (tmp_path / name for name in ("few", "many"))
    report = join_languages(few, parts, {"test": 10})
    join_languages(many, parts, {"test": 30})
    assert report.dropped["test"] == {"more than wanted": 50}
    chosen = [lines(folder, "test", "gl", "pt", "es", "en") for folder in (few, many)]
    assert [len(some) for some in chosen] == [10, 30]
    assert set(chosen[0]) < set(chosen[1])
    assert [int(line[-1]) for line in chosen[1]] == sorted(int(line[-1]) for line in chosen[1])


def test_what_cannot_be_joined_is_named_and_nothing_is_left_behind(tmp_path):
    gl = corpus(tmp_path / "gl", "gl", test=said("gl", "a"))
    pt = corpus(tmp_path / "pt", "pt", test=said("pt", "b"))
    more = corpus(tmp_path / "more", "gl", test=said("gl", "a"))
    for parts, problem in (
        ([gl], "1 corpora to join; name two or more"),
        ([gl, pt], "gl, pt: no en sentence is in all of them; join corpora that translate the same text"),
        ([gl, pt, more], r"more: gl to en, as .*gl, but others differ; join the corpora of each two languages first"),
        ([gl, ParallelCorpus(pt.folder, "en", "pt")], r"pt: en to pt, but .*gl is gl to en; join corpora of the same"),
    ):
        with pytest.raises(CorpusError, match=problem):
            join_languages(tmp_path / "all", parts)
    with pytest.raises(CorpusError, match="dev is -1"):
        join_languages(tmp_path / "all", [gl, pt], {"dev": -1})
    with pytest.raises(CorpusError, match="gl: already exists"):
        join_languages(tmp_path / "gl", [gl, pt])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gl", "more", "pt"]


def test_the_command_joins_languages_that_differ_and_shows_the_next_step(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NMTLAB_CORPORA", str(tmp_path))
    corpus(tmp_path / "gl-en", "gl", test=said("gl", "a", "b", "a"))
    corpus(tmp_path / "pt-en", "pt", test=said("pt", "b", "a"))
    result = CliRunner().invoke(app, ["corpus", "join", "together", "gl-en", "pt-en", "--test", "1"])
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "together: gl, pt, en" in output
    assert "dropped from test │ more than wanted │ 1" in output
    assert "not read: 1 duplicate in gl-en test" in output
    assert output.endswith("next: nmtlab corpus stats together --source gl --target pt")
    assert ParallelCorpus.open(tmp_path / "data/corpora/together", "gl", "pt").check() == {"test": 1}


@pytest.mark.full
@pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")
@pytest.mark.parametrize(("codes", "common"), [(("gl", "pt", "es"), 577), (("tr", "uz", "ug"), 63)])
def test_real_corpora_of_related_languages_have_a_common_test_set(tmp_path, codes, common):
    parts = [ParallelCorpus.open(DATA / f"libreoffice-{code}-en") for code in codes]
    report = join_languages(tmp_path / "all", parts)
    assert report.kept["test"] == common
    for source, target in ((codes[0], codes[1]), (codes[2], codes[0]), ("en", codes[1])):
        assert ParallelCorpus.open(tmp_path / "all", source, target).check() == report.kept
