"""Short names of runs that a person can tell apart."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from nmtlab.recipe import Recipe, named_recipe, recipe_names
from nmtlab.runs.run import Run

_SEED = "training.seed"
_TEACHER = "training.teacher"
_NO_CHANGE = ("about", "corpus", "more_corpora", "machine", "transfer.parent", _SEED)
"""Sections and fields that are no changes to the recipe of a system."""

_QUIET = ("training.validate_every", "training.max_evaluations", "training.patience", "training.save_minutes", "search")
"""Sections and fields that are named only where runs would be alike otherwise."""

_PARTS = tuple(f"transfer.{part}" for part in ("source_embedding", "encoder", "decoder", "target_embedding", "output"))
"""Uses of the parts that every parent has."""

_LAYERS = ("model.layers", "model.encoder_layers", "model.decoder_layers")

_SEED_OF_TEXT = re.compile(r"\.s\d+(?=\.|$)")

_LONG = 100
"""Characters beyond which a name leaves out what its other words imply."""


def labelled(runs: Sequence[Run]) -> list[Run]:
    """Return views of runs that are shown together, each with its short name as its label."""
    labels = short_names(runs)
    return [run.labelled(labels[run.name]) for run in runs]


def short_names(runs: Sequence[Run], seedless: Collection[str] = ()) -> dict[str, str]:
    """Return a short name for each run, made of what it does not share with all the others.

    That is its corpus, its system (`system_name`), its number of layers, its parent's corpus if another, what else was
    changed in the recipe of the system, and its seed. A change counts if the run's name states it or if it tells the
    run from another one of the same corpus, system, layers and parent. Systems that are not named after a recipe have
    the switches that only some of them have on, since their names need not say so.

    Args:
        runs: with different names.
        seedless: full names of runs that stand for several seeds; their own is left out.

    Returns:
        By full name, in their order. A single run keeps its name, as do runs that would still be alike.
    """
    if len(runs) < 2:
        return {run.name: run.name for run in runs}
    short = {run.name: "" for run in runs}
    for quiet in (_QUIET, ()):
        short = _with_those_alike(short, _of_what_differs(_facts(runs, quiet, seedless)))
    short = _with_those_alike(short, {name: name for name in short})
    return short if len(set(short.values())) == len(short) else {name: name for name in short}


def _with_those_alike(labels: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Return labels, those that are not unique replaced by others."""
    taken = Counter(labels.values())
    return {name: others[name] if taken[label] > 1 else label for name, label in labels.items()}


def system_name(run: Run) -> str:
    """Return the recipe that a run is named after; if none, its name without corpus and seed."""
    parts = run.name.split(".")
    named = next((part for part in parts if part in _named_fields()), "")
    rest = [part for part in parts if part not in (run.recipe.corpus.name, f"s{run.recipe.training.seed}")]
    return named or ".".join(rest) or run.name


def stated_changes(run: Run) -> str:
    """Return the changes to its system that a run's name states, and its parent: `init xavier, from parent-pt-en`."""
    changed = _changed(run, _settings(run, _QUIET))
    words = _words({field: value for field, value in changed.items() if _is_stated(field, run)})
    return ", ".join([*words.values(), *filter(None, [_parent(run)])])


def layers(recipe: Recipe) -> str:
    """Return the number of layers: `2`, or `6+2` if encoder and decoder differ; empty for a phrase-based system."""
    return "+".join(map(str, dict.fromkeys(recipe.model.depth)))


def in_words(field: str, value: object) -> str:
    """Return a setting in words: `label smoothing 0`, `fixnorm`, `no fixnorm`."""
    name = field.rpartition(".")[2].replace("_", " ")
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def _words(changed: Mapping[str, Any]) -> dict[str, str]:
    """Return settings in words, by field; parts of a parent with the same use are named together."""
    words = {field: in_words(field, value) for field, value in changed.items()}
    for use in ("freeze", "reset"):
        alike = [part for part in _PARTS if changed.get(part) == use]
        if len(alike) > 1:
            named = " and ".join(part.rpartition(".")[2] for part in alike) if len(alike) < len(_PARTS) else "all parts"
            rest = {field: text for field, text in words.items() if field not in alike}
            words = {alike[0]: in_words(named, use), **rest}
    return words


