"""Initial weights of a child from its parent (thesis 3.1; Zoph et al. 2016)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import model_for
from nmtlab.models.interface import TranslationModel
from nmtlab.models.parts import has_one_table, part, vocabulary_side
from nmtlab.nn.low_rank import is_low_rank, merged
from nmtlab.recipe import Recipe
from nmtlab.recipe.transfer import TransferSettings
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.extending import (
    has_bytes,
    known_languages,
    other_code,
    tagged_sides,
    with_language,
    with_letters,
)
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tags import language_tag, origin_tag
from nmtlab.text.segmentation.vocabulary import Vocabulary
from nmtlab.training.inheritance import Inherited
from nmtlab.workspace import Workspace

_FREE = {
    "model": {
        "dropout", "variational", "init", "init_range", "lexicon_reads_dropped", "length_gradient", "adapter_width",
        "lora_rank", "lora_base", "clip_inputs",
    },
    "text": {
        "max_words", "max_subwords", "max_target_tokens", "min_frequency", "unk_copy_threshold", "vocabulary_size",
        "target_vocabulary_mask", "transliteration", "annotate_from",
    },
}  # fmt: skip
"""Settings in which a child may differ: weights do not depend on them, and vocabularies are matched type by type."""


def continued_recipe(parent: Run, recipe: Recipe) -> Recipe:
    """Return the recipe that goes on training a run: its model, text and search, and otherwise that of a recipe.

    The fields of the recipe's model section that its file sets replace the run's. An imported model's output keeps its
    biases, as where it comes from: M2M-100 has none. The low-rank changes of the run are merged into its weights, and
    there are new ones only if the recipe sets their rank.

    Raises:
        RunError: the run is phrase-based.
    """
    if not parent.recipe.model.neural:
        raise RunError(f"run {parent.name!r}: phrase-based, it has no weights", "choose a neural run")
    given = recipe.model.model_fields_set - {"family"}
    changes: dict[str, object] = {f"model.{field}": getattr(recipe.model, field) for field in given}
    changes |= {"transfer.parent": parent.name, "transfer.continued": True}
    if parent.recipe.text.segmentation == "imported":
        changes["transfer.output"] = "freeze"
    sections = {name: getattr(parent.recipe.without_low_rank(), name) for name in ("model", "text", "search")}
    return recipe.model_copy(update=sections).with_changes(changes)


def parent_of(recipe: Recipe, workspace: Workspace) -> Run | None:
    """Return the run that a training starts from, if any.

    Raises:
        RecipeError: a run is to be continued, and none is named.
        RunError: there is no such run.
    """
    if recipe.transfer.continued and not recipe.transfer.parent:
        raise RecipeError("transfer.continued goes on training a run, and none is named", "name it with --from")
    return open_run(recipe.transfer.parent, workspace) if recipe.transfer.parent else None


def check_parent(parent: Run, recipe: Recipe, trained: Sequence[ParallelCorpus], checksums: Sequence[str]) -> None:
    """Check that a run can be the parent of a training.

    Adapters may be added to a parent on its text (Bapna and Firat 2019), and a parent can be continued on it.

    Raises:
        RunError: the parent has no weights, is not neural, or differs in target language, architecture or segmentation;
            or it was trained on the child's text. A parent that is continued must have the child's languages and text
            settings, and something must be trained.
    """
    continued = recipe.transfer.continued
    may_share = continued or (recipe.model.adapters and not parent.recipe.model.adapters)
    where, sources = f"parent {parent.name!r}", {corpus.source for corpus in trained}
    if not parent.recipe.model.neural:
        raise RunError(f"{where}: phrase-based, it has no weights", "choose a neural run")
    if not parent.checkpoints.has_weights():
        raise RunError(f"{where}: has no weights", "choose a run with weights, or pack it with --weights")
    if recipe.model.low_rank and recipe.model.adapters and not parent.recipe.model.adapters:
        raise RunError(
            f"{where}: has no adapters, and those of model.adapter_width would not be trained beside model.lora_rank",
            "set one of them to 0",
        )
    for named, checksum in parent.trained_on:
        same = checksum in checksums and named.source in sources
        if same and not may_share:
            raise RunError(f"{where}: was trained on the child's text, {named.name}", "choose a different parent")
    known = parent.pipeline.source.languages, parent.pipeline.target.languages
    added = {recipe.transfer.add_tag}
    for target in (corpus.target for corpus in trained if corpus.target not in {*known[1], *added}):
        raise RunError(
            f"{where}: translates into {', '.join(known[1])}, the child into {target}",
            _with_language(parent, "target", target, continued) or f"choose a parent into {target}",
        )
    for source in (corpus.source for corpus in trained if corpus.source not in {*known[0], *added}):
        if continued:
            raise RunError(
                f"{where}: reads {', '.join(known[0])}, the text that it is to be continued on is in {source}",
                _with_language(parent, "source", source, continued) or f"choose a parent that reads {source}",
            )
    if continued:
        _check_pipeline_is_kept(parent, recipe, trained)
        _check_additions(parent, recipe, trained)
    if recipe.transfer.keep_optimiser:
        _check_optimiser_is_kept(parent, recipe)
    for section, free in (_FREE | ({"text": set()} if continued else {})).items():
        ours, theirs = (getattr(one, section).model_dump() for one in (recipe, parent.recipe))
        for field in theirs:
            if field not in free and ours.get(field) != theirs[field]:
                raise RunError(
                    f"{where}: {section}.{field} is {theirs[field]!r}, but {ours.get(field)!r} in the child",
                    f"train the child with --set {section}.{field}={theirs[field]}",
                )
    _check_trains(parent, recipe)


def _check_trains(parent: Run, recipe: Recipe) -> None:
    """Raise `RunError` if a recipe freezes all weights of a child, or with LoRA all maps that it could change."""
    if "freeze" not in recipe.transfer.uses:
        return
    with torch.device("meta"):
        model = model_for(recipe, parent.pipeline)
    freeze(model, recipe.transfer)
    if any(parameter.requires_grad for parameter in model.parameters()):
        return
    where = f"parent {parent.name!r}"
    if recipe.model.neural and recipe.model.low_rank:
        problem = "encoder and decoder, whose linear maps model.lora_rank changes, are frozen"
        raise RunError(f"{where}: {problem}", "set transfer.encoder or transfer.decoder to tune")
    raise RunError(f"{where}: all parts of its model are frozen, so that nothing is trained", "set one of them to tune")


def _check_pipeline_is_kept(parent: Run, recipe: Recipe, trained: Sequence[ParallelCorpus]) -> None:
    """Raise `RunError` if a training that goes on from a parent would need other subwords or tags than the parent's."""
    where = f"parent {parent.name!r}"
    if named := next((corpus.name for corpus in recipe.corpora if corpus.vocabulary_only), ""):
        raise RunError(
            f"{where}: a run that goes on from it has its subwords, and learns none from {named}",
            "leave out --vocabulary-from",
        )
    known = parent.pipeline.source.vocabulary.tags
    if unknown := next((one.origin for one in trained if one.origin and origin_tag(one.origin) not in known), ""):
        raise RunError(f"{where}: does not know the tag {origin_tag(unknown)}", "leave out the origin of the corpus")


