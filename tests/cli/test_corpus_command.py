import csv
import io
import sys

import polib
import pytest
from typer.testing import CliRunner

from nmtlab.cli.main import app
from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines


@pytest.fixture
def data(tmp_path, monkeypatch):
    """The workspace's data folder; the current folder is beside it and has uz.txt, en.txt and both in pairs.tsv."""
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("NMTLAB_CORPORA", raising=False)
    monkeypatch.chdir(tmp_path)
    uz, en = [f"{n} gap" for n in range(200)], [f"sentence {n}" for n in range(200)]
    write_lines(tmp_path / "uz.txt", [*uz, "", *uz[:7]])
    write_lines(tmp_path / "en.txt", [*en, "blank", *en[:7]])
    write_lines(tmp_path / "pairs.tsv", ["id\tuz\ten", *(f"1\t{a}\t{b}" for a, b in zip(uz, en, strict=True))])
    return tmp_path / "data"


def _run(*arguments):
    return CliRunner().invoke(app, ["corpus", *map(str, arguments)])


def _said(*arguments):
    result = _run(*arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def _problem(*arguments):
    result = _run(*arguments)
    assert isinstance(result.exception, CorpusError), result.output
    return str(result.exception)


def test_importing_text_says_what_was_kept_dropped_and_what_comes_next(data):
    said = _said("import", "text", "small", "uz.txt", "en.txt", "--source", "uz", "--target", "en", "--dev", 20)
    corpus = ParallelCorpus.open(data / "corpora" / "small")
    counts = corpus.check()
    assert counts["dev"] == 20
    assert sum(counts.values()) == 200
    assert "small: uz to en" in said
    assert "read │ │ 208" in said
    assert "dropped from input │ duplicate │ 7" in said
    assert "dropped from input │ blank side │ 1" in said
    assert f"train │ │ {counts['train']}" in said
    assert f"written to {data / 'corpora' / 'small'}" in said
    assert said.endswith("next: nmtlab corpus stats small, then nmtlab train small")


def test_the_options_of_cleaning_and_splitting_are_handed_on(data):
    write_lines(data.parent / "long.txt", ["a " * 9, "a a a", "a", *(str(n) for n in range(30))])
    write_lines(data.parent / "short.txt", ["b", "b", "b", *("c" for _ in range(30))])
    said = _said(
        *("import", "text", "small", "long.txt", "short.txt", "--source", "uz", "--target", "en"),
        *("--max-words", 5, "--max-ratio", 2, "--dev", 0.9, "--test", 0, "--max-held-out", 3, "--split-by", "source"),
    )
    assert "too long │ 1" in said
    assert "length ratio │ 1" in said
    assert "dev │ │ 3" in said


def test_a_corpus_without_dev_is_pointed_out(data):
    said = _said(
        *("import", "text", "small", "uz.txt", "en.txt", "--source", "uz", "--target", "en", "--dev", 0, "--test", 0)
    )
    assert "there is no dev set" in said
    assert "--dev 100" in said


def test_dev_and_test_files_of_their_own_are_taken(data):
    write_lines(data.parent / "a", ["7 gap"])
    write_lines(data.parent / "b", ["another sentence"])
    said = _said(
        *("import", "text", "small", "uz.txt", "en.txt", "--source", "uz", "--target", "en"),
        *("--dev-files", "a", "b", "--test-files", "b", "a"),
    )
    assert "dropped from train │ sentence of dev or test │ 1" in said
    corpus = ParallelCorpus.open(data / "corpora" / "small")
    assert list(corpus.pairs("dev")) == [("7 gap", "another sentence")]
    assert list(corpus.pairs("test")) == [("another sentence", "7 gap")]


def test_importing_tsv_by_name_of_column(data):
    columns = ("--source-column", "uz", "--target-column", "en")
    said = _said("import", "tsv", "small", "pairs.tsv", "--source", "uz", "--target", "en", *columns)
    assert "read │ │ 200" in said
    assert "line 1: no column 'tr'; choose --source-column from id, uz, en" in _problem(
        *("import", "tsv", "other", "pairs.tsv", "--source", "uz", "--target", "en", "--source-column", "tr")
    )


def test_the_first_pairs_are_shown(data):
    said = _said("import", "tsv", "small", "pairs.tsv", "--source", "uz", "--target", "en", "--dev", 0, "--test", 0)
    assert "the first pairs of train: uz: 0 gap en: sentence 0 uz: 1 gap en: sentence 1" in said


IMPORT = ("import", "text", "small", "uz.txt", "en.txt", "--source", "uz", "--target", "en")


def test_a_corpus_is_replaced_when_the_new_one_is_complete(data):
    _said(*IMPORT)
    before = ParallelCorpus.open(data / "corpora/small").checksum()
    assert "gone.txt: not found" in _problem(*IMPORT[:3], "gone.txt", *IMPORT[4:], "--replace")
    assert ParallelCorpus.open(data / "corpora/small").checksum() == before
    write_lines(data.parent / "uz.txt", ["bir", "ikki"])
    write_lines(data.parent / "en.txt", ["one", "two"])
    _said(*IMPORT, "--replace", "--dev", 0, "--test", 0)
    assert list(ParallelCorpus.open(data / "corpora/small").pairs("train")) == [("bir", "one"), ("ikki", "two")]
    assert [path.name for path in (data / "corpora").iterdir()] == ["small"]


def test_corpora_are_listed_with_their_place(data, monkeypatch):
    assert _said("list") == "no corpora yet; 'nmtlab corpus import' or 'nmtlab corpus make' makes some"
    _said(*IMPORT, "--dev", 20, "--test", 0)
    (data.parent / "more" / "x").mkdir(parents=True)
    write_lines(data.parent / "more" / "x" / "test.de.gz", ["a", "b"])
    monkeypatch.setenv("NMTLAB_CORPORA", str(data.parent / "more"))
    listed = [[cell.strip() for cell in line.split("│")] for line in _run("list").output.splitlines()]
    assert ["", "small", "en, uz", "180", "20", "-", "workspace", ""] in listed
    assert any(row[1:6] == ["x", "de", "-", "-", "2"] for row in listed)


def test_a_corpus_is_removed_after_confirmation(data):
    _said(*IMPORT)
    result = CliRunner().invoke(app, ["corpus", "remove", "small"], input="n\n")
    assert "kept small" in result.output
    assert _said("remove", "small", "--yes") == "removed small"
    assert list((data / "corpora").iterdir()) == []
    assert "corpus 'small': not in" in _problem("remove", "small")


@pytest.mark.parametrize("status", ["training", "stopped"])
def test_a_corpus_in_use_is_not_removed_or_replaced_unseen(data, monkeypatch, status):
    from types import SimpleNamespace

    from nmtlab.runs import listing

    _said(*IMPORT)
    recipe = SimpleNamespace(corpora=[SimpleNamespace(name="small")])
    runs = [SimpleNamespace(name="one", status=status, origin=SimpleNamespace(packed=None), recipe=recipe)]
    monkeypatch.setattr(listing, "list_runs", lambda workspace: (runs, {}))
    if status == "training":
        for words in (("remove", "small", "--yes"), (*IMPORT, "--replace")):
            assert "corpus 'small': run 'one' is being trained on it; stop it, or wait" in _problem(*words)
        return
    result = CliRunner().invoke(app, ["corpus", "remove", "small"], input="y\n")
    assert "remove corpus small; without it, these runs cannot be resumed: one? [y/N]" in result.output
    assert result.output.endswith("removed small\n")


def test_a_folder_here_is_named_as_a_path(data):
    (data.parent / "c3").mkdir()
    assert "corpus 'c3': not found" in _problem("stats", "c3")
    assert _problem("stats", "c3").endswith("; give ./c3 for the folder here")


def test_importing_catalogues(data):
    catalogue = polib.POFile()
    catalogue.extend(polib.POEntry(msgid=f"_File {n}", msgstr=f"_Dosya {n}") for n in range(60))
    folder = data.parent / "locale" / "tr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    catalogue.save_as_mofile(str(folder / "a.mo"))
    assert "small: tr to en" in _said("import", "gettext", "small", "locale", "--language", "tr")
    assert next(ParallelCorpus.open(data / "corpora" / "small").pairs("train"))[0].startswith("Dosya")
    assert "language 'fr' found; choose from tr" in _problem("import", "gettext", "other", "locale", "--language", "fr")


def test_downloads_say_what_is_missing(data):
    pytest.importorskip("mtdata", reason="needs the extra 'download'")
    assert "recipe 'x': unknown; choose from ted-gl-en" in _problem("import", "mtdata", "small", "--recipe", "x")
    both = ("--recipe", "ted-gl-en", "--source", "gl")
    assert "--recipe ted-gl-en excludes languages and data sets; give" in _problem("import", "mtdata", "a", *both)
    assert "no data set to train on; give a data set" in _problem("import", "mtdata", "small")
    assert "no test set named; name one" in _problem("import", "sacrebleu", "small", "--source", "de", "--target", "en")
    assert not list(data.rglob("*.en"))


def test_a_name_that_is_taken_or_not_allowed_is_an_error(data):
    arguments = ("uz.txt", "en.txt", "--source", "uz", "--target", "en")
    _said("import", "text", "small", *arguments)
    assert "corpus 'small': already exists; choose another name" in _problem("import", "text", "small", *arguments)
    assert "corpus name '../small': not allowed; use" in _problem("import", "text", "../small", *arguments)


def test_stats_prints_a_table_of_a_corpus_by_name_or_path(data):
    _said("import", "text", "small", "uz.txt", "en.txt", "--source", "uz", "--target", "en", "--dev", 20, "--test", 20)
    said = _said("stats", "small")
    assert "small: uz to en" in said
    assert "train │ uz │ 160 │ 320 │ 161 │ 160 │ 2.0 │ 2 │ 2 │ │ │ │" in said
    assert "dev │ en │ 20 │ 40 │ 21 │ 20 │ 2.0 │ 2 │ 2 │ 50.0% │ 95.2% │ 0.0% │ 100.0 │" in said
    assert _said("stats", data / "corpora" / "small") == said
    assert "another language" not in said
    assert "another language" in _said("stats", "small", "--languages")
    assert "small: en to uz" in _said("stats", "small", "--source", "en")
    assert "corpus 'other': not found" in _problem("stats", "other")


def test_stats_can_be_read_by_a_program(data):
    _said("import", "text", "small", "uz.txt", "en.txt", "--source", "uz", "--target", "en", "--dev", 20, "--test", 20)
    rows = list(csv.DictReader(io.StringIO(_run("stats", "small", "--csv").output)))
    assert [(row["split"], row["side"], row["sentences"]) for row in rows[:3]] == [
        ("train", "source", "160"),
        ("train", "target", "160"),
        ("dev", "source", "20"),
    ]
    assert float(rows[2]["new_types"]) == 20 / 21
    assert float(rows[2]["similar"]) == 0
    assert rows[0]["new_types"] == rows[0]["similar"] == ""


def test_overlap_prints_the_shares_and_the_text_within_the_limits(data):
    for name in ("parent", "child"):
        folder = data / "corpora" / name
        folder.mkdir(parents=True)
        write_lines(folder / "train.uz", ["bir gap", "bir gap ikki gap", f"{name} gap"])
        write_lines(folder / "train.en", ["one sentence", "one sentence two sentences", f"{name} sentence"])
    said = _said("overlap", "parent", "child", "--sizes", 40, "--max-words", 3, "--max-subwords", 20)
    assert "child, of it in parent" in said
    assert "words │ train │ 4 │ 3 │ 75.0% │ 8 │ 7 │ 87.5%" in said
    assert "training text, at most 3 words or 20 subwords" in said
    assert "words │ parent: parent │ 2 │ 1 │ 4 │ 4 │ 8" in said
    assert "words │ child: child │ 2 │ 1 │ 4 │ 4 │ 8" in said
    limited = _said("overlap", "parent", "child", "--sizes", 40, "--max-words", 3, "--limited")
    assert "words │ train │ 3 │ 2 │ 66.7% │ 4 │ 3 │ 75.0%" in limited
    table = _run("overlap", "parent", "child", "--sizes", 40, "--csv").stdout
    assert [row["segmentation"] for row in csv.DictReader(io.StringIO(table))] == ["words", "bpe 40"]


def noisy(data):
    """Make the corpus `noisy`, with a duplicate and a copy in train, and a dev sentence nearly so in train."""
    folder = data / "corpora/noisy"
    folder.mkdir(parents=True)
    sources = ["1 gap", "OK", "1 gap", "bu gapni tarjima qiling", "файл"]
    write_lines(folder / "train.uz", sources)
    write_lines(folder / "train.en", ["sentence 1", "ok", "sentence 1", "translate this sentence please", "file"])
    write_lines(folder / "dev.uz", ["tarjima qiling: bu gapni!"])
    write_lines(folder / "dev.en", ["now"])


def test_a_corpus_is_filtered_and_each_rule_says_what_it_dropped(data):
    noisy(data)
    result = _run("filter", "noisy", "clean", "--similar", 0.7)
    table = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines()]
    assert ["same on both sides", "1", "20.0%", "2", "OK", "ok"] in table
    assert ["another script", "1", "20.0%", "5", "файл", "file"] in table
    assert ["duplicate", "1", "20.0%", "3", "1 gap", "sentence 1"] in table
    assert ["length ratio", "0", "0.0%", "", "", ""] in table
    assert any(row[:4] == ["similar to dev or test", "1", "20.0%", "4"] for row in table)
    assert "next: nmtlab corpus stats clean, then nmtlab train clean" in result.output
    new = ParallelCorpus.open(data / "corpora/clean")
    assert list(new.pairs("train")) == [("1 gap", "sentence 1")]
    assert new.count("dev") == 1


