"""A run's translations of a text, computed once and stored with the run."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring
from nmtlab.analysis.access.needs import in_direction
from nmtlab.files import write_text
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.recipe.migrate import SCHEMA, migrate_section
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import read_lines, write_lines


def translations(
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    search: SearchSettings | None = None,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda lines: None,
    on_unkept: Callable[[OSError], object] = lambda error: None,
) -> list[str]:
    """Return a run's translations of a split of a corpus, by its best checkpoint.

    They are read from the run's folder if the same text was translated before with the same weights and settings.

    Args:
        corpus: the text, whose direction the run must be able to translate.
        machine: where to compute; torch's choice if not given.
        on_progress: called with the number of lines just done.
        on_unkept: called with the error if the translations could not be stored.
    """
    search = search or run.recipe.search
    run = in_direction(run, corpus)
    source, read = _lines(run, corpus, split)
    more = more_sources(run, corpus, split)
    facts = _facts(run, source, split, search, more=more, read=read)
    if path := _stored(run, facts):
        on_progress(len(source))
        return list(read_lines(path))
    found = open_system(run, search, machine=machine).translate(read, on_progress=on_progress, **_with_more(more))
    lines = [translation.text for translation in found]
    facts |= {
        "schema": SCHEMA,
        "step": run.checkpoints.best_step,
        "weights": run.checkpoints.digest,
        "corpus": corpus.name,
    }
    name = Path(_name(split, facts))
    try:
        write_text(run.notes.folder / "translations" / name.with_suffix(".json"), json.dumps(facts, indent=1) + "\n")
        return list(read_lines(run.notes.save_translation(name.name, lines)))
    except OSError as error:
        on_unkept(error)
        return [line.replace("\n", " ") for line in lines]


def stored_translations(
    run: Run, corpus: ParallelCorpus, split: str, search: SearchSettings | None = None
) -> list[str] | None:
    """Return a run's stored translations of a split, None if there are none; arguments as for `translations`."""
    known = not run.recipe.text.context or corpus.has_documents(split)
    if not (known and run.translates(*corpus.direction)):
        return None
    source, read = _lines(run, corpus, split)
    more = more_sources(run, corpus, split)
    facts = _facts(run.directed(*corpus.direction), source, split, search or run.recipe.search, more=more, read=read)
    path = _stored(run, facts)
    return list(read_lines(path)) if path else None


def translations_by_text(run: Run, split: str, made_by: str = "", corpus: str = "") -> dict[str, list[str]]:
    """Return a run's stored translations of a split by its recipe's search, by the digest of their text.

    They are those in the direction in which the run is opened, whether or not the text is here.

    Args:
        run: of any kind.
        made_by: another way to translate, as of `store_translations`.
        corpus: name of the only corpus that is wanted; of text without a recorded name, that of the training corpus.
    """
    wanted = _facts(run, [], split, run.recipe.search, made_by)
    found = [
        (made, path)
        for made, path in run.notes.translations()
        if _decisive({**made, "context": ""}) | {"text": wanted["text"]} == wanted
    ]
    own = run.recipe.corpus.name
    return {
        made["text"]: list(read_lines(path))
        for made, path in found
        if not corpus or (made.get("corpus") or own) == corpus
    }


def store_translations(folder: Path, run: Run, split: str, source: list[str], lines: list[str], made_by: str) -> None:
    """Store translations with a packed run that search settings do not describe, such as those through English.

    Args:
        folder: of the packed run.
        run: that made them, opened in their direction.
        source: its source sentences.
        made_by: names the way in which they were made.
    """
    facts = _facts(run, source, split, run.recipe.search, made_by)
    facts |= {"schema": SCHEMA, "step": run.checkpoints.best_step, "weights": run.checkpoints.original_digest}
    path = folder / "translations" / _name(split, facts)
    write_text(path.with_suffix(".json"), json.dumps(facts, indent=1) + "\n")
    write_lines(path, lines)


