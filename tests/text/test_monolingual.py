import json
from pathlib import Path

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.checks.inspection import check_texts, held_out_among
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus, open_monolingual, sampled
from nmtlab.text.importers.mono import import_mono
from nmtlab.workspace import Workspace

LINES = [f"line {number}" for number in range(50)]


def text_in(workspace: Workspace, name: str, **sides: list[str]) -> Path:
    folder = workspace.data / "corpora" / name
    for language, lines in sides.items():
        write_lines(folder / f"train.{language}", lines)
    return folder


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_text_is_the_same_in_every_compression(tmp_path, ending):
    write_lines(tmp_path / f"train.en{ending}", LINES)
    text = MonolingualCorpus(tmp_path, "en")
    assert list(text.lines()) == LINES
    assert text.count() == 50
    write_lines(tmp_path / "plain" / "train.en", LINES)
    assert text.checksum() == MonolingualCorpus(tmp_path / "plain", "en").checksum()
    write_lines(tmp_path / "other" / "train.en", LINES[1:])
    assert text.checksum() != MonolingualCorpus(tmp_path / "other", "en").checksum()


def test_one_side_of_a_parallel_corpus_is_monolingual_text(workspace):
    text_in(workspace, "pairs", gl=["unha"], en=["one"])
    assert list(open_monolingual("pairs:gl", workspace).lines()) == ["unha"]
    with pytest.raises(CorpusError, match="corpus 'pairs': has text in en, gl; name one of them, as pairs:en"):
        open_monolingual("pairs", workspace)
    with pytest.raises(CorpusError, match=r"no train\.pt; choose a language from en, gl"):
        open_monolingual("pairs:pt", workspace)


def test_text_of_other_splits_is_not_called_another_language(workspace):
    write_lines(text_in(workspace, "pairs", gl=["unha"]) / "test.en", ["one"])
    with pytest.raises(CorpusError, match=r"no train\.en, but other splits; choose a corpus with training text"):
        open_monolingual("pairs:en", workspace)


def test_a_corpus_in_one_language_needs_no_code(workspace):
    text_in(workspace, "news", en=LINES)
    assert open_monolingual("news", workspace) == open_monolingual("news:en", workspace)


@pytest.mark.parametrize("languages", [(), ("gl", "en")])
def test_where_pairs_are_needed_monolingual_text_is_refused(workspace, languages):
    text_in(workspace, "news", en=LINES)
    with pytest.raises(CorpusError, match="monolingual text in en, but sentence pairs are needed; translate it"):
        open_corpus("news", workspace, *languages)
    assert workspace.corpus_names() == []
    assert [folder.name for folder in workspace.corpus_folders()] == ["news"]


def test_an_import_drops_blank_long_and_repeated_lines_and_counts_them(tmp_path):
    write_lines(tmp_path / "one.txt", ["a b", "", "a b c", " \u200b"])
    write_lines(tmp_path / "two.txt.xz", ["c", "a b", "d" * 201])
    report = import_mono(tmp_path / "text", [tmp_path / "one.txt", tmp_path / "two.txt.xz"], "en", max_words=2)
    assert list(MonolingualCorpus(tmp_path / "text", "en").lines()) == ["a b", "c"]
    assert report.read == 7
    written = json.loads((tmp_path / "text" / "import.json").read_text())
    assert written["kind"] == "mono"
    assert written["dropped"]["train"] == {"blank line": 2, "too long": 2, "duplicate": 1}
    assert written["kept"] == {"train": 2}
    assert written["origin"] == {"files": ["one.txt", "two.txt.xz"]}
    assert written["checksum"] == MonolingualCorpus(tmp_path / "text", "en").checksum()


