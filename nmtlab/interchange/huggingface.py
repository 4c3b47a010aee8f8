"""Import of a translation model from a folder as huggingface_hub stores it.

The result is an ordinary run that cannot be trained further: recipe, vocabulary and weights in our form and order, with
their numbers unchanged. `architectures` and `vocabularies` say what becomes what.

Log-probabilities can differ from those of the transformers library in one respect: there the symbols that a search must
not generate, padding and M2M-100's `<s>`, take their share of the softmax; here they have no column.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.files import write_text
from nmtlab.interchange.architectures import M2M100, architecture_of, our_weights, settings_of
from nmtlab.interchange.folder import ModelFolder, check_memory
from nmtlab.interchange.vocabularies import m2m_text, marian_text
from nmtlab.models.build import use_weights
from nmtlab.recipe import CorpusSettings, MachineSettings, Recipe, SearchSettings, load_recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.run import IMPORTED, Run
from nmtlab.runs.writer import RunWriter
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.counting import counted
from nmtlab.text.pipeline import Pipeline
from nmtlab.training.prepare import model_for
from nmtlab.workspace import Workspace

_WEIGHTS = "checkpoints/best.safetensors"


def import_model(
    folder: Path,
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
    model = ModelFolder(folder)
    architecture = architecture_of(model.config)
    settings = settings_of(architecture, model.config)
    weights = model.weights()
    check_memory(weights, bytes_each=2 if half else 4)
    read = m2m_text if architecture is M2M100 else marian_text
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
    facts = {"model": model.name, "architecture": architecture.name, "counted": corpus.name if corpus else ""}

    def fill(unfinished: Path) -> None:
        write_text(unfinished / IMPORTED, json.dumps(facts, indent=1) + "\n")
        dtype = torch.bfloat16 if half else torch.float32
        RunWriter(Run(unfinished)).save_best({name: tensor.to(dtype) for name, tensor in ours.items()}, {"step": 0})

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
    """Return the search of the recipe that nmtlab exports with a model; else the one that the library would use."""
    if model.has("recipe.toml"):
        return load_recipe(model.path / "recipe.toml").search
    settings = {**model.config, **model.optional_json("generation_config.json")}
    beam, power = settings.get("num_beams"), settings.get("length_penalty")  # log p / |y|^power; 1 is the default
    return SearchSettings(
        beam_size=beam if isinstance(beam, int) and beam > 0 else SearchSettings().beam_size,
        score="log-prob" if power == 0 else "average",
    )


def _check_fits(recipe: Recipe, pipeline: Pipeline, weights: dict[str, Tensor]) -> None:
    with torch.device("meta"):
        model = model_for(recipe, pipeline)
    use_weights(model, weights)
