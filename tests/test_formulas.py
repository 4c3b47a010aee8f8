"""The formulas of the book, without building it."""

import re
from pathlib import Path

import pytest

latex2mathml = pytest.importorskip("docutils.utils.math.latex2mathml", reason="needs the extra docs")
DOCS = Path(__file__).parents[1] / "docs"
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\\$])\$([^$\n]+)\$(?!\$)", re.DOTALL)


def formulas(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = (shown or inline for shown, inline in FORMULA.findall(text))
    return [re.sub(r"\\tag\{.*?\}", "", one) for one in found]  # the book sets the number beside the formula


def test_there_are_formulas_and_a_command_that_mathml_lacks_is_an_error():
    assert len(formulas(DOCS / "systems" / "convolutional.md")) > 10
    with pytest.raises(latex2mathml.MathError, match="dots"):
        latex2mathml.tex2mathml(r"x_1 \dots x_n")


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: str(page.relative_to(DOCS)))
def test_every_formula_can_be_shown(page):
    for formula in formulas(page):
        shown = latex2mathml.tex2mathml(formula)
        assert "<msqrt" not in shown  # needs a font that a reader may lack: write x^{1/2}
