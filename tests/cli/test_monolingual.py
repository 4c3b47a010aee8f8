"""Text that nobody translated: imported, listed, translated, trained on, selected, and noise."""

import json
import re
import tomllib

import pytest

from nmtlab.cli.corpus_select import Selection
from nmtlab.recipe import load_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import open_monolingual
from nmtlab.workspace import Workspace

GERMAN = ["ein hund singt", "haus", "ein kind geht nach haus", "", "ein hund singt"]


@pytest.fixture
def german(nmtlab, data):
    write_lines(data.parent / "lines.txt", GERMAN)
    done = nmtlab("corpus", "import", "mono", "german", "lines.txt", "--language", "de")
    assert not done.code, done.err
    return data / "corpora" / "german"


def test_monolingual_text_is_imported_listed_counted_and_removed(nmtlab, german):
    assert [path.name for path in sorted(german.iterdir())] == ["import.json", "train.de"]
    assert (german / "train.de").read_text().splitlines() == GERMAN[:3]
    row = next(line for line in nmtlab("corpus", "list").out.splitlines() if "german" in line)
    assert [cell.strip() for cell in row.split("│")[2:7]] == ["de", "3", "-", "-", "workspace"]
    answer = json.loads(nmtlab("corpus", "stats", "german", "--json").out)
    assert (answer["source"], answer["target"]) == ("de", None)
    assert [(side["side"], side["sentences"], side["tokens"]) for side in answer["sides"]] == [("text", 3, 9)]
    assert "german: de" in nmtlab("corpus", "stats", "german").out
    assert nmtlab("corpus", "remove", "german", "--yes").out == "removed german\n"
    assert not german.exists()


def test_one_side_of_a_corpus_has_statistics_alone(nmtlab):
    answer = json.loads(nmtlab("corpus", "stats", "tiny:en", "--json").out)
    assert [(side["language"], side["sentences"]) for side in answer["sides"]] == [("en", 300)]


@pytest.mark.parametrize("words", [("train", "german"), ("corpus", "filter", "german", "new")])
def test_commands_on_pairs_refuse_it_in_a_sentence(nmtlab, german, words):
    refused = nmtlab(*words)
    assert refused.code == 2
    assert refused.err.endswith(
        "german: monolingual text in de, but sentence pairs are needed; translate it with "
        "'nmtlab corpus translate', or add the files of the other language\n"
    )


def test_a_translated_text_has_the_lines_that_translate_prints(nmtlab, german, data):
    done = nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "german")
    assert not done.code, done.err
    assert done.err.endswith("engine: ctranslate2 (greedy search finds the same translations there, and sooner)\n")
    assert "made: en to de" in done.out
    assert done.out.endswith('\n[[more_corpora]]\nname = "made"\nsource = "en"\ntarget = "de"\norigin = "synthetic"\n')
    printed = nmtlab(
        "translate", "whole", "--beam", 1, "--engine", "nmtlab", "--input", german / "train.de"
    ).out.splitlines()
    assert list(ParallelCorpus.open(data / "corpora" / "made", "en", "de").lines("train", "en")) == printed
    assert list(ParallelCorpus.open(data / "corpora" / "made", "en", "de").lines("train", "de")) == GERMAN[:3]
    again = nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "german")
    assert "corpus 'made': already exists; choose another name" in again.err


def test_samples_are_told_with_the_weight_of_each(nmtlab, german, data):
    done = nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "german", "--samples", 2, "--limit", 2)
    assert not done.code, done.err
    assert "weight = 0.5  # 2 pairs a line" in done.out
    assert json.loads((data / "corpora" / "made" / "import.json").read_text())["options"]["lines"] == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--text", "tiny:en"], "text tiny: in en, but whole translates de to en; choose text in de"),
        (["--text", "tiny"], "corpus 'tiny': has text in de, en; name one of them, as tiny:de"),
        (["--text", "nothing"], "corpus 'nothing': not found"),
        (["--text", "lines.txt"], "corpus 'lines.txt': a file, not a corpus; import it with 'nmtlab corpus import'"),
        (["--text", "german", "--temperature", 1], "--temperature: belongs to --samples"),
        (["--text", "german", "--samples", 2, "--temperature", 0], "--temperature 0: not between 0.001 and 1000"),
        (["--text", "german", "--origin", "Back 1"], "--origin 'Back 1': not letters a to z, digits and hyphens"),
        (
            ["--text", "german", "--samples", 2, "--engine", "ctranslate2"],
            "--samples: CTranslate2 searches with a plain",
        ),
        (
            ["--text", "german", "--with", "whole", "--engine", "ctranslate2"],
            "--with: CTranslate2 searches with a plain",
        ),
        (["--text", "german", "--with", "nobody"], "run 'nobody': not found"),
        (["--text", "german", "--samples", 2, "--beam-size", 1], "--beam-size and --samples: mutually exclusive"),
        (["--text", "tiny:de", "--nearest", "chrf"], "--nearest: chooses among targets; add --as target"),
        (["--text", "tiny:de", "--samples", 2, "--nearest", "bleu"], "--nearest and --samples: mutually exclusive"),
        (
            ["--text", "tiny:de", "--as", "target", "--nearest", "bleu", "--beam-size", 1],
            "--nearest: chooses among the translations of a beam; give a --beam-size of 2 or more",
        ),
        (["--text", "german", "--as", "target", "--nearest", "bleu"], "text german: has no translations into en"),
    ],
)
def test_what_cannot_be_translated_is_refused(nmtlab, german, data, words, problem):
    refused = nmtlab("corpus", "translate", "made", "--run", "whole", *words)
    assert refused.code == 2
    assert problem in refused.err
    assert not (data / "corpora" / "made").exists()


