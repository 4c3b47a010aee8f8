"""`nmtlab translate` beyond a beam: prefixes, phrases, samples, groups, ensembles."""

import re
import shutil
from functools import partial

import pytest
from support.packed import link_packed

from nmtlab.cli.options import run_recipe
from nmtlab.errors import RecipeError
from nmtlab.evaluation.expected_utility import expected_utility, pairwise_bleu, pairwise_chrf
from nmtlab.evaluation.scores import bleu_metric, bleu_words
from nmtlab.interchange.precision import TOLERANCE
from nmtlab.interchange.served import open_served
from nmtlab.recipe import SearchSettings, find_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_ensemble, open_system
from nmtlab.workspace import Workspace

TEXT = "ein Hund singt\n\nein Kind sieht einen Hund\n"
LINES = TEXT.splitlines()


def test_greedy_translations_are_those_of_nmtlab_whatever_the_engine(nmtlab, data):
    words = ("translate", "whole", "--beam", 1, "--scores")
    ours, auto = nmtlab(*words, "--engine", "nmtlab", stdin=TEXT), nmtlab(*words, stdin=TEXT)
    assert ours == (0, auto.out, "")
    assert auto.err == "engine: ctranslate2 (greedy search finds the same translations there, and sooner)\n"
    assert len(list((data / "runs/whole/ctranslate2").iterdir())) == 1


def test_integers_are_chosen_if_they_translate_dev_text_as_well(nmtlab, data, tiny_corpus, monkeypatch):
    words = ("translate", "whole", "--engine", "ctranslate2", "--precision")
    said, of_integers = nmtlab(*words, "auto", stdin=TEXT), nmtlab(*words, "int8", stdin=TEXT)
    assert said.out == of_integers.out
    lines, references = list(tiny_corpus.lines("dev", "de")), tiny_corpus.references("dev")
    systems = [open_served(Run(data / "runs/whole"), precision) for precision in ("int8", "fp32")]
    texts = [[one.text for one in system.translate(lines)] for system in systems]
    scores = [bleu_metric("13a").corpus_score(one, references).score for one in texts]
    shown = f"(dev BLEU {scores[0]:.2f} in int8, {scores[1]:.2f} in fp32, on tiny)"
    assert scores[0] > scores[1] - TOLERANCE
    assert said.err == f"precision: int8 {shown}\n"
    (kept,) = (data / "runs/whole/ctranslate2").rglob("dev-*.json")
    kept.write_text('{"fp32": 30.0, "int8": 29.7}', encoding="utf-8")
    said = nmtlab(*words, "auto", stdin=TEXT).err
    assert said == "precision: fp32 (dev BLEU 29.70 in int8, 30.00 in fp32, on tiny)\n"
    for damaged in ("{", "{}", '{"fp32": 30.0}', '{"fp32": 30.0, "int8": "29.7"}'):
        kept.write_text(damaged, encoding="utf-8")
        said = nmtlab(*words, "auto", stdin=TEXT).err
        assert "precision: fp32 (int8 cannot be checked: " in said
        assert f"{kept.name}: damaged" in said
        assert "; remove it; it is then made again)" in said
    monkeypatch.setattr("nmtlab.interchange.precision.processor", lambda: "another")
    assert nmtlab(*words, "auto", stdin=TEXT).err == f"precision: int8 {shown}\n"
    assert len(list(kept.parent.glob("dev-*.json"))) == 2
    monkeypatch.delenv("NMTLAB_CORPORA")
    assert "precision: fp32 (int8 cannot be checked: corpus 'tiny': not found" in nmtlab(*words, "auto", stdin=TEXT).err
    refused = nmtlab("translate", "whole", "--precision", "auto", stdin=TEXT)
    assert "--precision: belongs to --engine ctranslate2" in refused.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--beam", 1, "--with", "whole"), "--with: CTranslate2 searches with a plain beam only"),
        (("--samples", 2), "--samples: CTranslate2 searches with a plain beam only"),
        (
            ("--beam", 1, "--alignments", "attention"),
            "--alignments attention: CTranslate2 shows neither attention nor distributions",
        ),
    ],
)
def test_what_ctranslate2_cannot_do_is_refused_if_it_is_asked_for_and_else_done_here(nmtlab, words, why):
    refused = nmtlab("translate", "whole", "--engine", "ctranslate2", *words, stdin=TEXT)
    assert refused == (2, "", f"nmtlab: {why}; leave --engine out\n")
    done = nmtlab("translate", "whole", *words, stdin=TEXT)
    assert (done.code, done.err) == (0, f"engine: nmtlab ({why})\n")


