"""The scores of a run in all its directions."""

import json
import math
import shutil

import pandas as pd
import pytest

from nmtlab.analysis.access.scoring import score_texts
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.directions import (
    DIRECTION_SCORES,
    directions_figure,
    parallel_texts,
    pivoted,
    stored_direction_scores,
)
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.layers import INSIDES, LANGUAGE_BY_LAYER, SIMILARITY_BY_LAYER
from nmtlab.analysis.languages.parameters import COSTS, PARAMETER_COUNTS
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.setup import train

HOSTILE = "<script>alert(1)</script>"
SCORES = pd.DataFrame(
    [("gl", "en", True, 23.44), ("en", "gl", True, 20.0), ("pt", "en", True, 30.0), ("pt", "gl", False, 8.06)],
    columns=["source", "target", "trained", "bleu"],
)


@pytest.fixture(scope="module")
def both_ways(copies, tiny_recipe):
    """A run from de into en and from en into nl: de to nl is zero-shot."""
    changes = {
        "text.segmentation": "bpe", "text.vocabulary_size": 90, "training.validate_every": 20,
        "training.max_evaluations": 1, "training.batch_tokens": 400,
        "more_corpora": [{"name": "copies", "source": "en", "target": "nl"}],
    }  # fmt: skip
    return train("both", tiny_recipe.with_changes(changes), copies.corpora[0], copies.workspace)


def test_a_text_in_several_languages_has_all_directions_of_a_run(copies, both_ways):
    test, dev = parallel_texts(both_ways, copies.workspace)
    assert (test.name, dev.name) == ("copies test", "copies dev")
    assert [corpus.direction for corpus in test.corpora] == [("de", "en"), ("de", "nl"), ("en", "nl")]
    assert [corpus.direction for corpus in test.into("nl")] == [("de", "nl"), ("en", "nl")]
    text, _ = parallel_texts(copies.shared, copies.workspace)
    assert [corpus.direction for corpus in text.corpora] == [("de", "en"), ("nl", "en")]


def test_a_folder_that_is_no_text_of_several_directions_is_not_offered(copies, both_ways, trained):
    folder = copies.workspace.data / "corpora" / "odd"
    for name in ("test.de", "test.en", "test.en.gz", "notes.txt"):
        write_lines(folder / name, ["one"])
    assert "odd test" not in [text.name for text in parallel_texts(both_ways, copies.workspace)]
    assert parallel_texts(trained[0], copies.workspace) == []


def test_every_direction_is_scored_and_only_stored_translations_are_shown_at_first(copies, both_ways):
    text, _ = parallel_texts(both_ways, copies.workspace)
    assert stored_direction_scores(both_ways, text.corpora).empty
    first = text.corpora[1]
    lines = translations(both_ways, first, "test")
    (row,) = stored_direction_scores(both_ways, text.corpora).to_dict("records")
    expected = score_texts(lines, first.references("test"), "nl")
    assert row == {
        "source": "de", "target": "nl", "trained": False, "corpus": "copies",
        **{name: expected[name] for name in ("sentences", "bleu", "chrf")},
    }  # fmt: skip
    assert DIRECTION_SCORES.stored(both_ways, corpora=list(text.corpora)) is None
    done: list[int] = []
    table = DIRECTION_SCORES.of(both_ways, corpora=list(text.corpora), on_progress=done.append)
    assert sum(done) == 3 * row["sentences"]
    assert table["trained"].tolist() == [True, False, True]
    assert DIRECTION_SCORES.stored(both_ways, corpora=list(text.corpora)).equals(table)
    assert stored_direction_scores(both_ways, text.corpora).equals(table)


def test_english_is_the_language_between_under_the_code_of_the_run(copies, both_ways):
    text = parallel_texts(both_ways, copies.workspace)[0].corpora[1]
    assert pivoted(both_ways, text, through="eng_Latn").equals(pivoted(both_ways, text))


def test_views_show_what_was_measured(copies):
    corpora = copies.corpora
    assert list(SIMILARITY_BY_LAYER.view(copies.shared, corpora=corpora).frame["layer"]) == [0, 1, 2]
    assert (
        list(LANGUAGE_BY_LAYER.view(copies.halves, corpora=corpora).frame["units"]) == ["all", "shared", "private"] * 3
    )


def test_the_costs_of_a_run_are_its_parameters_and_what_its_log_has_of_tokens(copies, tmp_path):
    run = Run(shutil.copytree(copies.halves.folder, tmp_path / "halves"))
    lines = [
        {"kind": "train", "step": step, "loss": 1.0, "terms": {}, "perplexity": 2.0, "gradient_norm": 1.0, "rate": 0.1,
         "tokens_per_second": speed, "seconds": seconds}
        for step, speed, seconds in ((10, 1e5, 10.0), (20, 2e5, 15.0))
    ]  # fmt: skip
    write_lines(run.folder / "metrics.jsonl", map(json.dumps, lines))
    (row,) = COSTS.numbers(run).frame.to_dict("records")
    counts = PARAMETER_COUNTS.of(run).set_index("count")["total"] / 1e6
    assert row == {"system": "halves", **counts, "target tokens": pytest.approx(1 + 1), "tokens/s": 150_000}


def test_without_texts_views_show_what_is_stored_with_a_run(copies, tmp_path):
    new = shutil.ignore_patterns("measures")
    run = Run(shutil.copytree(copies.shared.folder, tmp_path / "one", ignore=new))
    with pytest.raises(RunError, match=r"'one': has no stored answer of "):
        SIMILARITY_BY_LAYER.view(run)
    for analysis in (SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER):
        measured = analysis.view(run, corpora=copies.corpora)
        pd.testing.assert_frame_equal(analysis.view(run).frame, measured.frame)
    GRADIENT_COSINES.of(run, corpora=list(copies.corpora), split="dev")
    assert INSIDES.numbers([run.labelled("shared")]).frame["system"].tolist() == ["shared"]


def test_the_matrix_of_directions_marks_those_that_were_not_trained():
    figure = directions_figure(SCORES, title=HOSTILE)
    (matrix,) = figure.data
    assert (list(matrix.y), list(matrix.x)) == (["gl", "en", "pt"], ["gl", "en"])
    assert matrix.text.tolist() == [["", "<b>23.4</b>"], ["<b>20.0</b>", ""], ["8.1<br>zero-shot", "<b>30.0</b>"]]
    assert matrix.z[2][0] == 8.06
    assert math.isnan(matrix.z[0][0])
    assert (matrix.zmin, matrix.zmax) == (0, 30)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("target language", "source language")
    assert (
        figure.layout.title.text == "BLEU of all directions, trained ones bold: &lt;script&gt;alert(1)&lt;/script&gt;"
    )


def test_the_matrix_of_chrf_says_so():
    figure = directions_figure(SCORES.rename(columns={"bleu": "chrf"}), "chrf")
    assert figure.layout.title.text == "chrF of all directions, trained ones bold"