def _check_additions(parent: Run, recipe: Recipe, trained: Sequence[ParallelCorpus]) -> None:
    """Raise `RunError` if a run that is continued cannot have the letters or the tag that a recipe adds."""
    where, settings, text = f"parent {parent.name!r}", recipe.transfer, parent.recipe.text
    if settings.add_letters and text.segmentation == "word":
        raise RunError(f"{where}: its types are words, to which no letter can be added", "leave out --add-letters")
    if settings.add_letters and all(map(has_bytes, (parent.pipeline.source, parent.pipeline.target))):
        raise RunError(f"{where}: writes unknown letters as bytes, so that none is UNK", "leave out --add-letters")
    imported = parent.recipe.text.segmentation == "imported"  # whose output rows are its embeddings
    tables = (settings.source_embedding, settings.target_embedding, *([] if imported else [settings.output]))
    frozen = "freeze" in tables
    if settings.add_letters and (recipe.model.low_rank or frozen):
        field = "transfer.source_embedding, target_embedding or output" if frozen else "model.lora_rank"
        raise RunError(
            f"{where}: the vectors of new letters would not be trained, by {field}",
            "set them to tune" if frozen else "train all weights: --recipe fine-tune",
        )
    if not (language := settings.add_tag):
        return
    known, tagged = known_languages(parent.pipeline), tagged_sides(parent.pipeline)
    sides = {side for one in trained for side in ("source", "target") if getattr(one, side) == language}
    if not known:
        raise RunError(f"{where}: has no tags of languages", "leave out --add-tag")
    if language in known:
        remedy = _with_language(parent, "source" if "source" in sides else "target", language)
        raise RunError(f"{where}: has a tag for {language}", remedy or "leave out --add-tag")
    if settings.like not in known:
        raise RunError(
            f"--like {settings.like}: parent {parent.name!r} has no tag for it", f"choose from {', '.join(known)}"
        )
    if not sides & tagged:
        raise RunError(f"--add-tag {language}: no text is in it, or none translates into it", "leave it out")
    if getattr(recipe.model, "language_vectors", False):
        raise RunError(f"{where}: has a vector for each of its languages, and none for {language}", "choose another")


