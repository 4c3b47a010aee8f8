"""Training of a phrase-based system into a run: the Moses of thesis 3.2 (Koehn et al. 2003, 2007)."""

import os
import time
from collections.abc import Callable

import torch

from nmtlab.baselines.decoder import PhraseDecoder, Weights, write_manifest
from nmtlab.baselines.phrase_models import learn_phrases
from nmtlab.baselines.translator import PhraseTranslator, target_tokens, training_tokens
from nmtlab.baselines.tuning import tune_weights
from nmtlab.errors import RecipeError, RunError
from nmtlab.evaluation.scores import bleu, default_tokenizer
from nmtlab.files import temporary_folder
from nmtlab.language_model import learn_language_model, tune_language_model
from nmtlab.recipe import PhraseSettings, Recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.run import MODELS, Run
from nmtlab.runs.writer import RunWriter
from nmtlab.text.checks.inspection import check_texts
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.workspace import Workspace


def train_phrase(
    name: str,
    recipe: Recipe,
    corpus: ParallelCorpus,
    workspace: Workspace,
    on_step: Callable[[str], None] = lambda what: None,
    should_stop: Callable[[], bool] = lambda: False,
    allow_overlap: bool = False,
) -> Run:
    """Train a phrase-based system into a new run, which appears only when it is complete.

    Phrases and language model are learned from train, the weights from dev. `on_step` is called with each step as it
    begins; a stopped training keeps nothing. Other arguments are as of `training.setup.train`.

    Raises:
        NmtlabError: a problem that the user can fix.
        RunError: the run already exists, or the training was stopped.
    """
    if not isinstance(recipe.model, PhraseSettings):
        raise RecipeError(
            f"model.family = {recipe.model.family!r}: not phrase-based", "choose the recipe moses, or one built on it"
        )
    settings = recipe.model
    if recipe.more_corpora:
        raise RecipeError(
            "more_corpora: a phrase-based system learns from one corpus",
            "leave it out, or join the corpora with 'nmtlab corpus join'",
        )
    folder = workspace.run_folder(name)
    if folder.exists():
        raise _taken(name)

    def report(what: str) -> None:
        poll()
        on_step(what)

    def poll() -> None:
        if should_stop():
            raise RunError(f"run {name!r}: stopped before the end, and not kept", "train it again")

    started = time.perf_counter()
    report("checking the corpus")
    _, overlap = check_texts([corpus], allow_overlap)
    checksum = corpus.checksum()
    recipe = recipe.with_changes(
        {"corpus.name": corpus.name, "corpus.source": corpus.source, "corpus.target": corpus.target}
    )
    report("learning the vocabulary")
    pipeline = Pipeline.learn(recipe.text, corpus)
    workspace.runs.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as unfinished:
        run = Run.create(
            unfinished / name, recipe, environment([checksum], torch.device("cpu"), overlap=overlap), pipeline
        )
        score = _learn(run, settings, corpus, report, poll)
        seconds = round(time.perf_counter() - started, 3)
        writer = RunWriter(run)
        writer.log("validation", 1, bleu=score, seconds=seconds)
        writer.log("end", 1, status="finished", seconds=seconds)
        try:
            os.rename(run.folder, folder)
        except OSError:
            raise _taken(name) from None  # by another process, meanwhile
    return Run(folder)


def _learn(
    run: Run, settings: PhraseSettings, corpus: ParallelCorpus, report: Callable[[str], None], poll: Callable[[], None]
) -> float:
    """Learn and tune the models of a run and return dev BLEU."""
    pipeline, folder = run.pipeline, run.folder / MODELS
    folder.mkdir()
    pairs = training_tokens(pipeline, list(usable_pairs(corpus, run.recipe.text.max_words)))
    pairs = [(source, target) for source, target in pairs if source and target]
    report("extracting phrases")
    learn_phrases(folder, pairs, settings.aligner, settings.max_phrase_length, run.recipe.training.seed)
    report("learning the language model")
    learn_language_model(folder, (target for _, target in pairs), settings.language_model_order)
    dev, references = list(corpus.lines("dev", corpus.source)), corpus.references("dev")
    sentences = [tokens for line in references[0] if (tokens := target_tokens(pipeline, line))]
    tune_language_model(folder, sentences, settings.language_model_order)
    stacks = run.recipe.search.beam_size
    decoder = PhraseDecoder(folder, Weights(), stacks, settings.distortion_limit, settings.max_phrase_length)
    translator = PhraseTranslator(decoder, pipeline)
    report("tuning the weights")
    weights = _tuned(translator, dev, references, settings, poll)
    write_manifest(folder, weights)
    decoder.set_weights(weights)
    report("translating dev")
    return _bleu(translator, dev, references)


def _tuned(
    translator: PhraseTranslator,
    dev: list[str],
    references: list[list[str]],
    settings: PhraseSettings,
    poll: Callable[[], None],
) -> Weights:
    most = settings.tuning_sentences

    def score(weights: Weights) -> float:
        poll()
        translator.decoder.set_weights(weights)
        return _bleu(translator, dev[:most], [lines[:most] for lines in references])

    return tune_weights(score, settings.tuning_evaluations)


def _bleu(translator: PhraseTranslator, source: list[str], references: list[list[str]]) -> float:
    texts = [translation.text for translation in translator.translate(source)]
    return bleu(texts, references, default_tokenizer(translator.pipeline.target.language)).value


def _taken(name: str) -> RunError:
    return RunError(f"run {name!r}: already exists", "choose another --name")