@pytest.mark.full
def test_a_run_that_plans_lengths_is_translated_here_or_refused(nmtlab, zoo, data):
    zoo.copy("planned", Workspace(data), "plan")
    lacks = "run 'plan': model.plan_length = true: no such part in the other program"
    done = nmtlab("translate", "plan", "--beam", 1, stdin=TEXT)
    assert (done.code, done.err) == (0, f"engine: nmtlab ({lacks})\n")
    refused = nmtlab("translate", "plan", "--beam", 1, "--engine", "ctranslate2", stdin=TEXT)
    assert (refused.code, refused.out) == (2, "")
    assert lacks in refused.err


def test_translations_begin_as_they_are_begun(nmtlab, learned, tmp_path):
    begun = tmp_path / "begun"
    begun.write_text("child sees\n\n\n", encoding="utf-8")
    said = nmtlab("translate", "whole", "--prefix", begun, stdin=TEXT).out.splitlines()
    system = open_system(learned)
    expected = system.translate(LINES, prefixes=["child sees", "", ""])
    assert said == [translation.text for translation in expected]
    assert said[0].startswith("child sees")
    assert said[2] == system.translate(LINES)[2].text


def test_phrases_that_must_occur_do(nmtlab, learned, tmp_path):
    wanted = tmp_path / "wanted"
    wanted.write_text("house\t child sees \n\n\n", encoding="utf-8")
    said = nmtlab("translate", "whole", "--must", wanted, stdin=TEXT).out.splitlines()
    system = open_system(learned)
    free = system.translate(LINES)
    assert "house" in said[0]
    assert "child sees" in said[0]
    assert "house" not in free[0].text
    assert said[1:] == [translation.text for translation in free[1:]]
    begun = tmp_path / "begun"
    begun.write_text("child sees\n\n\n", encoding="utf-8")
    both = nmtlab("translate", "whole", "--must", wanted, "--prefix", begun, stdin=TEXT).out.splitlines()
    assert both[0].startswith("child sees")
    assert both[0].count("child sees") == 1
    assert "house" in both[0]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("a house\n", "1 lines, but the text has 3; give one line per line of the text, empty for no phrase"),
        ("\n\ndog\t日\n", "line 3: '日' must occur, but the run cannot generate it; write it otherwise"),
        ("\ndog\n\n", "line 2: 'dog' must occur, but the line is blank"),
        ("\n\n" + "dog house " * 40 + "\n", "tokens must occur in its translation, which has at most"),
    ],
)
def test_a_phrase_that_cannot_occur_is_refused_with_its_line(nmtlab, tmp_path, wanted, said):
    (tmp_path / "wanted").write_text(wanted, encoding="utf-8")
    found = nmtlab("translate", "whole", "--must", tmp_path / "wanted", stdin=TEXT)
    assert found.code == 2
    assert said in found.err
    assert len(found.err.strip().splitlines()) == 1


def test_samples_are_drawn_and_the_seed_decides_which(nmtlab):
    def drawn(seed: int) -> list[str]:
        return nmtlab("translate", "whole", "--samples", 4, "--seed", seed, "--scores", stdin=TEXT).out.splitlines()

    first = drawn(1)
    assert [line.split("\t")[0] for line in first] == ["1"] * 4 + ["2"] + ["3"] * 4
    assert drawn(1) == first
    assert drawn(2) != first
    greedy = nmtlab("translate", "whole", "--beam", 1, stdin=TEXT).out
    assert nmtlab("translate", "whole", "--samples", 1, "--top-k", 1, stdin=TEXT).out == greedy


