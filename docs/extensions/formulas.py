r"""Formulas in the book as MathML, which browsers draw without a script; `\tag{3.6}` gives one its number.

Square roots are written as powers: without a font for mathematics, browsers leave out the radical sign.
"""

import re
from html import escape

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_TAG = re.compile(r"\\tag\{(.+?)\}")


def write_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def write_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a displayed formula, with its number at the right."""
    tag = _TAG.search(node.astext())
    number = f'<span class="eqno" style="float:right">({escape(tag[1])})</span>' if tag else ""
    formula = tex2mathml(_TAG.sub("", node.astext()), as_block=True)
    translator.body.append(f'<div class="math" style="display:block;text-align:center">{number}{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