def test_a_dry_run_writes_nothing_and_needs_no_name(data):
    noisy(data)
    assert "kept │ 2 │ 40.0%" in _said("filter", "noisy", "--dry-run")
    assert [path.name for path in (data / "corpora").iterdir()] == ["noisy"]
    result = _run("filter", "noisy")
    assert str(result.exception) == "no name for the new corpus; give one, or --dry-run"
    assert "corpus 'noisy': already exists" in _problem("filter", "noisy", "noisy")


def test_a_language_of_which_little_is_known_is_said_to_be_unchecked(data):
    pytest.importorskip("py3langid", reason="needs py3langid")
    noisy(data)
    for path in (data / "corpora/noisy").glob("*.uz"):
        path.rename(path.with_suffix(".qaa"))
    said = _said("filter", "noisy", "--dry-run", "--languages")
    assert "scripts of qaa were not checked: it is unknown which it is written in" in said
    assert "qaa was not checked for other languages: py3langid does not know it" in said


def test_without_the_identifier_the_command_says_how_to_install_it(data, monkeypatch):
    noisy(data)
    monkeypatch.setitem(sys.modules, "py3langid.langid", None)
    result = _run("filter", "noisy", "--dry-run", "--languages")
    assert str(result.exception).startswith("py3langid is not installed; pip install 'py3langid")


