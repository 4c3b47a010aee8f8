"""Which term of the logit makes a system prefer another word to the right rare one? (thesis 3.2.1, 3.2.3)

At every rare word of a reference the reference's prefix is forced, and the word p that the system then prefers is
compared with the reference word g. The difference of their logits is a sum of effects (`logits.effects_of`). The
largest one decides alone if p would not be ahead without it, that is, if it is at least the whole margin.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.access.needs import check_counts
from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, scored_ids
from nmtlab.analysis.lexical.logits import STEPS, effects_of, logit_terms
from nmtlab.errors import CorpusError
from nmtlab.figures.words import listed
from nmtlab.models.interface import TranslationModel
from nmtlab.text.batching.batches import sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import SPECIALS, UNK
from nmtlab.translation import Translator

_BATCH_TOKENS = 2048
_LOGITS = 2**22  # computed at a time


def rare_choices(
    system: RunOrSystem,
    corpus: ParallelCorpus,
    split: str = "test",
    below: int = 10,
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
) -> pd.DataFrame:
    """Return what a system prefers at each rare word of the references, and why.

    Args:
        corpus: in the system's languages.
        below: a word (in a subword system, a piece) is rare if its count in the training text of the target language is
            below this; words that the system cannot produce are left out.
        limit: number of sentences to use, from the first, at least 1; all if not given.

    Returns:
        A row for each rare word: `line` from 1 and `position` of the token from 0; `gold` and `preferred`, with
        `gold_count` and `preferred_count` in training and `gold_probability` and `preferred_probability`; `right`,
        whether they are the same; the columns of `nmtlab.analysis.lexical.logits` for each of the two (`bias_gold`,
        `bias_preferred`; `TERM_h_norm` once); the effects (see above), as `TERM_effect`, `TERM_norm_effect` and
        `TERM_cos_effect`, 0 where the choice is right; their sum, `margin`; `largest`, the name of the largest, and
        `alone`, whether it decides alone: empty and false where the choice is right.
    """
    tables = []
    for batch, table in choices_in_batches(system, corpus, split, below, limit):
        tables.append(table)
        on_progress(len(batch))
    return pd.concat(tables).sort_values(["line", "position"], ignore_index=True)


def choices_in_batches(
    system: RunOrSystem,
    corpus: ParallelCorpus,
    split: str = "test",
    below: int = 10,
    limit: int | None = None,
    batch_tokens: int = _BATCH_TOKENS,
) -> Iterator[tuple[list[int], pd.DataFrame]]:
    """Yield batches: the indices of the sentences, from 0, and their rows of `rare_choices`.

    Args:
        system, corpus, split, below, limit: as for `rare_choices`.
        batch_tokens: padded tokens in a batch, on the longer side.
    """
    translator = _in_direction(opened(system), corpus)
    model, pipeline = translator.model, translator.pipeline
    check_counts(pipeline)
    rare = pipeline.target_allowed & (pipeline.target.counts < below)
    rare[: len(SPECIALS)] = False
    source_lines, target_lines = zip(*islice(corpus.pairs(split), limit), strict=True)
    sources = pipeline.encode_source(source_lines)
    targets = [scored_ids(model, ids) for ids in pipeline.encode_target(target_lines)]
    lengths = [max(map(len, both)) for both in zip(sources, targets, strict=True)]
    for batch in sorted_batches(lengths, batch_tokens):
        states = forced_states(model, [sources[i] for i in batch], [targets[i] for i in batch])
        orders = {i: pipeline.target.reading_order(targets[i]) for i in batch}
        places = [(i + 1, *one) for i in batch for one in zip(orders[i], targets[i], strict=True)]
        tokens = pd.DataFrame(places, columns=["line", "position", "gold"])
        asked = np.flatnonzero(rare[tokens["gold"]])
        chunks = np.array_split(asked, 1 + len(asked) * len(model.output_ids) // _LOGITS)
        tables = [_compared(model, states[chunk], tokens.iloc[chunk], pipeline) for chunk in chunks]
        yield [int(i) for i in batch], pd.concat(tables)


def deciding_terms(choices: pd.DataFrame) -> pd.DataFrame:
    """Return how often each effect was the largest behind a wrong choice, from rows of `rare_choices`.

    Returns:
        A row for each effect, the most frequent first: `effect`; `largest`, the number of wrong choices in which it was
        the largest; `share`, of all wrong choices; `share_known`, the same of the wrong choices of a known word, not
        UNK; `alone`, the number that it decided alone; `mean`, its mean over all wrong choices (positive: it favours
        the wrong word).
    """
    wrong = choices[~choices["right"]]
    known = wrong[wrong["preferred"] != SPECIALS[UNK]]
    effects = [name.removesuffix("_effect") for name in choices.columns if name.endswith("_effect")]
    rows = []
    for effect in effects:
        led, shares = wrong[wrong["largest"] == effect], [_share_led(some, effect) for some in (wrong, known)]
        alone, mean = int(led["alone"].sum()), wrong[f"{effect}_effect"].mean()
        rows.append((effect, len(led), *shares, alone, mean))
    table = pd.DataFrame(rows, columns=["effect", "largest", "share", "share_known", "alone", "mean"])
    return table.sort_values("largest", ascending=False, kind="stable", ignore_index=True)


def choices_finding(choices: pd.DataFrame) -> str:
    """Return what decides the errors at rare words, with and without those of the unknown word.

    Args:
        choices: rows of `rare_choices`, of one run.
    """
    wrong, terms = choices[~choices["right"]], deciding_terms(choices)
    unknown = int((wrong["preferred"] == SPECIALS[UNK]).sum())
    if wrong.empty:
        return f"All {len(choices)} rare words are right." if len(choices) else ""
    led, of_known = (_shares_in_words(terms, column) for column in ("share", "share_known"))
    first = f"In {len(wrong)} errors at {len(choices)} rare words, the largest effect is {led}."
    if not unknown:
        return f"{first} None of them is the unknown word."
    rest = f"; in the others it is {of_known}" if unknown < len(wrong) else ""
    return f"{first} The unknown word wins in {unknown} of them{rest}."


def error_table(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the wrong choices for display, from rows of `rare_choices`."""
    wrong = choices[~choices["right"]].reset_index(drop=True)
    return pd.DataFrame(
        {
            "line": wrong["line"],
            "position": wrong["position"] + 1,
            "right word": wrong["gold"],
            "times": wrong["gold_count"],
            "preferred": wrong["preferred"],
            "its times": wrong["preferred_count"],
            "margin": wrong["margin"].round(2),
            "largest effect": wrong["largest"].map(lambda effect: STEPS.get(effect, effect)),
            "alone": wrong["alone"],
        }
    )


