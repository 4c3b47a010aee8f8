"""The fields of a recipe with their explanations, and an editor of the selected one."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Guarded
from nmtlab.recipe import Recipe
from nmtlab.recipe.explained import ExplainedField, explained_fields


class SettingsEditor(widgets.VBox):
    """A table of a recipe's fields; a new value of the selected one is validated and written into the settings.

    Args:
        settings: text with the changed settings, as in `model.dropout=0.2 model.norm=scale`.
    """

    def __init__(self, settings: widgets.Text, guarded: Guarded) -> None:
        self._settings, self._guarded = settings, guarded
        self._recipe, self._shown = Recipe(), ("", "")
        self.table = Table("Settings of the recipe: select one to change it", pick="one", height="21em")
        self.explanation, self._box = Note(), widgets.Box()
        super().__init__([self.table, self._box, self.explanation])

    def show(self, recipe: Recipe, changed: Recipe) -> None:
        """Show the fields of a recipe, with the values of its changed copy."""
        self._recipe = recipe
        before = {field.name: field.value for field in explained_fields(recipe)}
        fields = {field.name: field for field in explained_fields(changed)}
        shown = pd.DataFrame([_line(field, before) for field in fields.values()], index=list(fields))
        self.table.show(shown if shown["in the recipe"].any() else shown.drop(columns="in the recipe"))
        if selected := fields.get(self.table.value):
            default = before.get(selected.name, selected.value)
            was = f" The recipe has {default or 'no text'}." if default != selected.value else ""
            self.explanation.say(f"{selected.name} ({selected.allowed}): {selected.explanation}{was}")
            self._edit(selected)

    def _edit(self, field: ExplainedField) -> None:
        if self._shown == (field.name, field.value):
            return  # a new control would take the focus away
        self._shown = (field.name, field.value)
        look = {"description": "New value", "value": field.value, "layout": {"width": "26em"}}
        if field.choices:
            control = widgets.Dropdown(options=field.choices, **look)
        else:
            control = widgets.Text(continuous_update=False, **look)
        control.observe(lambda change: self._set(field.name, change["new"].strip()), "value")
        self._box.children = [control]

    def _set(self, name: str, value: str) -> None:
        """Add a setting if it is valid, or remove it if it is the recipe's value."""
        with self._guarded():
            others = [setting for setting in self._settings.value.split() if setting.partition("=")[0] != name]
            changed = self._recipe.with_settings([*others, f"{name}={value}"])
            if changed != self._recipe.with_settings(others):
                others.append(f"{name}={value}")
            self._settings.value = " ".join(others)


def _line(field: ExplainedField, before: dict[str, str]) -> dict[str, str]:
    default = before.get(field.name, field.value)
    return {
        "setting": field.name,
        "value": field.value,
        "in the recipe": default if default != field.value else "",
        "explanation": field.explanation,
        "allowed": field.allowed,
    }
