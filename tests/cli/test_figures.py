"""`nmtlab figures`, on a trained run."""

import shutil

import pytest
from support.child_sizes import results_of

KINDS = ("norms", "dev", "gradients")


def chromium() -> bool:
    return any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", "chrome"))


def test_each_figure_is_one_file_that_needs_nothing_else(nmtlab, data, tmp_path):
    said = nmtlab("figures", "--no-pictures")
    assert said.code == 0
    for kind in KINDS:
        page = (tmp_path / f"figures/tiny.{kind}.html").read_text(encoding="utf-8")
        assert "Plotly.newPlot" in page
        assert "whole" in page
        assert 'src="http' not in page
        assert f"tiny.{kind}.html" in said.out
    assert not list((tmp_path / "figures").glob("*.png"))


def test_only_the_runs_that_are_named(nmtlab, data, tmp_path):
    shutil.copytree(data / "runs/whole", data / "runs/other")
    assert nmtlab("figures", "other", "--no-pictures", "--to", "drawn").code == 0
    page = (tmp_path / "drawn/tiny.dev.html").read_text(encoding="utf-8")
    assert '"name":"other"' in page
    assert '"name":"whole"' not in page


def test_measured_tables_on_transfer_have_figures_unless_runs_are_named(nmtlab, data, tmp_path):
    row, scores = "gl-en (500)", {"BPE": [5.0, 5.5, 6.0], "BPE + transfer": [7.0, 7.5, 8.0]}
    larger = {"BPE": [9.0, 9.5, 10.0]}
    (data / "results").mkdir()
    children = results_of("child-size", {row: scores, "gl-en (2,000)": larger})
    children.to_csv(data / "results/child-size.small.csv", index=False)
    assert nmtlab("figures", "whole", "--no-pictures").code == 0
    assert not list((tmp_path / "figures").glob("child-size*"))
    shutil.rmtree(data / "runs")
    said = nmtlab("figures", "--no-pictures")
    assert said.code == 0
    assert (tmp_path / "figures/child-size.small.html").is_file()
    results_of("figure-3.1", {"gl-en (4,000)": scores}, "dev-bleu").to_csv(
        data / "results/figure-3.1.small.csv", index=False
    )
    (data / "results/child-size.small.csv").rename(data / "results/child-size.thesis.csv")  # of undeclared sizes
    shutil.rmtree(tmp_path / "figures")
    assert nmtlab("figures", "--no-pictures").code == 0
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["figure-3.1.small.html"]


@pytest.mark.full
def test_pictures_for_a_document(nmtlab, data, tmp_path):
    if not chromium():
        pytest.skip("needs Chrome or Chromium")
    assert nmtlab("figures", "whole").code == 0
    assert (tmp_path / "figures/tiny.norms.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "figures/tiny.norms.pdf").read_bytes().startswith(b"%PDF")


def test_without_a_browser_it_is_said_and_the_rest_is_written(nmtlab, data, tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.cli.figures._browser_is_there", lambda: False)
    said = nmtlab("figures", "whole")
    assert said.code == 0
    assert "no Chrome or Chromium was found" in said.out
    assert (tmp_path / "figures/tiny.norms.html").exists()


def test_no_runs_and_unknown_runs_are_told(nmtlab, data):
    assert "nowhere" in nmtlab("figures", "nowhere").err
    shutil.rmtree(data / "runs")
    said = nmtlab("figures")
    assert said.code == 2
    assert "no runs yet" in said.err