def _share_led(wrong: pd.DataFrame, effect: str) -> float:
    return float((wrong["largest"] == effect).mean()) if len(wrong) else float("nan")


def _shares_in_words(terms: pd.DataFrame, column: str) -> str:
    """Return the effects that lead in some errors, as `length in 50 %, angle in 49 %`."""
    led = terms[terms[column] > 0].sort_values(column, ascending=False, kind="stable")
    named = zip(led["effect"], led[column], strict=True)
    return listed([f"{STEPS.get(effect, effect)} in {100 * share:.0f} %" for effect, share in named])


@torch.inference_mode()
def _compared(model: TranslationModel, states: Tensor, tokens: pd.DataFrame, pipeline: Pipeline) -> pd.DataFrame:
    """Compare the preferred word with the right one: a row for each of the states, (n, E), and tokens."""
    logits = model.output(states)
    gold = model.output_index(torch.tensor(tokens["gold"].to_numpy(), device=logits.device))
    both = torch.stack((gold, logits.argmax(-1)), dim=1)  # (n, 2)
    probabilities = logits.double().log_softmax(-1).gather(1, both).exp().cpu().numpy()
    types = model.output_ids[both].cpu().numpy()
    terms = {name: values.cpu().numpy() for name, values in logit_terms(model, states, both).items()}
    frame, counts = tokens[["line", "position"]].copy(), pipeline.target.counts
    for place, word in enumerate(("gold", "preferred")):
        frame[word] = pipeline.target.vocabulary.tokens(types[:, place])
        frame[f"{word}_count"] = counts[types[:, place]]
        frame[f"{word}_probability"] = probabilities[:, place]
    frame["right"] = types[:, 0] == types[:, 1]
    for name, values in terms.items():
        if name.endswith("_h_norm"):
            frame[name] = values[:, 0]
        else:
            frame[f"{name}_gold"], frame[f"{name}_preferred"] = values.T
    effects = effects_of(terms)
    values = np.stack(list(effects.values()), axis=1)  # (n, effects)
    for name, effect in effects.items():
        frame[f"{name}_effect"] = effect
    frame["margin"] = values.sum(1)
    largest = np.array(list(effects), dtype=object)[values.argmax(1)]
    frame["largest"] = np.where(frame["right"], "", largest)
    frame["alone"] = ~frame["right"] & (values.max(1) >= frame["margin"])
    return frame


def _in_direction(translator: Translator, corpus: ParallelCorpus) -> Translator:
    if translator.languages == corpus.direction:
        return translator
    known = translator.pipeline.source.languages, translator.pipeline.target.languages
    if any(code not in codes for code, codes in zip(corpus.direction, known, strict=True)):
        raise CorpusError(
            f"corpus {corpus.name!r} is {corpus.source} to {corpus.target}, the system translates "
            f"{' to '.join(map(', '.join, known))}",
            "choose a corpus in the system's languages",
        )
    return translator.directed(*corpus.direction)
