"""The typed, frozen settings of one run, read from and written to TOML."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, get_args

import tomli_w
from pydantic import Field, ValidationError, model_validator

from nmtlab.errors import RecipeError, did_you_mean
from nmtlab.files import write_text
from nmtlab.reading import read_bytes
from nmtlab.recipe.bytenet import ByteNetSettings
from nmtlab.recipe.convolutional import ConvSettings
from nmtlab.recipe.corpus import CorpusSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.recipe.migrate import SCHEMA, migrate, new_name
from nmtlab.recipe.phrase import PhraseSettings
from nmtlab.recipe.rnn import RnnSettings
from nmtlab.recipe.search import SearchSettings
from nmtlab.recipe.section import Section, number_in
from nmtlab.recipe.text import TextSettings
from nmtlab.recipe.training import TrainingSettings
from nmtlab.recipe.transfer import TransferSettings
from nmtlab.recipe.transformer import TransformerSettings

ModelSettings = Annotated[
    TransformerSettings | RnnSettings | ConvSettings | ByteNetSettings | PhraseSettings, Field(discriminator="family")
]
"""The settings of one family of models."""


_MAX_BYTES = 1 << 20
"""Largest TOML file that is read as a recipe."""


class Recipe(Section):
    """Everything that determines a run: the same recipe, corpus and machine reproduce it."""

    about: str = ""
    """Purpose of the recipe, in one line."""

    corpus: CorpusSettings = Field(default_factory=CorpusSettings)

    more_corpora: tuple[CorpusSettings, ...] = ()
    """Additional training corpora, each a [[more_corpora]] table with the fields of [corpus]."""

    text: TextSettings = Field(default_factory=TextSettings)
    model: ModelSettings = Field(default_factory=TransformerSettings)
    transfer: TransferSettings = Field(default_factory=TransferSettings)
    training: TrainingSettings = Field(default_factory=TrainingSettings)
    search: SearchSettings = Field(default_factory=SearchSettings)
    machine: MachineSettings = Field(default_factory=MachineSettings)

    @property
    def corpora(self) -> tuple[CorpusSettings, ...]:
        """All training corpora; dev text of the first one decides when training stops."""
        return (self.corpus, *self.more_corpora)

    @property
    def trained_corpora(self) -> tuple[CorpusSettings, ...]:
        """All but those from which only subwords are learned."""
        return tuple(corpus for corpus in self.corpora if not corpus.vocabulary_only)

    @model_validator(mode="after")
    def _check(self) -> "Recipe":
        if self.corpus.vocabulary_only:
            raise ValueError("corpus.vocabulary_only is true, but the first corpus is trained on; leave it out")
        if not self.model.neural and any(one.rotation for one in self.corpora):
            raise ValueError("rotation is of neural training, which has epochs; leave it out")
        for field, off in (("replace_unknown", "false"), ("coverage", "0")):
            if getattr(self.search, field) and not self.model.attends:
                raise ValueError(f"search.{field} needs attention, which the model does not have; set it to {off}")
        if self.search.attention_temperature != 1 and not (self.model.neural and self.model.attends):
            raise ValueError("search.attention_temperature is of attention, which the model does not have; set it to 1")
        if self.search.int8 and not self.model.clips:
            raise ValueError("search.int8 rounds clipped inputs, but model.clip_inputs is 0; set it to false")
        if self.text.max_target_tokens and not self.model.neural:
            raise ValueError("text.max_target_tokens limits neural training alone; set it to 0, or use text.max_words")
        if self.search.block_ngrams and (not self.model.neural or self.model.plans_length):
            raise ValueError("search.block_ngrams is of neural models that plan no lengths; set it to 0")
        if self.text.length_bins and not self.model.neural:
            raise ValueError("text.length_bins is for neural models alone; leave it out")
        if self.search.length_bin >= (bins := self.text.length_bins) and self.search.length_bin >= 0:
            choice = f"choose from 0 to {bins - 1}" if bins else "leave it out"
            raise ValueError(f"search.length_bin is {self.search.length_bin}, but text.length_bins is {bins}; {choice}")
        if self.text.reversed_target and not self.model.neural:
            raise ValueError("text.reversed_target is for neural models alone; leave it out")
        if self.model.copies and not self.text.joint:
            raise ValueError(
                "model.copy_head copies source types, which then need target ids; set text.joint to true, or leave it "
                "out"
            )
        if self.text.annotate and not self.model.neural:
            raise ValueError("text.annotate is for neural models alone; leave it out")
        if self.model.neural and self.model.low_rank and not self.transfer.continued:
            raise ValueError(
                "model.lora_rank changes weights that are there already and needs a run to go on from; name it with "
                "--from, or set it to 0"
            )
        if self.model.neural and self.model.halves_base and self.machine.precision != "bf16":
            raise ValueError(
                "model.lora_base 'bf16' saves no memory with machine.precision 'fp32', which copies each matrix; "
                "set machine.precision to 'bf16'"
            )
        problems = (
            _going_on_problem, _risk_problem, _guided_problem, _sources_problem, _blank_problem, _context_problem,
            _drawn_problem,
        )  # fmt: skip
        if problem := next((problem for one in problems if (problem := one(self))), ""):
            raise ValueError(problem)
        one_table = self.text.joint and getattr(self.model, "shared_embeddings", False)
        uses = {self.transfer.source_embedding, self.transfer.target_embedding}
        if one_table and len(uses) > 1:
            raise ValueError(
                "transfer.source_embedding and transfer.target_embedding differ, but the model has one table for both; "
                "set model.shared_embeddings=false, or give both the same value"
            )
        if self.text.target_tag in ("decoder", "own") and self.model.family != "transformer":
            raise ValueError(
                f"text.target_tag {self.text.target_tag!r} gives the tag to a Transformer's decoder, which this model "
                "does not have; choose 'source'"
            )
        return self

    @property
    def teacher(self) -> str:
        """Name of the run whose distributions are learned besides the text; empty for none."""
        return (self.training.teacher or self.transfer.parent) if self.training.teacher_weight else ""

    def without_low_rank(self) -> "Recipe":
        """Return the recipe of the model whose low-rank changes, if it has some, are merged into its weights."""
        if not (self.model.neural and self.model.low_rank):
            return self
        return self.with_changes({"model.lora_rank": 0, "model.lora_base": "fp32"})

    def with_changes(self, changes: Mapping[str, Any]) -> "Recipe":
        """Return a copy with fields changed, as in `{"model.norm": "scale"}`.

        Raises:
            RecipeError: unknown field or invalid value; the message names it and a valid choice.
        """
        settings = self.model_dump()
        if changes.get("model.family", self.model.family) != self.model.family:
            settings["model"] = {}
        for field, value in changes.items():
            section, _, name = field.rpartition(".")
            _place(settings, section, field)[name] = value
        return _validated(settings, "recipe")

    def with_settings(self, settings: Iterable[str]) -> "Recipe":
        """Return a copy with fields set as on the command line: `model.norm=scale`.

        Raises:
            RecipeError: a setting without '=', an unknown field, or an invalid value.
        """
        return self.with_changes(dict(_parse_setting(setting) for setting in settings))

    def fields(self) -> dict[str, Any]:
        """Return all field values by full name, as in `model.norm`."""
        named: dict[str, Any] = {}
        for name, value in self.model_dump().items():
            named |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        return named

    def save(self, path: Path | str) -> None:
        """Write the complete recipe to a TOML file."""
        write_text(Path(path), tomli_w.dumps({"schema": SCHEMA, **self.model_dump()}))

    def described(self) -> str:
        """Return the recipe as TOML with an explanation above every field."""
        lines = [f"schema = {SCHEMA}", f"about = {_toml(self.about)}"]
        help_ = type(self).model_fields["more_corpora"].description
        lines += [] if self.more_corpora else [f"# {help_}", "more_corpora = []"]
        for name, section in self:
            if not isinstance(section, Section):
                continue
            lines += ["", f"# {(type(section).__doc__ or '').splitlines()[0]}", f"[{name}]"]
            for key, field in type(section).model_fields.items():
                lines += [f"# {field.description}", f"{key} = {_toml(getattr(section, key))}"]
        lines += ["", f"# {help_}"] if self.more_corpora else []
        for number, corpus in enumerate(self.more_corpora):
            lines += [*([""] if number else []), "[[more_corpora]]"]
            lines += [f"{key} = {_toml(value)}" for key, value in corpus]
        return "\n".join(lines) + "\n"


def _going_on_problem(recipe: Recipe) -> str:
    """Return why what holds a continued run near its parent does not fit the recipe; empty if it does."""
    transfer, training = recipe.transfer, recipe.training
    holding = {
        "transfer.anchor": transfer.anchor != "none", "transfer.tune_out": transfer.tune_out > 0,
        "transfer.keep_zeros": transfer.keep_zeros,
    }  # fmt: skip
    needed = holding | {"transfer.keep_optimiser": transfer.keep_optimiser}
    if transfer.anchor == "none" and transfer.anchor_weight != type(transfer).model_fields["anchor_weight"].default:
        return "transfer.anchor_weight is set, but transfer.anchor is none; set that to l2 or ewc, or leave out both"
    added = next((field for field in ("add_letters", "add_tag") if getattr(transfer, field)), "")
    needed["training.teacher_weight"] = bool(added and training.teacher_weight)
    for field in (field for field, is_set in needed.items() if is_set):
        if not transfer.continued:
            return f"{field} needs a run to go on from; name it with --from, and in a file set transfer.continued, too"
        if added:
            return f"{field} knows nothing of what transfer.{added} adds; add that first, and go on from that run"
        if recipe.model.neural and recipe.model.low_rank:
            return f"{field} is of a parent's weights, which model.lora_rank leaves as they are; leave out one of them"
    if (holds := _first_set(holding)) and "tune" not in transfer.uses:
        return f"{holds} holds what is trained of the parent, which is nothing; leave it out, or tune some part"
    if transfer.keep_zeros and transfer.keep_optimiser:
        return "transfer.keep_zeros: a kept optimiser moves what was 0; set transfer.keep_optimiser=false"
    if training.teacher and not training.teacher_weight:
        return "training.teacher is named, but training.teacher_weight is 0; set it to 0.01, or leave out the teacher"
    if training.teacher_temperature != 1 and not training.teacher_weight:
        return "training.teacher_temperature is set, but training.teacher_weight is 0; set it to 0.5, or leave out both"
    if training.teacher_weight and not (training.teacher or transfer.continued):
        return "training.teacher_weight needs a teacher; name a run with training.teacher, or with --from"
    return ""


def _sources_problem(recipe: Recipe) -> str:
    """Return why a recipe cannot combine several sources; empty if it can, or need not."""
    trained = recipe.trained_corpora
    if not any(corpus.also_sources for corpus in trained):
        return ""
    field, model = "corpus.also_sources", recipe.model
    sources = {(corpus.source, *corpus.also_sources) for corpus in trained}
    if len(sources) > 1 and all(corpus.source for corpus in trained):
        return f"{field}: every corpus needs the same sources, in the same order; give each its source and also_sources"
    if not model.combines_sources:
        return f"{field} needs a model that combines sources; set model.family to rnn or transformer"
    if not model.attends:
        return f"{field} are attended to, but model.attention is 'none'; set another attention"
    if model.plans_length:
        return f"{field}: model.plan_length is of one source; set it to false"
    if model.lexical_table:
        return f"{field}: model.lexicon 'table' is of one source; set it to 'none' or 'module'"
    if isinstance(model, RnnSettings) and model.lexical_module and model.combine != "joint":
        return "model.lexicon 'module' reads what one attention weighs; set model.combine to 'joint'"
    if model.mixes_experts and recipe.teacher:
        return "model.combine 'mixture': the experts learn from the text; set training.teacher_weight to 0"
    if isinstance(model, RnnSettings) and model.combine == "flat" and model.attention == "additive":
        return "model.combine 'flat' needs a product as its score; set model.attention to 'general'"
    of_one = {
        "text.annotate": recipe.text.annotate, "text.length_bins": recipe.text.length_bins,
        "model.copy_head": model.copies, "model.grammar": model.selects_heads,
        "training.guided_attention": recipe.training.guided_attention,
    }  # fmt: skip
    if other := _first_set(of_one):
        return f"{field}: {other} is of one source; leave one of them out"
    if recipe.transfer.parent or recipe.transfer.continued:
        return f"{field}: a run of several sources starts from no other; leave out the parent"
    return ""


def _first_set(fields: Mapping[str, object]) -> str:
    """Return the name of the first field that is set; empty if none is."""
    return next((name for name, is_set in fields.items() if is_set), "")


def _blank_problem(recipe: Recipe) -> str:
    """Return why a recipe cannot learn from blank sources; empty if it can, or need not."""
    trained = recipe.trained_corpora
    if not any(corpus.blank_source for corpus in trained):
        return ""
    field = "corpus.blank_source"
    if not recipe.model.neural:
        return f"{field} is for neural models alone; leave it out"
    learns_types = not (recipe.text.joint or recipe.transfer.continued)
    if learns_types and all(corpus.blank_source for corpus in trained):
        return f"{field} leaves no text to learn source types from; set text.joint to true"
    if len({corpus.target for corpus in trained if corpus.target}) > 1 and recipe.text.target_tag == "source":
        return f"{field}: a blank sentence cannot name one of several target languages; leave the others out"
    reading = {
        "text.annotate": recipe.text.annotate, "text.length_bins": recipe.text.length_bins,
        "model.copy_head": recipe.model.copies, "model.lexicon 'table'": recipe.model.lexical_table,
        "training.guided_attention": recipe.training.guided_attention,
    }  # fmt: skip
    if other := _first_set(reading):
        return f"{field}: {other} reads source words; leave one of them out"
    return ""


def _context_problem(recipe: Recipe) -> str:
    """Return why a recipe cannot read sentences in context; empty if it can, or need not."""
    if not recipe.text.context:
        return ""
    if not recipe.model.neural:
        return "text.context is for neural models alone; leave it out"
    of_sentences = {
        "corpus.also_sources": any(corpus.also_sources for corpus in recipe.corpora),
        "model.lexicon 'table'": recipe.model.lexical_table, "model.grammar": recipe.model.selects_heads,
        "model.plan_length": recipe.model.plans_length, "model.copy_head": recipe.model.copies,
        "training.guided_attention": recipe.training.guided_attention,
    }  # fmt: skip
    if other := _first_set(of_sentences):
        return f"text.context: {other} is of a sentence alone; leave one of them out"
    return ""


def _drawn_problem(recipe: Recipe) -> str:
    """Return why no segmentations can be drawn of a recipe's text; empty if they can, or need not be."""
    if recipe.training.segmentations == 1:
        return ""
    if not recipe.model.neural or recipe.text.segmentation not in ("bpe", "unigram"):
        return "training.segmentations draws subwords of bpe or unigram for a neural model; leave it out"
    if recipe.text.annotate:
        return "training.segmentations draws no pieces beside suggestions; leave it or text.annotate out"
    return ""