def test_batches_do_not_change_what_is_drawn(nmtlab):
    def drawn(*more: object) -> str:
        return nmtlab("translate", "whole", "--samples", 4, "--scores", *more, stdin=TEXT).out

    assert drawn("--set", "search.batch_tokens=4") == drawn()


@pytest.mark.parametrize("utility", ["chrf", "bleu"])
def test_minimum_bayes_risk_prints_the_sample_with_the_highest_expected_score(nmtlab, utility):
    asked = "translate", "whole", "--samples", 6
    rows = nmtlab(*asked, "--mbr", utility, "--n-best", 2, "--scores", stdin=TEXT).out.splitlines()
    drawn = nmtlab(*asked, stdin=TEXT).out.splitlines()
    pairwise = pairwise_chrf if utility == "chrf" else partial(pairwise_bleu, split=bleu_words())
    for number, samples in ((1, drawn[:6]), (3, drawn[7:])):
        expected = dict(zip(samples, expected_utility(samples, pairwise), strict=True))
        found = {row.split("\t")[3]: float(row.split("\t")[1]) for row in rows if row.startswith(f"{number}\t")}
        best = sorted(expected, key=expected.__getitem__, reverse=True)[:2]
        assert sorted(found.values()) == pytest.approx(sorted(expected[text] for text in best), abs=1e-4)
        assert all(found[text] == pytest.approx(expected[text], abs=1e-4) for text in found)
    assert "2\t0.0000\t0.0000\t" in rows  # the blank line stays blank


def test_its_help_fits_on_a_screen(nmtlab, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert len(nmtlab("translate", "--help").out.splitlines()) <= 60


def test_groups_of_a_beam_say_different_things_and_the_first_is_the_beams(nmtlab):
    best = nmtlab("translate", "whole", stdin=TEXT).out.splitlines()
    apart = nmtlab("translate", "whole", "--groups", 2, "--strength", 100, stdin=TEXT).out.splitlines()
    assert apart[::2][0] == best[0]
    assert len(apart) == 2 + 1 + 2
    assert apart[0] != apart[1]


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_an_ensemble_translates_with_all_its_runs(nmtlab, data, learned, mean):
    shutil.copytree(learned.folder, data / "runs/other")
    alone = nmtlab("translate", "whole", stdin=TEXT).out
    assert nmtlab("translate", "whole", "--with", "other", "--mean", mean, stdin=TEXT).out == alone
    both = open_ensemble([learned, Run(data / "runs/other")], SearchSettings(beam_size=2), mean)
    assert len(both.translate(LINES, n_best=2)[0].texts) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--samples", "2", "--groups", "2"], "--samples and --groups: mutually exclusive"),
        (["--samples", "2", "--temperature", "0"], "--temperature 0: not between 0.001 and 1000"),
        (["--samples", "2", "--temperature", "nan"], "--temperature nan: not between 0.001 and 1000"),
        (["--samples", "2", "--temperature", "1e-300"], "--temperature 1e-300: not between 0.001 and 1000"),
        (["--samples", "2", "--top-p", "1.5"], "--top-p 1.5: not above 0 and at most 1"),
        (["--with", "nobody"], "nobody"),
        (["--top-k", "3"], "--top-k: belongs to --samples; add --samples, or leave it out"),
        (["--seed", "3"], "--seed: belongs to --samples"),
        (["--mbr", "chrf"], "--mbr: belongs to --samples"),
        (["--mbr", "bleu", "--samples", "2000"], "--mbr: compares at most 1,000 samples"),
        (["--strength", "1"], "--strength: belongs to --groups"),
        (["--mean", "geometric"], "--mean: belongs to --with"),
        (
            ["--mbr", "bleu", "--samples", "3", "--n-best", "10"],
            "--n-best 10 is more than the samples, 3; give --samples 10",
        ),
        (["--samples", "2", "--beam", "7"], "--beam 7 and --samples: samples are drawn without a beam and a score"),
        (["--samples", "2", "--set", "search.alpha=1"], "--set search.alpha=1 and --samples: samples are drawn"),
        (["--set", "search.gamma=1"], "gamma is of the score word-reward or bounded-reward, not of length-normalised"),
        (["--set", "search.length_weight=2"], "--set search.length_weight=2: the run plans no lengths; leave it out"),
        (["--samples", "2", "--n-best", "2"], "--n-best and --samples: --samples is the number of translations"),
    ],
)
def test_what_cannot_be_done_or_has_no_effect_is_said_in_a_line(nmtlab, options, said):
    found = nmtlab("translate", "whole", *options, stdin=TEXT)
    assert found.code == 2
    assert said in found.err
    assert len(found.err.strip().splitlines()) == 1


