"""The book: settings of Sphinx. `./nmtlab.sh docs` builds it."""

import sys
from pathlib import Path

import nmtlab

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "nmtlab"
author = "the authors of nmtlab"
version = release = nmtlab.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += ["docstrings", "executed", "formulas", "generated", "measured"]  # those of docs/extensions
# The sources are the repository's documents where they are, so that their links hold here and there.
root_doc = "docs/index"
include_patterns = ["docs/**.md", "notebooks/*.ipynb", "benchmarks/README.md"]
include_patterns += ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [".*", "build", "data", "nmtlab", "tests", "**/.ipynb_checkpoints"]

nb_execution_mode = "off"  # the extension `executed` runs the notebooks, for their figures
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

napoleon_attr_annotations = False  # types stand in the signature
napoleon_custom_sections = ["Returns"]  # free text: what stands before its first colon is no type
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False  # there are none, and looking for them parses every function again
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
# Names of other libraries, private names and type variables have no place in the book.
nitpick_ignore_regex = [("py:.*", r"(?!nmtlab\.).*|.*\._\w+|.*\.(?:[A-Z]|\w+T)")]

html_theme = "sphinx_book_theme"
html_title = "nmtlab"
html_static_path = ["book.css"]
html_css_files = ["book.css"]
html_extra_path = ["start"]  # an index.html that leads to the first page
html_math_renderer = "mathml"
html_copy_source = False
html_theme_options = {
    "use_download_button": False,
    "use_fullscreen_button": False,
    "show_toc_level": 2,
    "navbar_persistent": [],  # the side bar has the search
}