def _of_what_differs(facts: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return, for each run, those of its facts that are not the same for all."""
    keys = dict.fromkeys(key for of_run in facts.values() for key in of_run)
    values = {key: {of_run.get(key, "") for of_run in facts.values()} for key in keys}
    values["seed"].discard("")  # of a phrase-based system, or of several seeds
    labels = {}
    for name, of_run in facts.items():
        told = {key: text for key, text in of_run.items() if text and len(values[key]) > 1}
        if len(", ".join(told.values())) > _LONG:
            told = _without_implied(told, [other for other in facts.values() if _heading(other) == _heading(of_run)])
        labels[name] = ", ".join(told.values()) or of_run["system"]
    return labels


def _without_implied(told: Mapping[str, str], alike: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return facts of a run without those that all runs `alike` have which have an earlier one of them."""
    kept: dict[str, str] = {}
    for key, text in told.items():
        settings = [other for other in kept if "." in other]
        with_each = [[run for run in alike if run.get(other) == kept[other]] for other in settings]
        if "." not in key or not any(all(run.get(key) == text for run in runs) for runs in with_each):
            kept[key] = text
    return kept


def _heading(facts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the facts of a run that are no settings of its recipe, without its seed."""
    return tuple(text for key, text in facts.items() if "." not in key and key != "seed")


def _facts(runs: Sequence[Run], quiet: Sequence[str], seedless: Collection[str]) -> dict[str, dict[str, str]]:
    """Return what tells each run from others, in words and in the order in which a label says it.

    Args:
        runs: any.
        quiet: sections and fields whose changes are left out.
        seedless: full names of runs whose seed is left out.
    """
    systems, depths = _systems(runs), {layers(run.recipe) for run in runs}
    heads = {run.name: _head(run, systems[run.name], len(depths - {""}) > 1) for run in runs}
    settings = {run.name: _settings(run, quiet) for run in runs}
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}  # settings by head
    for name, head in heads.items():
        alike.setdefault(tuple(head.values()), []).append(settings[name])
    unnamed = {run.name: settings[run.name] for run in runs if system_name(run) not in _named_fields()}
    facts = {}
    for run in runs:
        others = alike[tuple(heads[run.name].values())]
        told = _words(
            {
                field: value
                for field, value in _changed(run, settings[run.name]).items()
                if _is_stated(field, run) or any(other.get(field) != value for other in others)
            }
        )
        told |= {
            field: in_words(field, value)
            for field, value in unnamed.get(run.name, {}).items()
            if value is True and not all(other.get(field) for other in unnamed.values())
        }
        if run.name in seedless:  # it may be trained on text made by a run of its seed
            heads[run.name]["corpus"] = _SEED_OF_TEXT.sub("", heads[run.name]["corpus"])
        seed = f"seed {run.recipe.training.seed}" if run.recipe.model.neural and run.name not in seedless else ""
        facts[run.name] = {**heads[run.name], **told, "seed": seed}
    return facts


def _head(run: Run, system: str, of_depths: bool) -> dict[str, str]:
    """Return the first facts of a run; its number of layers only if there are runs `of_depths` other than its own."""
    recipe, pair = run.recipe, f"{run.recipe.corpus.source}-{run.recipe.corpus.target}"
    deep = of_depths and _changed(run, recipe.fields()).keys() & set(_LAYERS)
    return {
        "corpus": recipe.corpus.name if pair in recipe.corpus.name else f"{recipe.corpus.name} {pair}",
        "more": _beside(run),
        "system": system,
        "layers": f"{layers(recipe)} layer{'s' * (layers(recipe) != '1')}" if deep else "",
        "parent": "" if _text(run.name) == _text(recipe.transfer.parent) else _parent(run),
    }


def _beside(run: Run) -> str:
    """Return the other texts of a run, by the words that its name has for them: `and back-translated-4`."""
    names = [corpus.name for corpus in run.recipe.more_corpora]
    if not names:
        return ""
    beginning, system = f"{run.recipe.corpus.name}.", system_name(run)
    stated, found, _ = run.name.removeprefix(beginning).partition(f".{system}")
    if run.name.startswith(beginning) and found:
        return f"and {stated}"
    return f"and {', '.join(names) if len(names) < 3 else f'{len(names)} more'}"


def _parent(run: Run) -> str:
    parent = _text(run.recipe.transfer.parent)
    return f"from {parent}" if parent else ""


def _teacher(run: Run) -> str:
    """Return the run's teacher without its seed, and without its text if that is the run's."""
    return re.sub(r"\.s\d+$", "", run.recipe.training.teacher.removeprefix(f"{run.recipe.corpus.name}."))


def _text(name: str) -> str:
    """Return the part of a run's name that says what it was trained on."""
    return name.split(".")[0]


def _systems(runs: Sequence[Run]) -> dict[str, str]:
    """Return the system of each run; what all those not named after a recipe share in their names is left out."""
    systems = {run.name: system_name(run) for run in runs}
    own = {name: system.split(".") for name, system in systems.items() if system not in _named_fields()}
    shared = set.intersection(*map(set, own.values())) if len(own) > 1 else set()
    short = {name: ".".join(part for part in parts if part not in shared) for name, parts in own.items()}
    return {name: short.get(name) or system for name, system in systems.items()}


def _settings(run: Run, quiet: Sequence[str]) -> dict[str, Any]:
    without = {*_NO_CHANGE, *_LAYERS, *quiet}
    fields = {**run.recipe.fields(), _TEACHER: _teacher(run)}
    return {field: value for field, value in fields.items() if not {field, field.partition(".")[0]} & without}


def _changed(run: Run, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the recipe that a run is named after; none if there is no such recipe."""
    base = _named_fields().get(system_name(run), settings)
    return {field: value for field, value in settings.items() if base.get(field) != value}


def _is_stated(field: str, run: Run) -> bool:
    """Return whether a run's name has a part like `label_smoothing-0` for a field."""
    return any(part.startswith(f"{field.rpartition('.')[2]}-") for part in run.name.split("."))


@lru_cache(maxsize=1)
def _named_fields() -> dict[str, dict[str, Any]]:
    """Return the fields of every recipe that comes with nmtlab."""
    return {name: named_recipe(name).fields() for name in recipe_names()}