def test_another_number_of_beginnings_than_of_lines_is_refused(nmtlab, tmp_path):
    (tmp_path / "begun").write_text("a\n", encoding="utf-8")
    said = nmtlab("translate", "whole", "--prefix", tmp_path / "begun", stdin=TEXT)
    assert said.code == 2
    assert "1 lines, but the text has 3; give one line per line" in said.err


def test_runs_with_other_vocabularies_are_no_ensemble(nmtlab, data):
    link_packed("small-tr-en.tied.s1", Workspace(data))
    said = nmtlab("translate", "whole", "--with", "small-tr-en.tied.s1", stdin=TEXT)
    assert said.code == 2
    assert "different vocabularies" in said.err


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("moses", "search.allow_empty=false", "a phrase-based run reads only search.beam_size; leave it out"),
        ("planned", "search.alpha=1", "the score of a run that plans lengths is p(length) · p(tokens); leave it out"),
        ("tied", "search.length_candidates=3", "the run plans no lengths; leave it out"),
        (
            "tied",
            "search.reward_ratio=2",
            "reward_ratio is of the score bounded-reward, not of "
            "length-normalised; add --set search.score=bounded-reward, or leave it out",
        ),
    ],
)
def test_settings_that_the_search_of_a_run_does_not_read_are_refused(name, setting, said):
    with pytest.raises(RecipeError, match=re.escape(f"--set {setting}: {said}")):
        run_recipe(find_recipe(name), [setting], None, None)
    read = ["search.beam_size=3", *(["search.score=word-reward", "search.gamma=1"] if name == "tied" else [])]
    assert run_recipe(find_recipe(name), read, None, None).search.beam_size == 3


def test_of_several_runs_one_must_read_a_setting():
    phrases, planned = find_recipe("moses"), find_recipe("planned")
    run_recipe(phrases, ["search.length_candidates=3"], None, None, [phrases, planned])
    with pytest.raises(RecipeError, match=r"--set search\.alpha=1: a phrase-based run reads only search\.beam_size"):
        run_recipe(phrases, ["search.alpha=1"], None, None, [phrases, planned])


def test_of_several_runs_none_keeps_what_only_its_training_needed():
    rounded = find_recipe("fine-tune-lora").with_settings(["model.lora_base=bf16", "machine.precision=bf16"])
    used = run_recipe(find_recipe("tied"), ["machine.precision=fp32"], None, None, [rounded])
    assert used.machine.precision == "fp32"


def test_a_phrase_based_run_has_no_last_checkpoint_to_translate_with(nmtlab, data):
    link_packed("small-tr-en.moses", Workspace(data))
    said = nmtlab("translate", "small-tr-en.moses", "--last", stdin=TEXT)
    assert said.err == "nmtlab: --last: run 'small-tr-en.moses' is phrase-based, without checkpoints; leave it out\n"
