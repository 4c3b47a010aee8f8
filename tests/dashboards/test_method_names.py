"""Methods of pages and of parts of pages have names that ipywidgets does not use itself."""

import importlib
import inspect
import pkgutil

from ipywidgets import Widget

import nmtlab.dashboards
from nmtlab.dashboards.frame.page import Page


def hidden(kind: type) -> list[str]:
    """Return the methods of a class of nmtlab that hide one of the classes of others that it is made of."""
    theirs = [base for base in kind.__mro__ if base is not object and not base.__module__.startswith("nmtlab")]
    ours = [name for name, value in vars(kind).items() if inspect.isfunction(value) and not name.startswith("__")]
    return [name for name in ours if any(name in vars(base) for base in theirs)]


def test_no_widget_hides_a_method_of_ipywidgets():
    modules = pkgutil.walk_packages(nmtlab.dashboards.__path__, "nmtlab.dashboards.")
    kinds = {
        kind
        for module in modules
        for kind in vars(importlib.import_module(module.name)).values()
        if isinstance(kind, type) and issubclass(kind, Widget) and kind.__module__.startswith("nmtlab")
    }
    assert Page in kinds
    assert {kind.__name__: found for kind in kinds if (found := hidden(kind))} == {}


def test_a_method_that_would_be_hidden_is_found():
    class Comparing(Page):
        def _compare(self) -> None:
            """Hide `Widget._compare`, which tells traits apart."""

    Comparing.__module__ = "nmtlab.dashboards.pages.comparing"
    assert hidden(Comparing) == ["_compare"]