def continued_pipeline(parent: Run, settings: TransferSettings, trained: Sequence[ParallelCorpus]) -> Pipeline:
    """Return the pipeline of a run that goes on from another on some corpora: its own, with what the settings add.

    The vector of a new letter, and its row of the output, begin as the mean over all types of text (Hewitt 2021): its
    logit is then the mean of theirs, so that n new types take at most a share n / (types + n) of the probability. The
    letters of its script alone would be nearer, but a new script has none. A new tag begins as another.
    """
    pipeline = parent.pipeline
    if settings.add_letters:
        pipeline = with_letters(pipeline, trained)
    if language := settings.add_tag:
        sides = (any(getattr(one, side) == language for one in trained) for side in ("source", "target"))
        pipeline = with_language(pipeline, language, (next(sides), next(sides)))
    return pipeline


def _with_language(parent: Run, side: str, language: str, continued: bool = True) -> str:
    """Return how a parent gets a language: imported again, or with a new tag; empty if it cannot."""
    tags, tagged = known_languages(parent.pipeline), side in tagged_sides(parent.pipeline)
    if parent.recipe.text.segmentation == "imported" and (language in tags or not tagged):
        return f"import the model again with --{side} {language}" + " too" * (language in tags)
    if tags and continued and language not in tags and tagged:
        code = other_code(parent.pipeline, language)
        renamed = f"name the files of the text as the run names the language (train.{code}), or " if code else ""
        return f"{renamed}give it a tag: --add-tag {language} --like LANGUAGE, one of {', '.join(tags)}"
    return ""


def _check_optimiser_is_kept(parent: Run, recipe: Recipe) -> None:
    """Raise `RunError` if a training cannot go on with the state of a parent's optimiser."""
    where, step = f"parent {parent.name!r}", parent.checkpoints.last_step
    if step is None or not parent.checkpoints.optimiser_path(step).exists():
        raise RunError(
            f"{where}: has no state of its optimiser, which only runs trained here have",
            "leave out transfer.keep_optimiser, or choose another parent",
        )
    uses, before = ({*one.transfer.uses, one.transfer.adapters} for one in (recipe, parent.recipe))
    grown = (recipe.model.adapters and not parent.recipe.model.adapters) or parent.recipe.model.low_rank
    if uses != {"tune"} or "freeze" in before or grown:
        problem = f"{where}: the state of its optimiser is not that of the parameters which the child trains"
        raise RunError(problem, "leave out transfer.keep_optimiser, or train all parts that the parent has trained")
    ours, theirs = recipe.training.optimiser, parent.recipe.training.optimiser
    if ours != theirs:
        raise RunError(
            f"{where}: was trained with {theirs}, whose state {ours} cannot go on with",
            f"train the child with --set training.optimiser={theirs}",
        )


def lineage(run: Run) -> str:
    """Return a run's name with what it was imported from, or trained on and, if continued, from."""
    if facts := run.origin.imported:
        return f"{run.name}, imported from {facts['model']}"
    names = ", ".join(dict.fromkeys(corpus.name for corpus, _ in run.trained_on))
    before = (run.inheritance or {}).get("origin", "")
    return f"{run.name}, trained on {names}{f', going on from {before}' if before else ''}"


def freeze(model: TranslationModel, settings: TransferSettings) -> None:
    """Exclude the frozen parts of a model from training, and all weights but low-rank changes if it has some."""
    low_rank = any(is_low_rank(name) for name, _ in model.named_parameters())
    for name, parameter in model.named_parameters():
        if getattr(settings, part(name)) == "freeze" or (low_rank and not is_low_rank(name)):
            parameter.requires_grad_(False)


def inherited_checkpoint(settings: TransferSettings) -> Which:
    """Return which checkpoint of its parent a child begins with: the best, or that which has an optimiser's state."""
    return "last" if settings.keep_optimiser else "best"


def child_at_start(child: Run, parent: Run) -> TranslationModel:
    """Return a child's model as its training began: drawn from its seed, with what it took over from its parent.

    Raises:
        RunError: the run did not start from this parent, or the parent has no weights.
    """
    inheritance, settings = child.inheritance, child.recipe.transfer
    if inheritance is None:
        raise RunError(f"run {child.name!r}: did not start from a parent", "choose a run trained with --parent")
    which = inherited_checkpoint(settings)
    digests = {parent.checkpoints.digest_of(which)}
    if which == "best":
        digests.add(parent.checkpoints.original_digest)  # of a run that has been packed since
    if inheritance["weights"] not in digests:
        raise RunError(
            f"run {child.name!r}: did not start from the weights of {parent.name!r}",
            f"choose its parent, {inheritance['parent']!r}, as it was then",
        )
    torch.manual_seed(child.recipe.training.seed)
    model = model_for(child.recipe, child.pipeline, child.model_table)
    weights, _ = parent.checkpoints.weights(which)
    inherit(model, child.pipeline, weights, parent.pipeline, settings, child.recipe.training.seed)
    return model.eval()


