"""The scores of a run in all its directions."""

import json
import shutil

import pandas as pd
import pytest

from nmtlab.analysis.access.scores import score_texts
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.directions import (
    DIRECTION_SCORES,
    parallel_texts,
    stored_direction_scores,
)
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.parameters import PARAMETER_COUNTS
from nmtlab.analysis.languages.pivot import pivoted
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.setup import train
from nmtlab.views_languages import costs_table, insides_table, probe_view, similarity_view


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
    assert list(similarity_view(copies.shared, corpora).frame["layer"]) == [0, 1, 2]
    assert list(probe_view(copies.halves, corpora).frame["units"]) == ["all", "shared", "private"] * 3


def test_the_costs_of_a_run_are_its_parameters_and_what_its_log_has_of_tokens(copies, tmp_path):
    run = Run(shutil.copytree(copies.halves.folder, tmp_path / "halves"))
    lines = [
        {"kind": "train", "step": step, "loss": 1.0, "terms": {}, "perplexity": 2.0, "gradient_norm": 1.0, "rate": 0.1,
         "tokens_per_second": speed, "seconds": seconds}
        for step, speed, seconds in ((10, 1e5, 10.0), (20, 2e5, 15.0))
    ]  # fmt: skip
    write_lines(run.folder / "metrics.jsonl", map(json.dumps, lines))
    (row,) = costs_table([run]).frame.to_dict("records")
    counts = PARAMETER_COUNTS.of(run).set_index("count")["total"] / 1e6
    assert row == {"system": "halves", **counts, "target tokens": pytest.approx(1 + 1), "tokens/s": 150_000}


def test_without_texts_views_show_what_is_stored_with_a_run(copies, tmp_path):
    new = shutil.ignore_patterns("measures")
    run = Run(shutil.copytree(copies.shared.folder, tmp_path / "one", ignore=new))
    with pytest.raises(RunError, match=r"'one': has no stored answer of "):
        similarity_view(run)
    for view in (similarity_view, probe_view):
        measured = view(run, copies.corpora)
        pd.testing.assert_frame_equal(view(run).frame, measured.frame)
    GRADIENT_COSINES.of(run, corpora=list(copies.corpora), split="dev")
    assert insides_table([run.labelled("shared")]).frame["system"].tolist() == ["shared"]
