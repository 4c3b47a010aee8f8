"""What a page loads of Voila comes as one script."""

import re
from pathlib import Path

from voila.paths import collect_static_paths

from nmtlab.dashboards.serving.parts import parts
from nmtlab.dashboards.serving.server import _WIDGETS


def test_the_script_has_every_part_that_voila_asks_for_at_its_start_and_of_each_extension():
    script = parts(_WIDGETS)
    base = next(path for path in map(Path, collect_static_paths(["voila"], "base")) if (path / "voila.js").exists())
    names = re.findall(r"\.e\((\d+)\)", (base / "voila.js").read_text())
    there = [base / f"{name}.voila.js" for name in names if (base / f"{name}.voila.js").exists()]
    assert len(there) > 30
    assert all(f"push([[{file.name.split('.')[0]}" in script for file in there)
    for name in ("webpackChunk_anywidget", "jupyter_widgets_jupyterlab_manager", "dashboards_widgets_manager8"):
        assert name in script


def test_no_part_offers_mathjax_so_that_none_is_loaded():
    script = parts(_WIDGETS)
    assert "@jupyterlab/mathjax-extension:plugin" in script
    assert not re.search(r"provides:\w+\.ILatexTypesetter", script)