@torch.no_grad()
def inherit(
    model: TranslationModel,
    pipeline: Pipeline,
    weights: Mapping[str, Tensor],
    parent: Pipeline,
    settings: TransferSettings,
    seed: int,
) -> list[Inherited]:
    """Copy a parent's weights into a freshly initialised child; return what was done with each parameter.

    Raises:
        RunError: a parameter is to be frozen that the parent lacks.
    """
    parameters, weights = dict(model.named_parameters()), merged(weights)
    rows = parent_rows(model, pipeline, parent, settings, seed)
    reserved = {side: int((~getattr(pipeline, side).vocabulary.is_text).sum()) for side in ("source", "target")}
    report, low_rank = [], any(map(is_low_rank, parameters))
    for name, parameter in parameters.items():
        of, side = part(name), vocabulary_side(name)
        use = getattr(settings, of)
        if name not in weights:  # of a language that the parent lacks, of an adapter, or of a low-rank change
            if use == "freeze" and not is_low_rank(name):
                raise RunError(f"weight {name!r}: the parent lacks it", f"do not freeze it: set transfer.{of}=tune")
            use = "reset"
        elif low_rank and use == "tune":
            use = "freeze"
        kept = 0 if use == "reset" else _copy(parameter, weights[name], rows[side] if side else None)
        if side and use != "reset" and settings.continued:
            known = torch.from_numpy(getattr(parent, side).vocabulary.is_text)
            parameter[torch.from_numpy(rows[side] < 0)] = weights[name][known].float().mean(0).to(parameter)
        types = None if side is None else len(parameter) - reserved[side]
        report.append(Inherited(name, of, use, types, kept if side is None else max(0, kept - reserved[side])))
    return report


def parent_rows(
    model: TranslationModel, pipeline: Pipeline, parent: Pipeline, settings: TransferSettings, seed: int
) -> dict[str, np.ndarray]:
    """Return the parent's row for each type of a child, -1 for none, by side; arguments as of `inherit`."""
    if settings.continued:
        sides = (pipeline.source, parent.source), (pipeline.target, parent.target)
        tags = [language_tag(code, pipeline.settings.tag_form) for code in (settings.add_tag, settings.like) if code]
        rows = [_continued_rows(ours.vocabulary, theirs.vocabulary, tags) for ours, theirs in sides]
        return {"source": rows[0], "target": rows[1]}
    known = parent.source.vocabulary
    if has_one_table(model):
        # One table, trained on both sides, in all languages.
        known = replace(known, counts=known.counts + parent.target.vocabulary.counts)
    return {
        "source": _source_rows(pipeline.source.vocabulary, known, settings.source_types, seed),
        "target": shared_rows(pipeline.target.vocabulary, parent.target.vocabulary),
    }


def _continued_rows(child: Vocabulary, parent: Vocabulary, tags: Sequence[str]) -> np.ndarray:
    """Return the parent's row for each type of a run that goes on from it: -1 for new letters.

    Args:
        tags: a new tag, and that of which it has the row; empty for none.
    """
    rows = np.where(np.arange(child.size) < parent.size, np.arange(child.size), -1)
    if tags and tags[0] in child.tags:
        rows[child.tag_ids(tags[:1])] = parent.tag_ids(tags[1:])
    return rows


def shared_rows(child: Vocabulary, parent: Vocabulary) -> np.ndarray:
    """Return the parent's id of each type of a child, -1 for types that the parent's text lacks: (types,) int64.

    Special types and control tokens are always shared.
    """
    seen = (parent.counts > 0) | ~parent.is_text
    ids = {word: number for number, word in enumerate(parent.types) if seen[number]}
    return np.array([ids.get(word, -1) for word in child.types], dtype=np.int64)


def _source_rows(child: Vocabulary, parent: Vocabulary, match: str, seed: int) -> np.ndarray:
    """Return the parent's row for each source type of a child; special types and control tokens keep theirs."""
    rows = shared_rows(child, parent)
    if match == "random":
        words, others = len(rows) - child.reserved, np.arange(parent.reserved, parent.size)
        random = np.random.default_rng([seed, 31])
        rounds = -(-words // max(1, len(others)))
        rows[child.reserved :] = np.concatenate([random.permutation(others) for _ in range(rounds)])[:words]
    return rows


def _copy(parameter: Tensor, weights: Tensor, rows: np.ndarray | None) -> int:
    """Copy a parameter of the parent, or the rows that the child shares; return how many were copied."""
    if rows is None:
        parameter.copy_(weights)
        return 1
    there = np.flatnonzero(rows >= 0)
    parameter[torch.from_numpy(there)] = weights[torch.from_numpy(rows[there])].to(parameter)
    return len(there)
