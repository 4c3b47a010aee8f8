"""`nmtlab evaluate --contrast`: how often the right one of two translations is likelier."""

import json

import pytest
import torch
from statsmodels.stats.proportion import proportion_confint

from nmtlab.analysis.comparison.contrasts import contrasts, read_contrasts
from nmtlab.cli.evaluate import Contrast
from nmtlab.models.interface import output_index
from nmtlab.systems import open_model

PAIRS = [
    ("ein hund singt", "one dog sings", "one cat sings"),
    ("eine katze sieht", "cat one sees", "one cat sees"),
    ("ein kind", "one child", "one dog"),
    ("ein kind geht", "one child goes", "child goes"),
]


@pytest.fixture
def pairs(data, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join("\t".join(pair) + "\n" for pair in PAIRS), encoding="utf-8")
    return path


def expected(run) -> list[bool]:
    """Return whether the right translation is likelier, each scored by itself."""
    system = open_model(run)
    found = []
    for source, right, wrong in PAIRS:
        scores = []
        for text in (right, wrong):
            ids = system.pipeline.source_ids(source), system.pipeline.target_ids(text)
            memory = system.model.encode(torch.tensor([ids[0]]))
            state, score = system.model.start(memory), 0.0
            for before, token in zip([1, *ids[1]], ids[1], strict=False):
                step = system.model.step(state, torch.tensor([[before]]))
                column = output_index(step.state.output_ids, torch.tensor([[token]]))
                score, state = score + step.log_probs[0, 0, column].item(), step.state
            scores.append(score)
        found.append(scores[0] > scores[1])
    return found


def test_accuracy_is_the_share_of_pairs_whose_right_translation_is_likelier(nmtlab, pairs, learned):
    right = expected(learned)
    assert contrasts(open_model(learned), read_contrasts(pairs))["correct"].tolist() == right
    said = nmtlab("evaluate", "whole", "--contrast", pairs, "--json")
    assert said.code == 0, said.err
    answer = Contrast.model_validate_json(said.out)
    assert (answer.pairs, answer.correct) == (4, sum(right))
    assert answer.wrong_lines == [line for line, one in enumerate(right, start=1) if not one]
    assert (answer.low, answer.high) == pytest.approx(proportion_confint(sum(right), 4, method="wilson"))
    shown = nmtlab("evaluate", "whole", "--contrast", pairs).out
    assert f"likelier in {sum(right)} of 4 pairs" in shown
    assert json.loads(said.out)["accuracy"] == sum(right) / 4


def test_with_right_and_wrong_exchanged_the_others_are_right(learned, tmp_path):
    path = tmp_path / "exchanged.tsv"
    path.write_text("".join(f"{source}\t{wrong}\t{right}\n" for source, right, wrong in PAIRS), encoding="utf-8")
    found = contrasts(open_model(learned), read_contrasts(path))["correct"].tolist()
    assert found == [not one for one in expected(learned)]


def test_a_split_has_no_say_in_pairs_of_a_file(nmtlab, pairs):
    said = nmtlab("evaluate", "whole", "--contrast", pairs, "--split", "dev")
    assert said.code == 2
    assert "--contrast: scores a run on the pairs of its file" in said.err


@pytest.mark.parametrize(
    ("line", "problem"),
    [("ein hund\tone dog", "line 2"), ("a\tb\tb", "line 2"), ("a\t \tb", "line 2"), ("a\tb\tc\td", "line 2")],
)
def test_a_line_that_is_no_pair_is_named(nmtlab, pairs, line, problem):
    pairs.write_text(f"a\tb\tc\n{line}\n", encoding="utf-8")
    said = nmtlab("evaluate", "whole", "--contrast", pairs)
    assert said.code == 2
    assert problem in said.err
    assert "separate the three by tabs" in " ".join(said.err.split())


def test_an_empty_file_and_other_texts_are_refused(nmtlab, pairs):
    for others in (("--corpus", "tiny"), ("--beam", 3), ("--ter",), ("--spbleu",)):
        assert "leave out" in nmtlab("evaluate", "whole", "--contrast", pairs, *others).err
    said = nmtlab("evaluate", "whole", "--contrast", pairs, "--set", "search.beam_size=3")
    assert (said.code, "--set search.beam_size=3 and --contrast: given translations are scored" in said.err) == (
        2,
        True,
    )
    pairs.write_text("")
    assert "empty" in nmtlab("evaluate", "whole", "--contrast", pairs).err