def test_a_teacher_writes_a_corpus_that_has_the_dev_and_test_of_the_bitext(nmtlab, data, tiny_corpus):
    how = ["--as", "target", "--beam-size", 2, "--nearest", "chrf", "--limit", 20]
    done = nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "tiny:de", *how, "--allow-overlap")
    assert not done.code, done.err
    assert "next: nmtlab train made --source de --target en, or beside real pairs:" in done.out
    for name in ("dev.de", "dev.en", "test.de", "test.en"):
        assert (data / "corpora" / "made" / name).read_bytes() == (tiny_corpus.folder / name).read_bytes()


def test_text_with_sentences_of_dev_or_test_is_refused_with_their_number(nmtlab, data, tiny_corpus):
    lines = list(tiny_corpus.lines("dev", "de"))
    write_lines(data.parent / "leak.txt", [lines[0].upper(), lines[1], "etwas anderes"])
    nmtlab("corpus", "import", "mono", "leak", "leak.txt", "--language", "de")
    refused = nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "leak")
    assert refused.code == 2
    found = sum(line in set(lines[:2]) for line in lines)
    assert f"text leak: has {found} de sentences of dev; remove them from the text" in refused.err
    assert not nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "leak", "--allow-overlap").code
    write_lines(data.parent / "other.txt", tiny_corpus.lines("dev", "en"))  # of a language that the run cannot read
    nmtlab("corpus", "import", "mono", "other", "other.txt", "--language", "en")
    refused = nmtlab("corpus", "translate", "new", "--run", "whole", "--text", "other")
    assert "text other: in en, but whole translates de to en" in refused.err


def test_a_run_trains_on_real_and_synthetic_pairs(nmtlab, data, german):
    assert not nmtlab("corpus", "translate", "made", "--run", "whole", "--text", "german").code
    more = '[[more_corpora]]\nname = "made"\nsource = "en"\ntarget = "de"\norigin = "synthetic"\nweight = 0.5\n'
    recipe = (data.parent / "tiny.toml").read_text().replace("more_corpora = []", "")
    (data.parent / "mixed.toml").write_text(f"{recipe}\n{more}")
    assert not nmtlab("corpus", "stats", "made").code
    words = ["--source", "en", "--target", "de", "--recipe", "mixed.toml", "--name", "mixed"]
    done = nmtlab("train", "tiny", *words, "--set", "training.max_evaluations=1", "--set", "training.validate_every=5")
    assert not done.code, done.err
    run = Run(data / "runs" / "mixed")
    assert [(one.name, one.source, one.origin, one.weight) for one in run.recipe.corpora] == [
        ("tiny", "en", "", 1.0), ("made", "en", "synthetic", 0.5),
    ]  # fmt: skip
    assert "<origin:synthetic>" in run.pipeline.source.vocabulary.types
    assert len(load_recipe(run.folder / "recipe.toml").more_corpora) == 1


def test_noise_is_added_by_name(nmtlab, data, tiny_corpus):
    done = nmtlab("corpus", "noise", "bad", "--corpus", "tiny", "--kind", "copied-target", "--share", 0.1)
    assert not done.code, done.err
    bad = list(ParallelCorpus.open(data / "corpora" / "bad").pairs("train"))
    assert len(bad) == 330
    assert all(source == target for source, target in bad[300:])
    assert re.search(r"│ added to train +│ copied-target +│ +\d+ │", done.out)
    refused = nmtlab("corpus", "noise", "worse", "--corpus", "tiny", "--kind", "short", "--share", 0)
    assert refused.err == "nmtlab: share is 0; give more than 0 and at most 10, which is 1,000%\n"
    third = ["--kind", "wrong-language-source", "--third", "tiny:en"]
    refused = nmtlab("corpus", "noise", "worse", "--corpus", "tiny", "--share", 1, *third)
    assert "--third tiny: in en, but tiny is in de and en; choose text in a third language" in refused.err


