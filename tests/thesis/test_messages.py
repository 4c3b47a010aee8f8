"""Each message has claims, a figure of stored numbers and a finding that says them."""

import shutil
from pathlib import Path
from statistics import fmean

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.thesis.message import Message, Shown, Stored
from nmtlab.thesis.messages import MESSAGES
from nmtlab.workspace import RESULTS, Workspace

BY_KEY = {message.key: message for message in MESSAGES}


def of(message: Message, folder: Path) -> Shown:
    """Return what was found, from a folder with nothing but the results that the message is about."""
    tables = {asked.table for asked in message.asked} | {"lexical-choice", "child-size"}
    for table in tables:
        for path in RESULTS.glob(f"{table}.small*.csv*"):
            shutil.copy(path, folder)
    claims = [claim for claim in declared_claims() if claim.table.name in tables]
    return message.show(Stored(measured_claims(folder, claims, Workspace(folder)), folder))


def mean(table: str, metric: str, row: str, column: str) -> float:
    """Return a mean over seeds from the file."""
    cells = pd.read_csv(RESULTS / f"{table}.small.csv.xz")
    same = (cells["metric"] == metric) & (cells["row"] == row) & (cells["column"] == column)
    return fmean(cells.loc[same, "value"].dropna())


def difference(table: str, metric: str, row: str, column: str, than: str) -> float:
    return mean(table, metric, row, column) - mean(table, metric, row, than)


def drawn(shown: Shown) -> list[float]:
    """Return the numbers of a figure that are means: those of horizontal intervals, or of curves."""
    traces = [trace for trace in shown.figure.data if trace.name != "thesis"]
    return [float(number) for trace in traces for number in (trace.x if trace.error_x.array is not None else trace.y)]


def said(number: float, digits: int, sign: str = "") -> str:
    return f"{number:{sign}.{digits}f}".replace("-", "−")


def test_every_message_has_claims_that_are_declared_once():
    assert len(BY_KEY) == len(MESSAGES) == 9
    for message in MESSAGES:
        for asked in message.asked:
            assert len(asked.claims) == 1, asked


@pytest.mark.full
@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.key)
def test_a_message_has_a_small_figure_without_a_title_and_says_numbers(message, tmp_path):
    shown = of(message, tmp_path)
    assert len(drawn(shown)) >= 3
    assert shown.figure.layout.height == 200
    assert not shown.figure.layout.title.text
    assert any(letter.isdigit() for letter in shown.finding)
    assert "-0" not in shown.finding
    assert "nan" not in shown.finding
    assert shown.finding.endswith(".")
    assert shown.seeds == (3, 3)


@pytest.mark.full
def test_the_numbers_are_those_of_the_files(tmp_path):
    empty, shared = "PreNorm + fixnorm + ScaleNorm", "shared, many-to-one"
    expected = {
        "norms": (mean("lexical-choice", "norm-frequency", "qaa-en", "tied"), 2, ""),
        "attention": (mean("lexical-choice", "left-shift", "tu-en", "tied"), 1, ""),
        "depth": (mean("figure-3.7", "g-slope-encoder-feed-forward", "de-en", "with label smoothing"), 2, "+"),
        "gradients": (mean("figure-3.5", "gradient-norm", "qaa-en", "PostNorm + LayerNorm"), 2, ""),
        "lexicon": (difference("table-3.6", "test-bleu", "hu-en", "fixnorm+lex", "fixnorm"), 1, "+"),
        "empty": (mean("search-errors", "empty-global-best", "gl-en", empty), 0, ""),
        "relative": (mean("child-size", "test-bleu", "gl-en (500)", "BPE + transfer"), 1, ""),
        "many": (difference("many-languages", "detokenized-test-bleu", "pt-en", shared, "separate"), 1, "+"),
        "planned": (difference("length-planning", "bleu-log-prob-4", "gl-en", "planned", "ordinary"), 1, "+"),
    }
    assert [*expected] == [*BY_KEY]
    for key, (number, digits, sign) in expected.items():
        shown = of(BY_KEY[key], tmp_path)
        assert said(number, digits, sign) in shown.finding, key
        assert any(one == pytest.approx(number) for one in drawn(shown)), key


def test_a_message_whose_results_are_not_there_says_how_to_get_them(tmp_path):
    found = measured_claims(tmp_path, workspace=Workspace(tmp_path))
    for message in MESSAGES:
        with pytest.raises(NmtlabError, match="run 'nmtlab reproduce"):
            message.show(Stored(found, tmp_path))