def test_a_draw_of_lines_keeps_their_order_and_is_part_of_a_larger_one(tmp_path):
    write_lines(tmp_path / "lines.txt", LINES)
    drawn = {}
    for size in (10, 20):
        import_mono(tmp_path / f"{size}", [tmp_path / "lines.txt"], "en", limit=size)
        drawn[size] = list(MonolingualCorpus(tmp_path / f"{size}", "en").lines())
        assert drawn[size] == [line for line in LINES if line in set(drawn[size])]
        assert len(drawn[size]) == size
    assert set(drawn[10]) < set(drawn[20])
    assert list(sampled(LINES, 50, 10, seed=2)) != drawn[10]
    assert list(sampled(LINES, 50, 80, seed=2)) == LINES


def test_an_import_without_a_line_leaves_no_folder(tmp_path):
    write_lines(tmp_path / "blank.txt", ["", " "])
    with pytest.raises(CorpusError, match="text: all 2 lines were dropped, 2 blank line"):
        import_mono(tmp_path / "text", [tmp_path / "blank.txt"], "en")
    write_lines(tmp_path / "empty.txt", [])
    with pytest.raises(CorpusError, match="text: there are no lines in the files; give more text"):
        import_mono(tmp_path / "text", [tmp_path / "empty.txt"], "en")
    assert not (tmp_path / "text").exists()


def test_sentences_of_dev_and_test_are_counted_among_lines(workspace):
    folder = text_in(workspace, "pairs", gl=["a"], en=["b"])
    for split, lines in (("dev", ["One", "two"]), ("test", ["three", "four"])):
        write_lines(folder / f"{split}.en", lines)
        write_lines(folder / f"{split}.gl", ["x", "y"])
    corpora = [ParallelCorpus.open(folder), ParallelCorpus.open(folder, "en", "gl")]
    assert held_out_among(["one", "two", "three", "five"], "en", corpora) == {"dev": 2, "test": 1}
    assert held_out_among(["x"], "gl", corpora) == {"dev": 1, "test": 1}
    assert not held_out_among(["b", "five"], "en", corpora)
    assert not held_out_among(["one"], "pt", corpora)


def test_a_training_refuses_synthetic_pairs_with_a_target_of_dev(workspace):
    folder = text_in(workspace, "pairs", gl=["a"], en=["b"])
    write_lines(folder / "dev.gl", ["x"])
    write_lines(folder / "dev.en", ["one"])
    made = text_in(workspace, "made", gl=["other", "x"], en=["One", "two"])
    corpora = [ParallelCorpus.open(folder), ParallelCorpus.open(made)]
    assert check_texts(corpora)[1] == {}  # as ever: pairs are compared
    write_lines(made / "import.json", [json.dumps({"kind": "translated", "synthetic": "gl"})])
    with pytest.raises(CorpusError, match="1 en sentence of dev is in the training text of another corpus"):
        check_texts(corpora)
    assert check_texts(corpora, allow_overlap=True)[1] == {"dev (target side, in another corpus)": 1}
    reversed_too = [*corpora, ParallelCorpus.open(folder, "en", "gl")]
    write_lines(made / "train.en", ["three", "two"])
    assert check_texts(reversed_too)[1] == {}  # that the system wrote "x" itself is no leak


@pytest.mark.parametrize("language", ["", "../en"])
def test_a_language_that_is_no_code_is_refused(tmp_path, language):
    write_lines(tmp_path / "lines.txt", LINES)
    with pytest.raises(CorpusError, match="not a language code"):
        import_mono(tmp_path / "text", [tmp_path / "lines.txt"], language)


def test_parts_of_a_sample_share_no_line_until_all_are_used_up():
    lines = list(map(str, range(10)))
    first, second, third, fourth = (list(sampled(lines, 10, 4, 1, part)) for part in range(4))
    assert first == list(sampled(lines, 10, 4, 1))
    assert not {*first} & {*second}
    assert {*first, *second, *third} == {*lines}
    assert [len(part) for part in (first, second, third, fourth)] == [4] * 4
    assert list(sampled(lines, 10, 40, 1, 3)) == lines