def test_text_is_copied_to_the_source_side_by_name(nmtlab, data, german):
    done = nmtlab("corpus", "copy", "copies", "--text", "german", "--source", "en")
    assert not done.code, done.err
    lines = list(open_monolingual("german", Workspace(data)).lines())
    corpus = ParallelCorpus.open(data / "corpora" / "copies", "en", "de")
    assert list(corpus.pairs("train")) == [(line, line) for line in lines]
    assert synthetic_language(corpus) == "en"
    assert tomllib.loads(done.out[done.out.index("[[") :]) == {
        "more_corpora": [{"name": "copies", "source": "en", "target": "de"}]
    }
    refused = nmtlab("corpus", "copy", "more", "--text", "german", "--source", "de")
    assert "text german: in de, the language of the sources; choose text in the target language" in refused.err
    refused = nmtlab("corpus", "copy", "more", "--text", "german", "--source", "e")
    assert "language 'e': not a language code" in refused.err


def test_blank_lines_are_not_copied_but_counted(nmtlab, data):
    write_lines(data / "corpora" / "gappy" / "train.de", ["ein hund", "", "\u200b", "eine katze"])
    done = nmtlab("corpus", "copy", "copies", "--text", "gappy", "--source", "en")
    assert not done.code, done.err
    corpus = ParallelCorpus.open(data / "corpora" / "copies", "en", "de")
    assert list(corpus.pairs("train")) == [("ein hund", "ein hund"), ("eine katze", "eine katze")]
    report = json.loads((corpus.folder / "import.json").read_text())
    assert (report["read"], report["kept"], report["dropped"]) == (4, {"train": 2}, {"train": {"blank line": 2}})
    write_lines(data / "corpora" / "empty" / "train.de", ["", " "])
    refused = nmtlab("corpus", "copy", "more", "--text", "empty", "--source", "en")
    assert "text empty: all 2 lines were dropped, 2 blank line; give more text" in refused.err
    assert not (data / "corpora" / "more").exists()


def test_short_pairs_that_are_repeated_are_counted(nmtlab, data):
    pairs = [
        ("ein hund", "a dog"),
        ("eine katze", "a cat"),
        *[("ein " * 6 + str(n), "a " * 6 + str(n)) for n in range(8)],
    ]
    for code, side in zip(("de", "en"), zip(*pairs, strict=True), strict=True):
        write_lines(data / "corpora" / "few" / f"train.{code}", side)
    done = nmtlab("corpus", "noise", "bad", "--corpus", "few", "--kind", "short", "--share", 1)
    assert re.search(r"│ added to train +│ short: 2 different pairs, repeated +│ +10 │", done.out)
    assert re.search(r"│ read +│ +│ +10 │", done.out)
    assert re.search(r"│ train +│ +│ +20 │", done.out)


def test_lines_like_a_domain_are_selected_and_shown(nmtlab, german, data):
    done = nmtlab("corpus", "select", "chosen", "--text", "tiny:de", "--like", "tiny:de", "--keep", 0.1)
    assert not done.code, done.err
    assert [path.name for path in sorted((data / "corpora" / "chosen").iterdir())] == [
        "costs.npy", "import.json", "train.de",
    ]  # fmt: skip
    assert "cross-entropy difference, in nats per token" in done.out
    words = ["corpus", "select", "pairs", "--text", "tiny", "--like", "tiny", "--keep", 30, "--json"]
    answer = Selection.model_validate_json(nmtlab(*words).out, strict=True)
    pairs = list(ParallelCorpus.open(data / "corpora" / "pairs").pairs("train"))
    assert (answer.source, answer.target, answer.lines, answer.kept, len(pairs)) == ("de", "en", 300, 30, 30)
    assert tuple(answer.best[0].text) in pairs
    assert tuple(answer.worst[0].text) not in pairs
    assert answer.quantiles["0"] == answer.best[0].cost <= answer.highest <= answer.worst[0].cost
    assert len(answer.best) == len(answer.worst) == 10
    assert answer.quantiles["1"] == answer.worst[0].cost


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "one way to choose lines is needed; give either --like or --run"),
        (["--like", "tiny", "--run", "whole"], "one way to choose lines is needed"),
        (["--like", "german", "--back", "whole"], "--back: belongs to --run"),
        (["--run", "whole", "--back", "whole"], "run 'whole': translates de to en, not en to de; choose runs in"),
        (["--run", "whole", "--back", "whole", "--seed", 2], "--seed: belongs to --like"),
        (["--like", "german", "--threads", 1], "--threads: belongs to --run"),
        (["--like", "german", "--keep", 0], "keep is 0; give a share above 0 and below 1, or a whole number of lines"),
        (["--like", "german", "--keep", 1.5], "keep is 1.5"),
        (["--like", "german", "--keep", 301], "301 lines wanted, 300 there; lower --keep"),
        (["--like", "german", "--text", "tiny:en"], "text german: in de, but tiny is in en; name text in en"),
        (["--like", "german", "--text", "tiny:en", "--source", "en"], "--source: belongs to a text in two languages"),
        (["--run", "whole", "--back", "whole", "--text", "german"], "sentence pairs are needed"),
    ],
)
def test_what_cannot_be_selected_is_refused(nmtlab, german, data, words, problem):
    refused = nmtlab("corpus", "select", "chosen", "--text", "tiny", "--keep", 10, *words)
    assert refused.code == 2
    assert problem in refused.err
    assert not (data / "corpora" / "chosen").exists()