def source_digest(corpus: ParallelCorpus, split: str) -> str:
    """Return the digest of a split's source side, by which stored translations are found."""
    return text_digest(list(corpus.alone.lines(split, corpus.source)))


def text_digest(lines: Sequence[str]) -> str:
    """Return the digest of the source sentences of a text, or of a sample of one."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def more_sources(run: Run, corpus: ParallelCorpus, split: str) -> list[list[str]]:
    """Return the lines of the other sources that a run reads together with the first, if any.

    Raises:
        CorpusError: the corpus lacks one of them, or they differ in number of lines.
    """
    sides = [replace(corpus, source=code, also=()).pairs(split) for code in run.recipe.corpus.also_sources]
    return [[source for source, _ in pairs] for pairs in sides]


def _lines(run: Run, corpus: ParallelCorpus, split: str) -> tuple[list[str], list[str]]:
    """Return the source sentences of a split alone, and as a run reads them."""
    alone, read = (list(one.lines(split, one.source)) for one in (corpus.alone, run.as_read(corpus)))
    return alone, read


def _with_more(more: list[list[str]]) -> dict[str, Any]:
    """Return the argument that only systems of several sources have."""
    return {"more": more} if more else {}


def _facts(
    run: Run,
    source: list[str],
    split: str,
    search: SearchSettings,
    made_by: str = "",
    more: Sequence[Sequence[str]] = (),
    read: Sequence[str] = (),
) -> dict[str, Any]:
    others = text_digest([text_digest(lines) for lines in more]) if more else ""
    context = text_digest(read) if run.recipe.text.context and read else ""
    special = {"direction": run.other_direction, "made_by": made_by, "more_sources": others, "context": context}
    given = {name: value for name, value in special.items() if value}
    return {"split": split, "text": text_digest(source), "search": search.decisive(), **given}


def _name(split: str, facts: dict[str, Any]) -> str:
    return f"{split}-{hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:10]}.txt"


def _stored(run: Run, facts: dict[str, Any]) -> Path | None:
    """Return the file of the translations of the same text by the same weights and settings, if it is stored."""
    return next((path for made, path in run.notes.translations() if _decisive(made) == facts), None)


def _decisive(made: dict[str, Any]) -> dict[str, Any]:
    """Return, of stored facts, those that `_facts` has."""
    search = SearchSettings(**migrate_section("search", made["search"], made.get("schema", 1))).decisive()
    more = {name: made[name] for name in ("direction", "made_by", "more_sources", "context") if made.get(name)}
    return {"split": made["split"], "text": made["text"], "search": search, **more}


def translated(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return `translations` of a split by the recipe's search, which are stored, as `text`: a row for each sentence."""
    return pd.DataFrame({"text": translations(run, corpus, split)})


def _bleu(key: str, label: str, split: Literal["dev", "test"], detokenized_into: tuple[str, ...] | None = ()) -> Metric:
    """Return sacrebleu's BLEU of detokenized text into some languages, or all, and multi-bleu's into others."""
    scoring = Scoring(detokenized_into=detokenized_into)
    return Metric(key, label, "score", "BLEU", split=split, scoring=scoring, usable=USABLE_BLEU, if_diverged=0.0)


TRANSLATED = Analysis(
    "How does a run translate a text, with the search of its recipe?",
    translated,
    several_sources=True,
    in_context=True,
    metrics=(
        _bleu("dev-bleu", "dev BLEU", "dev"),  # Tables 3.4 and 3.8
        _bleu("test-bleu", "test BLEU", "test", ("en",)),  # thesis 3.2.5.3
        _bleu("tokenized-test-bleu", "test BLEU", "test"),  # thesis 3.3.3.1
        _bleu("detokenized-test-bleu", "test BLEU", "test", None),
        _bleu("ntrex-bleu", "NTREX BLEU", "test", ("en",)),
        Metric("test-chrf", "test chrF", "score", "chrF", scoring=Scoring("chrF"), if_diverged=0.0),
    ),
)
