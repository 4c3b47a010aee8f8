"""The model card of an exported model: README.md of its folder, with what its user must know."""

from collections.abc import Sequence
from typing import Literal

import nmtlab
from nmtlab.languages import language_of
from nmtlab.runs.run import Run
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tags import MARIAN_FORM, language_tag

Program = Literal["huggingface", "ctranslate2"]
"""What an exported model is for: the transformers library of Hugging Face, or CTranslate2."""

_USE = {
    "huggingface": """from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForSeq2SeqLM.from_pretrained(".")
ids = model.generate(**tokenizer(["{text}"], return_tensors="pt"))
print(tokenizer.batch_decode(ids, skip_special_tokens=True))
""",
    "ctranslate2": """import ctranslate2
import sentencepiece

source, target = (sentencepiece.SentencePieceProcessor(f"{{side}}.spm") for side in ("source", "target"))
translator = ctranslate2.Translator(".")
result = translator.translate_batch([{before}source.encode("{text}", out_type=str)]{prefix})[0]
print(target.decode_pieces(result.hypotheses[0]{after}))
""",
    "words": """import ctranslate2

translator = ctranslate2.Translator(".")
print(translator.translate_batch([{before}"{text}".split()])[0].hypotheses[0])
""",
}


def model_card(run: Run, pipeline: Pipeline, program: Program, scores: Sequence[str]) -> str:
    """Return the card in Markdown, with the metadata that Hugging Face reads above it.

    The pipeline is in the exported direction; `scores` are lines on what the run scored, with signatures.
    """
    library = {"huggingface": "transformers"}.get(program, program)
    codes = dict.fromkeys(map(language_of, pipeline.languages))  # of ISO 639, as the hub wants them
    languages = "".join(f'- "{code}"\n' for code in codes)  # YAML's no is false
    about = "" if _begun(run) else f"{run.recipe.about}\n\n"  # how to fine-tune says nothing of the model
    names = list(dict.fromkeys(corpus.name for corpus in run.recipe.corpora if corpus.name))
    licensed = " nor of ".join(filter(None, (_named(names), _begun(run))))
    return f"""---
language:
{languages}library_name: {library}
pipeline_tag: translation
---
# {run.name}

{about}A Transformer that translates from {pipeline.languages[0]} to {pipeline.languages[1]}. {_origin(run, names)}
`recipe.toml` has all its settings. nmtlab {nmtlab.__version__} exported it.

## Scores

{_scores(run, scores)}

## Use

{_preprocessing(pipeline, program)}```python
{_use(pipeline, program)}```

## Licence

nmtlab does not know the licence of {licensed}. Look it up before you pass this model on.
"""


def _origin(run: Run, names: Sequence[str]) -> str:
    if run.origin.imported:
        return f"It was imported from {run.origin.imported['model']}."
    begun = _begun(run)
    return f"It was trained on {_named(names)}{f', going on from {begun}' if begun else ''}."


def _begun(run: Run) -> str:
    """Return what a run that continues another began from; empty if it does not."""
    return (run.inheritance or {}).get("origin", "")


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) or "its training text"


def _scores(run: Run, scores: Sequence[str]) -> str:
    validations = run.log.metrics("validation")
    best = [f"BLEU {validations['bleu'].max():.2f} on dev, the best in training"] if len(validations) else []
    return "\n".join(f"- {line}" for line in (*best, *scores)) or "None are stored."


def _preprocessing(pipeline: Pipeline, program: Program) -> str:
    """Return what a user must do to a sentence, as a paragraph; empty if nothing."""
    text, steps = pipeline.settings, []
    if text.segmentation == "word":
        truecased = ", then truecased" if text.truecase else ""
        steps.append(f"Its tokens are words as Moses' tokenizer splits them, unescaped{truecased}.")
    if text.transliteration != "none":
        steps.append(f"Source text must be transliterated (`text.transliteration = {text.transliteration!r}`).")
    if program == "ctranslate2":
        steps.append("CTranslate2 adds the end of a sentence itself.")
    return " ".join(steps) + "\n\n" if steps else ""


def _use(pipeline: Pipeline, program: Program) -> str:
    tags = pipeline.source_pieces("x")[: -len(pipeline.source.tokenizer.split("x"))]
    if program == "huggingface":
        named = pipeline.source if pipeline.reads_start else pipeline.target
        tag = language_tag(named.language, MARIAN_FORM)
        return _USE[program].format(text=f"{tag} ..." if tags else "...")
    own = pipeline.reads_start
    kind = "words" if pipeline.settings.segmentation == "word" else program
    first = pipeline.target.vocabulary.types[pipeline.first_tokens[pipeline.target.language]] if own else ""
    prefix, after = (f", target_prefix=[[{first!r}]]", "[1:]") if own else ("", "")
    return _USE[kind].format(text="...", before=f"{tags!r} + " if tags else "", prefix=prefix, after=after)
