"""Export of a run's model to a folder for another program."""

from collections.abc import Sequence
from pathlib import Path

from nmtlab.errors import NmtlabError, RunError
from nmtlab.files import write_text
from nmtlab.interchange.card import Program, model_card
from nmtlab.interchange.ctranslate import Precision, types_of, write_ctranslate2
from nmtlab.interchange.folding import check_exportable
from nmtlab.interchange.huggingface_export import write_huggingface
from nmtlab.interchange.vocabulary_map import write_vocabulary_map
from nmtlab.runs.run import Run
from nmtlab.search.shortlist import Shortlist
from nmtlab.systems import lexicon_of, open_model, phrases_of
from nmtlab.text.corpora.lines import new_folder
from nmtlab.translation import Translator


def export_model(
    run: Run,
    program: Program,
    folder: Path | str,
    precision: Precision = "fp32",
    scores: Sequence[str] = (),
    vocabulary_map: int = 0,
    ngrams: int = 0,
) -> None:
    """Write a run's model, its tokenizer, its recipe and a model card to a new folder, or nothing at all.

    Args:
        run: of a Transformer, in the direction to export.
        program: what to export it for.
        folder: must not exist.
        precision: of the stored matrices; Hugging Face's are in single precision.
        scores: lines for the card on what it scored, with signatures.
        vocabulary_map: how many frequent types, and translations of each source type, a vocabulary map for CTranslate2
            contains; 0 for no map.
        ngrams: tokens of the longest source n-grams whose phrases the map contains; 0 for types.

    Raises:
        NmtlabError: the folder exists, the program lacks a part of the model, which the message names, the run writes
            from the end, CTranslate2 is not installed, or there is no lexicon, or no phrases, for a vocabulary map.
    """
    if program == "huggingface" and precision != "fp32":
        raise NmtlabError(f"precision {precision}: for ctranslate2 only", "leave it out")
    if program == "huggingface" and vocabulary_map:
        raise NmtlabError("a vocabulary map: for ctranslate2 only", "leave it out")
    settings = check_exportable(run.name, run.recipe)
    if run.recipe.text.reversed_target:
        problem = "text.reversed_target = true: other programs would leave its translations reversed"
        raise RunError(f"run {run.name!r}: {problem}", "choose a run with reversed_target = false")
    if run.recipe.text.segmentation == "byte":
        problem = "text.segmentation = 'byte': other programs have no such tokenizer"
        raise RunError(f"run {run.name!r}: {problem}", "choose a run of words or subwords")
    if run.recipe.text.length_bins:
        problem = "text.length_bins: other programs would leave out the length token before each source"
        raise RunError(f"run {run.name!r}: {problem}", "choose a run without length tokens")
    if run.recipe.text.context:
        problem = "text.context = 1: other programs would leave out the sentence before each source"
        raise RunError(f"run {run.name!r}: {problem}", "choose a run with context = 0")
    if run.recipe.text.annotate:
        problem = f"text.annotate = {run.recipe.text.annotate}: other programs would leave rare words without notes"
        raise RunError(f"run {run.name!r}: {problem}", "choose a run with annotate = 0")
    with new_folder(folder) as unfinished:
        system = open_model(run)
        if program == "huggingface":
            write_huggingface(run.name, system, settings, unfinished)
        else:
            write_ctranslate2(system, settings, unfinished, precision)
            _write_subwords(system, unfinished)
            if vocabulary_map:
                sizes = vocabulary_map, vocabulary_map
                if ngrams:
                    shortlist = Shortlist.of_phrases(system.pipeline, phrases_of(run), *sizes, ngrams)
                else:
                    shortlist = Shortlist.of(system.pipeline, lexicon_of(run), *sizes)
                write_vocabulary_map(shortlist, types_of(system.pipeline), unfinished)
        run.recipe.save(unfinished / "recipe.toml")
        write_text(unfinished / "README.md", model_card(run, system.pipeline, program, scores))


def _write_subwords(system: Translator, folder: Path) -> None:
    """Write the SentencePiece models, which CTranslate2 leaves to its caller."""
    pipeline = system.pipeline
    if pipeline.settings.segmentation != "word":
        for name, side in (("source.spm", pipeline.source), ("target.spm", pipeline.target)):
            (folder / name).write_bytes(side.tokenizer.to_bytes())