def _risk_problem(recipe: Recipe) -> str:
    """Return why a recipe cannot minimise a risk; empty if it can, or need not."""
    if recipe.training.risk == "none":
        if recipe.training.risk_form != "expected" or recipe.training.risk_reference:
            return "training.risk_form and risk_reference are of a risk, and training.risk is none; set it to a score"
        return ""
    if not recipe.transfer.continued:
        return (
            "training.risk needs a parent to continue, as the samples of an untrained model are noise; name a run with "
            "--from, and in a file set transfer.continued, too"
        )
    if recipe.model.plans_length:
        return "training.risk samples translations, but not their lengths, which this model plans; set it to none"
    if not recipe.model.neural:
        return "training.risk samples translations, which a phrase-based system cannot; set it to none"
    if recipe.machine.compile:
        return "training.risk samples translations, which is not compiled; set machine.compile=false"
    if recipe.training.risk == "hit-gleu" and not recipe.text.annotate:
        return "training.risk = 'hit-gleu' counts suggestions, and text.annotate is 0; set it to gleu"
    if recipe.training.risk_form == "expected" and recipe.training.risk_samples == 1:
        return "training.risk_samples = 1 has no other sample to be compared with; set it to 2 or more"
    if recipe.training.risk_form == "self-critical" and recipe.training.risk_reference:
        return "training.risk_reference is no sample, and a self-critical risk is of samples alone; set it to false"
    return ""


