"""nmtlab: an interactive workbench for low-resource neural machine translation.

The names that scripts and notebooks use most are exported here; for the rest see docs/reference. Names are
loaded on first use, so that importing nmtlab is quick.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "NmtlabError": "nmtlab.errors",
    "ParallelCorpus": "nmtlab.text.corpora.corpus",
    "Pipeline": "nmtlab.text.segmentation.pipeline",
    "ProgressBar": "nmtlab.progress",
    "Recipe": "nmtlab.recipe",
    "Run": "nmtlab.runs.run",
    "ArtificialSettings": "nmtlab.text.artificial",
    "Translator": "nmtlab.translation",
    "Workspace": "nmtlab.workspace",
    "compare_texts": "nmtlab.analysis.access.scoring",
    "find_recipe": "nmtlab.recipe",
    "import_gettext": "nmtlab.text.importers.gettext",
    "import_sacrebleu": "nmtlab.text.importers.sacrebleu",
    "import_table": "nmtlab.text.importers.tabular",
    "import_text": "nmtlab.text.importers.text",
    "list_runs": "nmtlab.runs.listing",
    "open_corpus": "nmtlab.text.corpora.corpus",
    "open_fastest": "nmtlab.interchange.engine",
    "open_run": "nmtlab.runs.listing",
    "open_system": "nmtlab.systems",
    "recipe_names": "nmtlab.recipe",
    "score_texts": "nmtlab.analysis.access.scoring",
    "train": "nmtlab.training.setup",
    "translations": "nmtlab.analysis.access.translations",
    "write_corpus": "nmtlab.text.artificial",
}

__all__ = sorted(_ROOMS)


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'nmtlab' has no attribute {name!r}")
    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
