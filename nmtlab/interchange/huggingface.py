"""Import of a translation model from a folder as huggingface_hub stores it.

The result is an ordinary run, from which a new one can go on: recipe, vocabulary and weights in our form and order,
with their numbers unchanged. `architectures` and `vocabularies` say what becomes what.

Log-probabilities can differ from those of the transformers library in one respect: there the symbols that a search must
not generate, padding and M2M-100's `<s>`, take their share of the softmax; here they have no column.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.files import write_text
from nmtlab.interchange.architectures import M2M100, architecture_of, our_weights, settings_of
from nmtlab.interchange.folder import ModelFolder, check_memory
from nmtlab.interchange.schemas import Generation
from nmtlab.interchange.vocabularies import m2m_text, marian_text
from nmtlab.models.build import model_for, use_weights
from nmtlab.recipe import CorpusSettings, MachineSettings, Recipe, SearchSettings, load_recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.origin import IMPORTED
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import save_tensors
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.counting import counted
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.workspace import Workspace

_WIDEST_BEAM = 1000
"""Widest beam that is taken over from a stranger."""

_WITHOUT = {"no_repeat_ngram_size": 0, "repetition_penalty": 1.0, "min_length": 0, "suppress_tokens": None}
"""What a search of theirs can have and ours has not, and the value that means that it does not."""


def import_model(
    folder: Path | str,
    name: str,
    workspace: Workspace,
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),
    corpus: ParallelCorpus | None = None,
    half: bool = False,
) -> Run:
    """Make a run from a folder with a MarianMTModel, an M2M100ForConditionalGeneration, or one that nmtlab exported.

    Args:
        folder: config.json, weights, tokenizer models and vocabulary; nothing in it is executed.
        name: of the new run.
        workspace: where to put it.
        sources, targets: languages of either side; they may be left out where the folder names them. The run translates
            each source into each target.
        corpus: whose training text gives the counts of the types, which are otherwise unknown.
        half: store and use the weights in bfloat16.

    Raises:
        RunError: the folder is incomplete, damaged or of another architecture, or the name is taken; nothing is left.
    """
    target = workspace.run_folder(name)
    if target.exists():
        raise RunError(f"run {name!r}: already exists", "choose another --name")
    model = ModelFolder(Path(folder))
    architecture = architecture_of(model.kind)
    settings = settings_of(architecture, model.config)
    weights = model.weights()
    check_memory(weights, bytes_each=2 if half else 4)
    read = m2m_text if architecture is M2M100 and not model.has("source.spm") else marian_text
    text = read(model, (sources, targets), settings.shared_embeddings)
    ours = our_weights(weights, settings, text.rows)
    pipeline = counted(text.pipeline, corpus) if corpus else text.pipeline
    recipe = Recipe(
        about=f"{model.name}, an imported {architecture.name}",
        text=pipeline.settings,
        model=settings,
        search=_search(model),
        machine=MachineSettings(precision="bf16" if half else "fp32"),
        **_corpora(pipeline, corpus),
    )
    _check_fits(recipe, pipeline, ours)
    facts = {
        "model": model.name,
        "architecture": architecture.name,
        "counted": corpus.name if corpus else "",
        "notes": [*text.notes, *_left_out(_generation(model))],
    }

    def fill(unfinished: Path) -> None:
        write_text(unfinished / IMPORTED, json.dumps(facts, indent=1) + "\n")
        dtype = torch.bfloat16 if half else torch.float32
        stored = {name: tensor.to(dtype) for name, tensor in ours.items()}
        save_tensors(Run(unfinished).checkpoints.path("best"), stored, {"step": 0})

    checksum = corpus.checksum() if corpus else ""
    return Run.create(target, recipe, environment([checksum], torch.device("cpu")), pipeline, fill)


def _corpora(pipeline: Pipeline, corpus: ParallelCorpus | None) -> dict[str, object]:
    """Return the recipe's corpora: one for each direction, the named corpus first."""
    directions = [
        (source, target)
        for source in pipeline.source.languages
        for target in pipeline.target.languages
        if source != target or len(pipeline.source.languages) == 1
    ]
    named = corpus.direction if corpus else directions[0]
    first, *more = sorted(directions, key=lambda direction: direction != named)
    name = corpus.name if corpus else ""
    return {
        "corpus": CorpusSettings(name=name, source=first[0], target=first[1]),
        "more_corpora": tuple(CorpusSettings(source=source, target=target) for source, target in more),
    }


def _search(model: ModelFolder) -> SearchSettings:
    """Return the search of the recipe that nmtlab exports with a model; else the one that the library would use.

    Raises:
        RunError: it forbids types that ours can write, or its beam is too wide.
    """
    settings = _generation(model)
    unwritten = [[model.config["pad_token_id"]], [model.config["decoder_start_token_id"]]]
    for ids in settings.get("bad_words_ids") or []:
        if ids not in unwritten:
            raise RunError(
                f"bad_words_ids has {ids}: nmtlab cannot forbid types",
                "remove bad_words_ids from config.json and generation_config.json to import the model without it",
            )
    if model.has("recipe.toml"):
        search = load_recipe(model.path / "recipe.toml").search.decisive()
    else:
        power = settings.get("length_penalty")  # log p / |y|^power; 1 is the default
        search = {"score": "log-prob" if power == 0 else "average", "beam_size": settings.get("num_beams")}
    beam = search.get("beam_size") or SearchSettings().beam_size
    if beam > _WIDEST_BEAM:
        raise RunError(
            f"{model.path}: its search has a beam of {beam:,}, more than {_WIDEST_BEAM:,}", "make it smaller"
        )
    return SearchSettings(**{**search, "beam_size": beam})


def _generation(model: ModelFolder) -> dict[str, Any]:
    return {**model.config, **model.optional_json("generation_config.json", Generation)}


def _left_out(settings: Mapping[str, Any]) -> list[str]:
    """Return what the library's search has and ours has not, as a clause, if anything."""
    fields = [field for field, without in _WITHOUT.items() if settings.get(field, without) not in (without, None)]
    return [f"it is searched without {' and '.join(fields)}, which its configuration sets"] if fields else []


def _check_fits(recipe: Recipe, pipeline: Pipeline, weights: dict[str, Tensor]) -> None:
    with torch.device("meta"):
        model = model_for(recipe, pipeline)
    use_weights(model, weights)
