"""The commands on a run of several directions."""

import json
import re
import shutil

import pytest
from conftest import write_split

from nmtlab.cli.evaluate import Evaluations
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.lines import read_lines, write_lines

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SETTINGS = (
    "text.segmentation=bpe", "text.vocabulary_size=120", "training.validate_every=60", "training.max_evaluations=3",
    "training.lr_scale=2.0", "training.warmup_updates=40", "training.batch_tokens=400", "model.dropout=0.0",
    "model.d_model=32", "model.d_ff=64",
)  # fmt: skip
TRAIN = ("train", "tiny", "--recipe", "tiny.toml", *(word for one in SETTINGS for word in ("--set", one)))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Where the run is kept between tests."""
    return tmp_path_factory.mktemp("kept") / "many"


@pytest.fixture
def upper(data):
    """A corpus of upper-case German, called Dutch, and English."""
    folder = data / "corpora" / "upper"
    write_split(folder, "train", 100, seed=41)
    write_lines(folder / "train.nl", [line.upper() for line in read_lines(folder / "train.de")])
    write_lines(folder / "dev.nl", ["HUND", "KATZE HUND KIND"])
    write_lines(folder / "dev.en", ["dog it is", "cat dog child it is"])
    (folder / "train.de").unlink()
    return folder


@pytest.fixture
def many(nmtlab, data, upper, kept) -> Run:
    """The run `many`, trained by the command on two corpora, the first in both directions."""
    if not kept.exists():
        said = nmtlab(*TRAIN, "--name", "many", "--also", "tiny:en-de", "--also", "upper:nl-en", "--allow-overlap")
        assert said.code == 0, said.err
        assert re.search(r"dev BLEU +\d+\.\d\d  \(de-en \d+\.\d, en-de \d+\.\d, nl-en \d+\.\d\)  perplexity", said.out)
        shutil.copytree(data / "runs" / "many", kept)
    else:
        shutil.copytree(kept, data / "runs" / "many")
    return Run(data / "runs" / "many")


def test_text_is_translated_into_the_language_that_is_asked_for(nmtlab, many):
    for words, direction, text in (
        ((), ("de", "en"), "ein hund"),
        (("--to", "de"), ("en", "de"), "one dog"),
        (("--from", "nl"), ("nl", "en"), "EIN HUND"),
        (("--from", "nl", "--to", "de"), ("nl", "de"), "EIN HUND"),
    ):
        expected = open_system(many.directed(*direction)).translate([text])[0].text
        said = nmtlab("translate", "many", *words, stdin=f"{text}\n")
        assert (said.code, said.out) == (0, f"{expected}\n")
        more = ("--json", "--token-scores", "--alignments", "attention")
        (found,) = json.loads(nmtlab("translate", "many", *words, *more, stdin=f"{text}\n").out)["translations"]
        assert found["text"] == expected
        assert sum(found["tokens"]["log_probs"]) == pytest.approx(found["log_prob"], abs=1e-4)
        assert found["links"]["source_words"] == text.split()


def test_a_language_that_the_run_does_not_know_is_refused(nmtlab, many):
    said = nmtlab("translate", "many", "--to", "uz", stdin="ein hund\n")
    assert said == (2, "", "nmtlab: run 'many': does not translate de to uz; choose from de-en, en-de, nl-en\n")
    said = nmtlab("translate", "whole", "--to", "de", stdin="ein hund\n")
    assert said == (2, "", "nmtlab: run 'whole': does not translate de to de; choose from de-en\n")
    said = nmtlab("evaluate", "many", "--target", "uz")
    assert said == (2, "", "nmtlab: run 'many': does not translate de to uz; choose from de-en, en-de, nl-en\n")


def test_a_run_is_evaluated_in_its_first_direction_in_another_or_in_all(nmtlab, many):
    first = nmtlab("evaluate", "many").out
    assert first.startswith("many on tiny test (de to en, ")
    assert nmtlab("evaluate", "many", "--source", "de", "--target", "en").out == first
    other = nmtlab("evaluate", "many", "--target", "de").out
    assert other.startswith("many on tiny test (en to de, ")
    assert nmtlab("evaluate", "many", "--corpus", "upper", "--split", "dev").out.startswith(
        "many on upper dev (nl to en"
    )
    tests = nmtlab("evaluate", "many", "--all-directions").out
    assert tests.startswith(first + other)
    assert tests.splitlines()[-1].startswith("mean of 2 directions: BLEU ")
    every = nmtlab("evaluate", "many", "--all-directions", "--split", "dev").out
    scores = [float(score) for score in re.findall(r"^BLEU +(\S+)", every, re.MULTILINE)]
    assert len(scores) == 3
    mean = float(re.search(r"mean of 3 directions: BLEU (\S+),", every)[1])
    assert mean == pytest.approx(sum(scores) / 3, abs=0.01)
    answer = Evaluations.model_validate_json(nmtlab("evaluate", "many", "--all-directions", "--json").out)
    assert [one.target for one in answer.directions] == ["en", "de"]
    assert answer.bleu == pytest.approx(sum(one.bleu.score for one in answer.directions) / 2)
    assert nmtlab("evaluate", "many", "--all-directions", "--corpus", "tiny").code == 2


def test_searches_and_comparisons_take_a_direction(nmtlab, many):
    swept = nmtlab("beam-sweep", "many", "--target", "de", "--sample", 3, "--beams", "1,2")
    assert swept.code == 0, swept.err
    found = nmtlab("search-errors", "many", "--target", "de", "--sample", 2)
    assert found.code == 0, found.err
    shutil.copytree(many.folder, many.folder.parent / "again")
    compared = nmtlab("compare", "many", "again", "--target", "de")
    assert "tiny test, en to de" in compared.out
    said = nmtlab("compare", "many", "whole", "--target", "de")
    assert "corpus 'tiny' is en to de, run 'whole' translates de to en" in said.err


def test_a_run_names_its_directions_with_the_best_dev_bleu_of_each(nmtlab, many):
    shown = nmtlab("runs", "show", "many").out
    best = [
        max(line[name] for line in many.log.metrics("validation")["directions"]) for name in ("de-en", "en-de", "nl-en")
    ]
    expected = "best dev BLEU by direction: de-en {:.2f}, en-de {:.2f}, nl-en {:.2f}\n".format(*best)
    assert expected in shown
    assert "by direction" not in nmtlab("runs", "show", "whole").out


def test_a_run_of_several_directions_is_packed(nmtlab, many, tmp_path):
    said = nmtlab("runs", "pack", "many", "--weights", "--sentences", 3, "--licence", "CC0", "--to", tmp_path)
    assert said.code == 0, said.err
    assert nmtlab("runs", "unpack", tmp_path / "many.tar.xz", "--name", "unpacked").code == 0
    assert nmtlab("translate", "unpacked", "--to", "de", stdin="one dog\n").code == 0


def test_a_run_is_resumed_only_on_corpora_in_the_same_directions(nmtlab, many):
    resume = ("train", "tiny", "--name", "many", "--resume", "--recipe", "tiny.toml")
    words = [word for one in SETTINGS for word in ("--set", one)]
    said = nmtlab(*resume, *words, "--also", "tiny:en-de", "--also", "upper:en-nl")
    assert "was begun with more_corpora = ['tiny', 'upper:nl-en'], not ['tiny', 'upper:en-nl']" in said.err
    said = nmtlab(*resume, *words, "--also", "tiny:en-de", "--also", "upper:nl-en")
    assert "it has finished" in said.err
    assert "it has finished" in nmtlab(*resume, *words, "--also", "tiny", "--also", "upper").err


def test_every_corpus_is_trained_on_both_ways(nmtlab, data, upper):
    quick = ("--set", "training.validate_every=5", "--set", "training.max_evaluations=1")
    asked = (*TRAIN, *quick, "--name", "ways", "--also", "upper", "--both-ways", "--allow-overlap")
    assert nmtlab(*asked, "--estimate").out.startswith("corpus      tiny, tiny, upper, upper: ")
    said = nmtlab(*asked)
    assert said.code == 0, said.err
    directions = [("de", "en"), ("en", "de"), ("nl", "en"), ("en", "nl")]
    assert Run(data / "runs/ways").directions == directions
    assert "it has finished" in nmtlab(*asked, "--resume").err
    assert "it has finished" in nmtlab("train", "tiny", "--name", "ways", "--resume", "--both-ways").err


@pytest.mark.parametrize("named", ["upper:nl", "upper:nl-uz", "upper:", "upper:en-en", "upper:-"])
def test_a_direction_that_a_corpus_does_not_have_is_refused(nmtlab, upper, named):
    said = nmtlab(*TRAIN, "--name", "new", "--also", named)
    direction = named.partition(":")[2]
    assert (said.code, said.out) == (2, "")
    assert f"--also {named}: corpus 'upper' has no direction {direction!r}; name two of its languages" in said.err