def _guided_problem(recipe: Recipe) -> str:
    """Return why a recipe cannot guide attention; empty if it can, or need not."""
    if not recipe.training.guided_attention:
        return ""
    if not recipe.model.neural or not recipe.model.attends:
        return "training.guided_attention guides attention, which this model does not have; set it to 0"
    if recipe.training.risk != "none":
        return "training.guided_attention is of the text's own targets, and a risk of samples; leave out one of them"
    if recipe.machine.compile:
        return "training.guided_attention records attention, which is not compiled; set machine.compile=false"
    return ""


def load_recipe(path: Path | str) -> Recipe:
    """Read a recipe from a TOML file, which may extend a named recipe with `base = "NAME"`.

    Raises:
        RecipeError: no such file, not TOML, unknown field, or invalid value.
    """
    path = Path(path)
    try:
        text = read_bytes(path, _MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RecipeError(f"recipe {path}: cannot be read ({reason})", "give the path of a TOML file") from error
    return _from_toml(text, str(path))


def named_recipe(name: str) -> Recipe:
    """Return one of the recipes that come with nmtlab.

    Raises:
        RecipeError: no such recipe.
    """
    if name not in recipe_names():
        raise RecipeError(
            f"recipe {name!r}: unknown", f"{did_you_mean(name, recipe_names())}'nmtlab recipes list' shows them all"
        )
    return _from_toml((_named() / f"{name}.toml").read_text(encoding="utf-8"), f"recipe {name!r}")


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name, or from a TOML file when `name` ends in `.toml`."""
    return load_recipe(Path(name)) if name.endswith(".toml") else named_recipe(name)


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with nmtlab."""
    return sorted(entry.name.removesuffix(".toml") for entry in _named().iterdir() if entry.name.endswith(".toml"))


def _named() -> Any:
    return resources.files("nmtlab.recipe") / "named"


@lru_cache(maxsize=1024)  # a page lists hundreds of runs
def _from_toml(text: str, where: str) -> Recipe:
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{where}: not TOML ({error})", "fix that line") from error
    except RecursionError as error:
        raise RecipeError(f"{where}: brackets or tables nested too deeply", "a recipe needs no nesting") from error
    settings = migrate(settings, where)
    base = settings.pop("base", None)
    if base is None:
        return _validated(settings, where)
    merged = named_recipe(str(base)).model_dump()
    for key, value in settings.items():
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        both = both and value.get("family") in (None, merged[key].get("family"))
        merged[key] = {**merged[key], **value} if both else value
    return _validated(merged, where)


def _validated(settings: dict[str, Any], where: str) -> Recipe:
    if isinstance(settings.get("model", {}), dict):
        settings["model"] = {"family": "transformer", **settings.get("model", {})}
    try:
        return Recipe.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise _explained(first, where) from error


def _explained(error: Any, where: str) -> RecipeError:
    location = list(error["loc"])
    family = location.pop(1) if len(location) > 1 and location[0] == "model" else "transformer"  # the union's branch
    field = ".".join(part for part in location if isinstance(part, str))  # without list indices
    if error["type"] == "extra_forbidden":
        return _unknown_field(field, where, family)
    if error["type"] == "union_tag_invalid":
        return RecipeError(
            f"{where}: model.family = {error['ctx']['tag']!r} is not allowed", f"choose one of {', '.join(_families())}"
        )
    if error["type"] == "value_error":
        problem, _, remedy = str(error["ctx"]["error"]).partition("; ")
        return RecipeError(f"{where}: {field}: {problem}" if field else f"{where}: {problem}", remedy)
    return RecipeError(
        f"{where}: {field} = {error['input']!r} is not allowed", error["msg"][0].lower() + error["msg"][1:]
    )


def _unknown_field(field: str, where: str, family: str = "transformer") -> RecipeError:
    section, _, name = field.rpartition(".")
    sections = _sections(family)
    known = [
        "about",
        *sections,
        *(f"{title}.{key}" for title, fields in sections.items() for key in fields.model_fields),
    ]
    homes = [full for full in known if full.rpartition(".")[2] == name]
    near = difflib.get_close_matches(field, known, n=1, cutoff=0.5)
    if renamed := new_name(section, name):
        remedy = f"it is now called {section}.{renamed}"
    elif homes:
        remedy = f"it belongs at {homes[0]}"
    elif near:
        remedy = f"did you mean {near[0]}?"
    elif section in sections:
        remedy = "choose one of " + ", ".join(f"{section}.{key}" for key in sections[section].model_fields)
    else:
        remedy = "choose one of " + ", ".join(["about", *sections])
    owners = [kind for kind, fields in _families().items() if section == "model" and name in fields.model_fields]
    if owners and not homes:
        remedy = f"only models of family {' and '.join(owners)} have it, and this one is of family {family}"
    return RecipeError(f"{where}: {field}: no such field", remedy)


def _place(settings: dict[str, Any], section: str, field: str) -> dict[str, Any]:
    if section == "":
        return settings
    if not isinstance(settings.get(section), dict):
        raise _unknown_field(field, "recipe")
    return settings[section]


def _parse_setting(setting: str) -> tuple[str, Any]:
    field, equals, text = setting.partition("=")
    if not equals:
        raise RecipeError(f"setting {setting!r}: no value", "write it as section.field=value")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        number = number_in(text)  # .5, which TOML does not have
        value = text.strip() if number is None else number
    return field.strip(), value


def _families() -> dict[str, type[Section]]:
    """Return the settings class of each model family."""
    return {kind.model_fields["family"].default: kind for kind in get_args(Recipe.model_fields["model"].annotation)}


def _sections(family: str) -> dict[str, type[Section]]:
    """Return the section classes of a recipe whose model is of that family."""
    kinds = {name: field.annotation for name, field in Recipe.model_fields.items() if name != "about"}
    return {**kinds, "more_corpora": CorpusSettings, "model": _families()[family]}  # type: ignore[dict-item]


def _toml(value: Any) -> str:
    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()