def test_a_page_has_histograms_and_examples(data):
    noisy(data)
    _said("filter", "noisy", "--dry-run", "--html", data / "page.html", "--max-ratio", 0)
    page = (data / "page.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 2
    assert "same on both sides" in page
    assert "limit 250" in page


def test_translation_memories_and_localisation_files_are_imported(data):
    one = '<tu><tuv xml:lang="en-US"><seg>One {0}</seg></tuv><tuv xml:lang="uz"><seg>{0} gap</seg></tuv></tu>'
    units = "".join(one.format(number) for number in range(30))
    (data.parent / "memory.tmx").write_text(f"<tmx><body>{units}</body></tmx>", encoding="utf-8")
    said = _said("import", "tmx", "memory", "memory.tmx", "--source", "uz", "--target", "en", "--dev", 5, "--test", 0)
    assert "read │ │ 30" in said
    assert ParallelCorpus.open(data / "corpora/memory").check() == {"train": 25, "dev": 5}
    unit = "<trans-unit><source>One</source><target>Bir</target></trans-unit>"
    file = f'<file source-language="en" target-language="uz">{unit}</file>'
    (data.parent / "a.xlf").write_text(f"<xliff>{file}</xliff>", encoding="utf-8")
    languages = ("--source", "uz", "--target", "en", "--dev", 0, "--test", 0)
    assert "uz: Bir en: One" in _said("import", "xliff", "ui", "a.xlf", "a.xlf", *languages)
    assert "begins with <xliff>, not <tmx>" in _problem("import", "tmx", "other", "a.xlf", *languages)
