"""The commands, on a small trained run."""

import csv
import gzip
import io
import os
import re
import shutil
import subprocess
import sys

import pytest
import sacrebleu

from nmtlab.analysis.access.scoring import run_perplexity
from nmtlab.cli.compare import Comparison
from nmtlab.cli.evaluate import Evaluation
from nmtlab.recipe import load_recipe, named_recipe, recipe_names
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import read_lines

TEXT = "ein hund\n\nkatze sieht haus und fluss\n"


def rows(said) -> list[list[str]]:
    """Return the cells of the tables that were printed."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.out.splitlines() if line.startswith("│")]


# translate


def test_standard_input_is_translated_to_standard_output_and_a_blank_line_stays_blank(nmtlab, learned):
    said = nmtlab("translate", "whole", stdin=TEXT)
    expected = open_system(learned).translate(TEXT.splitlines())
    assert (said.code, said.out) == (0, "".join(f"{translation.text}\n" for translation in expected))
    assert said.err == "engine: nmtlab (a beam of 4 can find better translations than CTranslate2's)\n"
    lines = said.out.splitlines()
    assert len(lines) == 3
    assert (bool(lines[0]), lines[1], bool(lines[2])) == (True, "", True)


def test_a_last_line_without_its_line_break_is_translated_too(nmtlab):
    assert nmtlab("translate", "whole", stdin=TEXT.rstrip("\n")) == nmtlab("translate", "whole", stdin=TEXT)


def test_the_best_translations_come_best_first_and_with_scores_on_request(nmtlab):
    best = nmtlab("translate", "whole", stdin=TEXT).out.splitlines()
    plain = nmtlab("translate", "whole", "--n-best", 3, "--beam", 5, stdin=TEXT).out.splitlines()
    assert len(plain) == 3 + 1 + 3
    assert plain[3] == ""
    scored = nmtlab("translate", "whole", "--n-best", 3, "--beam", 5, "--scores", stdin=TEXT).out.splitlines()
    cells = [line.split("\t") for line in scored]
    assert [number for number, *_ in cells] == ["1"] * 3 + ["2"] + ["3"] * 3
    assert [text for *_, text in cells] == plain
    for number in ("1", "3"):
        scores = [float(score) for n, score, _, _ in cells if n == number]
        assert scores == sorted(scores, reverse=True)
        assert all(float(log_prob) <= 0 for n, _, log_prob, _ in cells if n == number)
    alone = nmtlab("translate", "whole", "--scores", stdin=TEXT).out.splitlines()
    assert [line.split("\t")[3] for line in alone] == best


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_files_are_translated_into_files(nmtlab, data, ending):
    source, target = data / f"in.txt{ending}", data / "deep" / f"out.txt{ending}"
    source.write_bytes(gzip.compress(TEXT.encode()) if ending else TEXT.encode())
    said = nmtlab("translate", "whole", "--input", source, "--output", target, "--engine", "nmtlab")
    assert said == (0, "", "")
    assert list(read_lines(target)) == nmtlab("translate", "whole", stdin=TEXT).out.splitlines()


def test_beam_settings_and_checkpoint_can_be_chosen(nmtlab, learned):
    greedy = open_system(learned, learned.recipe.search.model_copy(update={"beam_size": 1}), "last")
    source = TEXT * 3
    expected = [translation.text for translation in greedy.translate(source.splitlines())]
    for words in (("--beam", 1), ("--set", "search.beam_size=1")):
        assert nmtlab("translate", "whole", "--last", *words, stdin=source).out.splitlines() == expected


# evaluate and compare


def test_a_run_is_scored_on_the_test_set_of_its_own_corpus(nmtlab, data, learned, tiny_corpus):
    said = nmtlab("evaluate", "whole")
    source, reference = (list(tiny_corpus.lines("test", language)) for language in ("de", "en"))
    translations = nmtlab("translate", "whole", stdin="\n".join(source)).out.splitlines()
    bleu, chrf = sacrebleu.corpus_bleu(translations, [reference]), sacrebleu.corpus_chrf(translations, [reference])
    assert said.code == 0
    assert f"whole on tiny test (de to en, {len(source)} sentences)" in said.out
    interval = r"\d+\.\d\d ± \d+\.\d\d"
    assert re.search(rf"^BLEU +{bleu.score:.2f}  {interval}  nrefs:1\|bs:1000\|.*tok:13a", said.out, re.MULTILINE)
    assert re.search(rf"^chrF +{chrf.score:.2f}  {interval}  nrefs:1", said.out, re.MULTILINE)
    assert 0 < bleu.score < 100
    perplexity, unseen = run_perplexity(learned, tiny_corpus, "test")
    assert re.search(rf"^perplexity +{perplexity:.2f}  per token.* {unseen} ", said.out, re.MULTILINE)
    kept = list((data / "runs/whole/translations").glob("test-*.txt"))
    assert [list(read_lines(path)) for path in kept] == [translations]
    found = Evaluation.model_validate_json(nmtlab("evaluate", "whole", "--json").out)
    assert (found.system, found.text, found.source, found.target) == ("whole", "tiny test", "de", "en")
    assert (found.bleu.score, found.perplexity, found.unknown_tokens) == (bleu.score, perplexity, unseen)
    assert found.warnings == []


def test_scores_of_a_run_whose_training_has_not_ended_say_so(nmtlab, data, learned):
    begun = Run(shutil.copytree(learned.folder, data / "runs/begun"))
    RunWriter(begun).truncate_after(learned.checkpoints.best_step)
    for words in (("evaluate", "begun"), ("compare", "whole", "begun")):
        said = nmtlab(*words).out
        assert "run 'begun': its training has not ended (interrupted), and this is its best checkpoint so far" in said
        assert "'whole': its training" not in said


@pytest.mark.full
def test_translations_are_kept_and_read_again_where_nothing_has_changed(nmtlab, data):
    first = nmtlab("evaluate", "whole", "--split", "dev")
    (kept,) = (data / "runs/whole/translations").glob("dev-*.txt")
    text = kept.read_text(encoding="utf-8")
    kept.write_text(re.sub(r"\w+", "x", text), encoding="utf-8")
    assert re.search(r"^BLEU +0\.00 ", nmtlab("evaluate", "whole", "--split", "dev").out, re.MULTILINE)
    assert nmtlab("evaluate", "whole", "--split", "dev", "--set", "search.alpha=2").code == 0
    assert len(list((data / "runs/whole/translations").glob("dev-*.txt"))) == 2
    kept.unlink()
    assert nmtlab("evaluate", "whole", "--split", "dev") == first


def test_translations_made_elsewhere_are_scored_from_a_text_file(nmtlab, data, tiny_corpus):
    shutil.copy(tiny_corpus.folder / "test.en", data / "perfect.txt")
    said = nmtlab("evaluate", data / "perfect.txt", "--corpus", "tiny")
    assert [line.split()[1] for line in said.out.splitlines()[1:4]] == ["100.00"] * 3
    assert re.search(r"^tokenized BLEU +100\.00 ", said.out, re.MULTILINE)
    assert "perplexity" not in said.out


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_a_file_in_another_order_is_warned_of_on_standard_error(nmtlab, data, command):
    lines = [" ".join(f"{number * number * 7919 + place * 104729:x}" for place in range(8)) for number in range(60)]
    for name, text in (("train.de", ["x"]), ("train.en", ["x"]), ("test.de", lines), ("test.en", lines)):
        (data / "corpora/many" / name).parent.mkdir(parents=True, exist_ok=True)
        (data / "corpora/many" / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    for name, text in (("right.txt", lines), ("wrong.txt", lines[::-1])):
        (data / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    more = [data / "right.txt"] if command == "compare" else []
    said = nmtlab(command, *more, data / "wrong.txt", "--corpus", "many")
    assert said.err == (
        f"{data / 'wrong.txt'}: most lines match references of other lines, not their own; check that the file is in "
        "the order of many test\n"
    )
    assert nmtlab("evaluate", data / "right.txt", "--corpus", "many").err == ""


def test_systems_are_compared_with_the_first_of_them(nmtlab, data, tiny_corpus):
    shutil.copytree(data / "runs/whole", data / "runs/twin")
    shutil.copy(tiny_corpus.folder / "test.en", data / "perfect.txt")
    said = nmtlab("compare", "whole", "twin", data / "perfect.txt", "--samples", 300, "--csv")
    table = list(csv.DictReader(io.StringIO(said.out)))
    assert [row["metric"] for row in table] == [
        name for name in ("BLEU", "chrF", "chrF++", "tokenized BLEU") for _ in range(3)
    ]
    assert [row["system"] for row in table[:3]] == ["whole", "twin", str(data / "perfect.txt")]
    for whole, twin, perfect in zip(table[::3], table[1::3], table[2::3], strict=True):
        assert whole["score"] == twin["score"]
        assert float(twin["difference"]) == 0
        assert float(perfect["score"]) == pytest.approx(100)
        assert float(perfect["p"]) < 0.05 < float(twin["p"])
        assert whole["p"] == ""
    shown = nmtlab("compare", "whole", data / "perfect.txt", "--samples", 300)
    assert "BLEU on tiny test, de to en" in shown.out
    answer = Comparison.model_validate_json(nmtlab("compare", "whole", "twin", "--samples", 300, "--json").out)
    assert (answer.text, answer.source, answer.labels) == ("tiny test", "de", None)
    assert [one.p for one in answer.bleu] == [None, 1]
    assert any(row[0] == str(data / "perfect.txt") and row[1] == "100.00" and "**" in row[4] for row in rows(shown))


def test_a_comparison_is_written_as_a_page_with_the_words_that_differ(nmtlab, data, tiny_corpus):
    lines = (tiny_corpus.folder / "test.en").read_text(encoding="utf-8").splitlines()
    shutil.copy(tiny_corpus.folder / "test.en", data / "perfect.txt")
    (data / "wrong.txt").write_text("\n".join(["<b>wrong</b>", *lines[1:]]) + "\n", encoding="utf-8")
    words = ("compare", data / "wrong.txt", data / "perfect.txt", "--corpus", "tiny", "--html", data / "compared.html")
    nmtlab(*words, "--samples", 300)
    page = (data / "compared.html").read_text(encoding="utf-8")
    assert "<title>perfect.txt against wrong.txt · nmtlab</title>" in page
    assert "perfect.txt against wrong.txt: 1 sentences won" in page
    assert "<mark>wrong</mark>" in page
    assert "<b>wrong</b>" not in page
    assert "Which words are right, by training frequency" in page


def test_files_of_one_name_are_two_systems_on_the_page(nmtlab, data, tiny_corpus):
    for folder in ("mine", "yours"):
        (data / folder).mkdir()
        shutil.copy(tiny_corpus.folder / "test.en", data / folder / "out.txt")
    files = (data / "mine/out.txt", data / "yours/out.txt")
    nmtlab("compare", *files, "--corpus", "tiny", "--html", data / "both.html", "--samples", 300)
    assert f"<title>{files[1]} against {files[0]} · nmtlab</title>" in (data / "both.html").read_text(encoding="utf-8")


# runs


def test_runs_are_listed_with_their_state(nmtlab, data):
    (data / "runs" / "half").mkdir()
    said = nmtlab("runs", "list")
    run = Run(data / "runs" / "whole")
    best = run.log.metrics("validation")["bleu"].max()
    assert rows(said) == [["whole", "tiny de-en", "finished", "120", f"{best:.2f}"]]
    assert "half: incomplete run (recipe.toml is missing); 'nmtlab runs remove half' removes it" in said.out
    shutil.rmtree(data / "runs")
    assert nmtlab("runs", "list").out == "no runs yet; 'nmtlab demo' or 'nmtlab train' makes some\n"


def test_a_run_is_shown_with_its_evaluations_environment_and_recipe(nmtlab, data):
    said = nmtlab("runs", "show", "whole")
    run = Run(data / "runs" / "whole")
    assert said.out.startswith("run whole: finished\n")
    assert run.recipe.described() in said.out
    assert '"corpus_checksum"' in said.out
    validations = run.log.metrics("validation")
    shown = [line.split() for line in said.out.splitlines()[2 : 3 + len(validations)]]
    assert shown[0] == ["step", "bleu", "perplexity", "seconds"]
    for cells, row in zip(shown[1:], validations.itertuples(), strict=True):
        assert [float(cell) for cell in cells[:2]] == pytest.approx([row.step, row.bleu], abs=0.005)


def test_removing_runs_asks_first(nmtlab, data):
    shutil.copytree(data / "runs/whole", data / "runs/other")
    said = nmtlab("runs", "remove", "whole", "other", stdin="n\ny\n")
    assert "remove run whole with its checkpoints and translations? [y/N]" in said.out
    assert said.out.endswith("removed other\n")
    assert "kept whole" in said.out
    assert os.listdir(data / "runs") == ["whole"]
    assert nmtlab("runs", "remove", "whole", stdin="\n").out.endswith("kept whole\n")
    assert nmtlab("runs", "remove", "whole", stdin="").code == 1  # no answer
    assert os.listdir(data / "runs") == ["whole"]
    assert nmtlab("runs", "remove", "whole", "--yes").out == "removed whole\n"
    assert os.listdir(data / "runs") == []


# recipes


def test_recipes_are_listed_with_what_they_are_for(nmtlab):
    said = nmtlab("recipes", "list")
    assert [row[0] for row in rows(said) if row[0]] == recipe_names()
    assert named_recipe("postnorm").about in said.out


def test_a_shown_recipe_can_be_changed_and_used(nmtlab, data):
    said = nmtlab("recipes", "show", "postnorm")
    mine = data / "mine.toml"
    mine.write_text(said.out.replace('placement = "post"', 'placement = "pre"'), encoding="utf-8")
    assert load_recipe(mine) == named_recipe("postnorm").with_changes({"model.placement": "pre"})
    assert nmtlab("recipes", "show", mine).out == mine.read_text(encoding="utf-8")


# train


def test_a_plan_says_what_it_would_take_and_makes_no_run(nmtlab, data):
    before = sorted(data.rglob("*"))
    (data.parent / "kısa.toml").write_text((data.parent / "tiny.toml").read_text())  # no name of a run can have its ı
    said = nmtlab("train", "tiny", "--recipe", "kısa.toml", "--estimate")
    assert said.code == 0
    assert re.search(r"^corpus +tiny: 300 pairs", said.out, re.MULTILINE)
    assert re.search(r"^updates +at most 60, about \d+ epochs", said.out, re.MULTILINE)
    assert {line.split()[0] for line in said.out.splitlines()} == {
        "corpus", "parameters", "updates", "time", "memory", "disk",
    }  # fmt: skip
    assert sorted(data.rglob("*")) == before


def test_training_makes_a_run_named_after_corpus_recipe_and_seed_with_the_settings_given(nmtlab, data):
    settings = ("--set", "training.max_evaluations=1", "--set", "model.norm=layer", "--seed", 7, "--threads", 1)
    said = nmtlab("train", "tiny", "--recipe", "tiny.toml", *settings)
    assert said.code == 0
    run = Run(data / "runs" / "tiny.tiny.7")
    assert run.status == "finished"
    recipe = run.recipe
    assert (recipe.training.max_evaluations, recipe.model.norm, recipe.training.seed) == (1, "layer", 7)
    assert (recipe.corpus.name, recipe.corpus.source, recipe.corpus.target) == ("tiny", "de", "en")
    assert said.out.splitlines()[-1] == "run tiny.tiny.7: finished; next: nmtlab evaluate tiny.tiny.7 --corpus tiny"
    assert "update     20" in said.out
    assert nmtlab("translate", "tiny.tiny.7", stdin=TEXT).code == 0


def test_a_stopped_training_names_what_is_of_use_next(nmtlab, data, monkeypatch):
    resume, longer = "nmtlab train tiny --name cut --resume", ("--set", "training.max_evaluations=1000")
    with monkeypatch.context() as patched:
        patched.setattr("nmtlab.cli.train._watchers", lambda writers: (lambda event: None, lambda: True))
        said = nmtlab("train", "tiny", "--recipe", "tiny.toml", "--name", "cut", *longer)
    assert said.out.splitlines()[-1] == f"run cut: stopped; next: {resume}"
    said = nmtlab("train", "tiny", "--name", "cut", "--resume", "--minutes", 0.01, "--threads", 1)
    assert said.out.splitlines()[-1] == f"run cut: stopped; next: nmtlab evaluate cut --corpus tiny, or {resume}"


def test_a_direction_can_be_turned_round(nmtlab, data):
    words = ("--source", "en", "--set", "training.max_evaluations=1", "--name", "turned")
    assert nmtlab("train", "tiny", "--recipe", "tiny.toml", *words).code == 0
    corpus = Run(data / "runs" / "turned").recipe.corpus
    assert (corpus.source, corpus.target) == ("en", "de")


# corpus make


def test_an_artificial_language_is_grown_into_a_corpus(nmtlab, data):
    said = nmtlab("corpus", "make", "grown", "--train", 30, "--dev", 5, "--test", 5, "--vocabulary", 100)
    assert said.code == 0
    assert said.out.splitlines()[-1] == "next: nmtlab train grown --source qaa --target en"
    assert ParallelCorpus.open(data / "corpora/grown", "qaa", "en").check() == {"train": 30, "dev": 5, "test": 5}


def test_a_toy_task_is_a_corpus_and_lengths_are_two_numbers(nmtlab, data):
    about = ("--types", 30, "--train", 30, "--dev", 5, "--test", 5, "--test-length", "6-9")
    said = nmtlab("corpus", "make-toy", "mirror", "--task", "reverse", *about)
    assert said.out.splitlines()[-1] == "next: nmtlab train mirror --source qta --target qtb"
    assert ParallelCorpus.open(data / "corpora/mirror").check() == {"train": 30, "dev": 5, "test": 5}
    refused = nmtlab("corpus", "make-toy", "other", "--length", "5")
    assert (refused.code, "--length 5: not two numbers" in refused.err) == (2, True)


# The command as others call it


@pytest.mark.full
def test_python_runs_the_package_as_the_command(data):
    words = [sys.executable, "-m", "nmtlab", "translate", "whole", "--threads", "1", "--engine", "nmtlab"]
    done = subprocess.run(words, input=TEXT.encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.decode().splitlines()) == 3


def test_a_reader_that_goes_away_is_no_error_to_be_shown(data):
    words = [sys.executable, "-m", "nmtlab", "recipes", "show", "thesis-ted"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


# help


def test_no_help_text_has_brackets_which_the_terminal_would_swallow_as_markup():
    from typer.main import get_command

    from nmtlab.cli.main import app

    def commands(command) -> list:
        if not hasattr(command, "commands"):
            return [command.loaded()]
        return [command, *(own for sub in command.commands.values() for own in commands(sub))]

    said = [getattr(one, "help", "") or "" for own in commands(get_command(app)) for one in (own, *own.params)]
    assert len(said) > 100
    assert [text for text in said if re.search(r"\[[a-z]", text)] == []
