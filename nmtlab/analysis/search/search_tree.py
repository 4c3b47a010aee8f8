"""What a beam keeps and drops at each step, what a finished hypothesis prunes, and paths on (thesis Figure 4.1)."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import cited
from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.opened import RunOrSystem, opened, scored_ids
from nmtlab.analysis.search.tree_figure import tree_figure
from nmtlab.errors import NmtlabError, RunError
from nmtlab.figures.words import number
from nmtlab.models.interface import Memory, Searchable
from nmtlab.recipe import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.exact import ExactSearch
from nmtlab.search.forced import forced_decode, forced_decode_all
from nmtlab.search.hypothesis import SearchResult
from nmtlab.search.planned import planned_search
from nmtlab.search.scores import hypothesis_score
from nmtlab.search.searches import usual_search
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD
from nmtlab.translation import Translator

LOG_PROB = SearchSettings(score="log-prob")
"""The beam of 4 of thesis 3.3, and the score under which the empty translation wins."""

_COLUMNS = [
    "step", "slot", "parent", "piece", "text", "log_prob", "score", "scored_length", "ended", "dropped", "best",
    "reference",
]  # fmt: skip


def search_tree(
    system: RunOrSystem, sentence: str, search: SearchSettings | None = None, reference: str | None = None
) -> pd.DataFrame:
    """Return all hypotheses, kept or dropped, that a search held for one sentence.

    If the system plans lengths, there is a beam for each length that is tried, side by side; log-probabilities are then
    joint ones of length and tokens.

    Args:
        reference: a translation whose prefixes are marked in the tree.

    Returns:
        A row for each occupied slot after each step, best first within a beam: `step` and `slot` from 1; `parent`, the
        slot of the previous step that it continues, 0 at the root; `piece` that was added, `</s>` at the end, empty
        where a finished hypothesis keeps its slot; `text` of the pieces so far; `log_prob`, `score`; `scored_length`,
        its tokens as scores count them, including the end, whether generated or planned; `ended`; `dropped`, whether no
        slot of the next step continues it although the search continued; `best`, whether it leads to the hypothesis
        returned; `reference`, whether it is a prefix of the reference.
    """
    translator = opened(system)
    pipeline, plans = translator.pipeline, translator.model.plans_length
    searched = planned_search if plans else beam_search
    (result,) = searched(translator.model, memory_of(translator, sentence), search or translator.settings, record=True)
    wanted = pipeline.target_ids(reference) if reference else None
    rows = _rows(result, pipeline, wanted)
    found = pd.DataFrame(rows, columns=["tokens", *_COLUMNS[:9], "reference"])
    found["scored_length"] += found["ended"] & plans
    return _with_ends(found, result, plans)[_COLUMNS]


def _ended(tree: pd.DataFrame) -> pd.DataFrame:
    """Return the distinct finished translations, best first."""
    ended = tree[tree["ended"]].drop_duplicates(["text", "scored_length", "log_prob"])
    ordered = ended.sort_values("score", ascending=False, kind="stable", ignore_index=True)
    return ordered[["log_prob", "scored_length", "step", "text"]]


def tree_finding(tree: pd.DataFrame) -> str:
    """Say what a beam finds, and what becomes of the empty translation in it.

    Args:
        tree: rows of `search_tree`.
    """
    if tree.empty:
        return ""
    best, ended = tree[tree["best"]].iloc[-1], ended_hypotheses(tree)
    found = f"A beam of {tree['slot'].max()} finds {cited(best['text'])} (log p {number(best['log_prob'])})."
    empty = ended[ended["scored_length"] == 1]
    if best["text"] == "" or empty.empty:
        return found
    step, log_prob = empty["dropped_at"].iloc[0], number(empty["log_prob"].iloc[0])
    fate = f"keeps it ({log_prob}) to the end" if pd.isna(step) else f"drops it ({log_prob}) after step {step}"
    return f"{found} The empty one enters the beam, which {fate}."


def exact_finding(tree: pd.DataFrame, exact: pd.Series) -> str:
    """Say what the most probable translation of a sentence is, beside what a beam finds.

    Args:
        tree: rows of `search_tree`.
        exact: the row of `best_of_all`.
    """
    beam = tree[tree["best"]].iloc[-1]
    sure = "is" if exact["complete"] else "is, so far,"
    best = f"{cited(exact['text'])} (log p {number(exact['log_prob'])})"
    said, width = f"The most probable translation of this sentence {sure} {best}", tree["slot"].max()
    if exact["log_prob"] - beam["log_prob"] <= _SAME:
        return f"{said}; a beam of {width} finds it."
    return f"{said}; a beam of {width} finds {cited(beam['text'])} ({number(beam['log_prob'])})."


SEARCH_TREE = Analysis(
    "Which hypotheses does a beam keep and drop?",
    search_tree,
    source="thesis Figure 4.1",
    needs=DECODING,
    table=_ended,
    figure=tree_figure,
    finding=tree_finding,
)


def _rows(result: SearchResult, pipeline: Pipeline, reference: list[int] | None) -> list[tuple]:
    rows, before = [], {0: ()}
    for at, step in enumerate(result.tree, start=1):
        now = {}
        arrays = step.parent, step.token, step.log_prob, step.score, step.finished
        slots = zip(*(array.tolist() for array in arrays), strict=True)
        for slot, (parent, token, log_prob, score, ended) in enumerate(slots, start=1):
            if score == -math.inf:
                continue
            tokens = before[parent if at > 1 else 0] + ((token,) if token != PAD else ())
            now[slot - 1] = tokens
            piece = "" if token == PAD else pipeline.target.vocabulary.types[token]
            text = pipeline.target.text([one for one in tokens if one != EOS])
            begins = reference is not None and list(tokens) == reference[: len(tokens)]
            above = parent + 1 if at > 1 else 0
            rows.append((tokens, at, slot, above, piece, text, log_prob, score, len(tokens), ended, begins))
        before = now
    return rows


def _with_ends(found: pd.DataFrame, result: SearchResult, plans: bool) -> pd.DataFrame:
    """Add columns for the hypotheses that were dropped and for those that lead to the best."""
    best = result.hypotheses[0]
    final = (*best.tokens, EOS) if best.finished and not plans else best.tokens
    continued = set(zip(found["step"] - 1, found["parent"], strict=True))
    last = found["step"].max()
    kept = [place in continued for place in zip(found["step"], found["slot"], strict=True)]
    dropped = [not is_kept and step < last for is_kept, step in zip(kept, found["step"], strict=True)]
    return found.assign(dropped=dropped, best=_leads_to(final, best.finished, found))


def _leads_to(final: tuple[int, ...], ended: bool, found: pd.DataFrame) -> list[bool]:
    """Return which rows lead to the row `final` of the last step: none if length 0 was planned, which takes no step."""
    parents = {(row.step, row.slot): row.parent for row in found.itertuples()}
    wanted = (found["step"].max(), final, ended)
    places = [(row.step, row.slot) for row in found.itertuples() if (row.step, row.tokens, row.ended) == wanted][:1]
    while places and places[-1][0] > 1:
        places.append((places[-1][0] - 1, parents[places[-1]]))
    return [place in places for place in zip(found["step"], found["slot"], strict=True)]


def ended_hypotheses(tree: pd.DataFrame) -> pd.DataFrame:
    """Return the distinct finished translations of a search, whether or not they were kept to the end.

    Args:
        tree: rows of `search_tree`.

    Returns:
        `text`, `log_prob`, `scored_length`, `step` in which it ended, `dropped_at`, the step after which it lost its
        slot (missing if it never did), in the order in which they ended.
    """
    ended = tree[tree["ended"]]
    # the same text in another segmentation is a different translation, with a different probability
    grouped = ended.groupby(["text", "scored_length", "log_prob"], sort=False)["step"]
    found = grouped.agg(step="min", last="max").reset_index()
    found["dropped_at"] = found["last"].where(found["last"] < tree["step"].max()).astype("Int64")
    return found[["text", "log_prob", "scored_length", "step", "dropped_at"]]


def ranked(hypotheses: pd.DataFrame, search: SearchSettings, source: int | None = None) -> pd.DataFrame:
    """Rerank translations by another score, without searching again.

    Args:
        hypotheses: rows with `log_prob` and the columns of `scored_lengths`.
        search: the score and its parameters; the coverage penalty is ignored.
        source: tokens of the source, EOS included; a bounded reward needs it.

    Returns:
        The rows, best first, with `score`; what has no probability comes last.
    """
    log_prob = torch.tensor(hypotheses["log_prob"].to_numpy(), dtype=torch.float64)
    length = torch.tensor(scored_lengths(hypotheses).to_numpy())
    read = None if source is None else torch.tensor(source)
    scores = hypothesis_score(search, log_prob, length, source=read).numpy()
    return hypotheses.assign(score=scores).sort_values("score", ascending=False, kind="stable", ignore_index=True)


def scored_lengths(hypotheses: pd.DataFrame) -> pd.Series:
    """Return the lengths of translations as scores count them, in tokens, including the end of those that ended.

    Args:
        hypotheses: rows with `scored_length`, as of `ended_hypotheses`; or with `length`, which leaves out the end, and
            `finished`, as of `beams.decoded`.
    """
    if "scored_length" in hypotheses:
        return hypotheses["scored_length"]
    return hypotheses["length"] + hypotheses["finished"]


def best_of_all(
    system: RunOrSystem, sentence: str, search: SearchSettings = LOG_PROB, budget: int = 20_000
) -> pd.DataFrame:
    """Return what exact search finds for one sentence.

    Args:
        search: score and limits; the beam size is that of the beam search that gives the first bound.
        budget: maximum number of hypotheses that are expanded.

    Returns:
        One row: `text`, empty for the empty translation; `log_prob`, `score`; `scored_length` in tokens, including
        EOS; `expansions`; `complete`, whether it is proved to be the best.

    Raises:
        RecipeError: the score has a coverage penalty.
    """
    return next(best_so_far(system, sentence, search, portion=budget))


def best_so_far(
    system: RunOrSystem, sentence: str, search: SearchSettings = LOG_PROB, portion: int = 250
) -> Iterator[pd.DataFrame]:
    """Yield the row of `best_of_all` after each portion of the search, until it is complete.

    Args:
        portion: number of hypotheses expanded between two rows.
    """
    translator = opened(system)
    memory = memory_of(translator, sentence)
    beam = beam_search(translator.model, memory, search)[0].hypotheses[0]
    exact, complete = ExactSearch(translator.model, memory, search, beam), False
    while not complete:
        complete = exact.run(exact.expansions + portion)
        best = exact.best or beam
        facts = {
            "text": translator.pipeline.target.text(best.tokens),
            "log_prob": best.log_prob,
            "score": best.score,
            "scored_length": len(best.tokens) + best.finished,
            "expansions": exact.expansions,
            "complete": complete,
        }
        yield pd.DataFrame([facts])


def empty_above_beam(system: RunOrSystem, sentences: Sequence[str]) -> list[int]:
    """Return the sentences whose empty translation is more probable than the beam's, the widest gap first.

    Only of these can the global best be empty.

    Args:
        system: a run with weights, or a translator; it must not plan lengths.

    Returns:
        Their numbers, from 1. Blank sentences are left out.
    """
    translator = opened(system)
    found = translator.translate(sentences, search=usual_search(LOG_PROB, False, 1, None))
    ids = translator.pipeline.encode_source(list(sentences))
    empty = dict(forced_decode_all(translator.model, ids, [[EOS]] * len(ids)))
    beams = ((line, one.hypotheses[0].log_prob) for line, one in enumerate(found, start=1) if one.hypotheses)
    gaps = {line: empty[line - 1].log_prob - log_prob for line, log_prob in beams}
    return sorted((line for line, gap in gaps.items() if gap > 0), key=lambda line: -gaps[line])


def first_empty_rank(system: RunOrSystem, sentence: str) -> int:
    """Return the rank of EOS in the first step: the size of the smallest beam that the empty translation enters."""
    translator = opened(system)
    return empty_rank(translator.model, memory_of(translator, sentence))


def empty_log_prob(system: RunOrSystem, sentence: str) -> float:
    """Return the log-probability of the empty translation of a sentence."""
    translator = opened(system)
    end = torch.tensor([[EOS]], device=translator.model.device)
    return forced_decode(translator.model, memory_of(translator, sentence), end)[0].log_prob


@torch.inference_mode()
def empty_rank(model: Searchable, memory: Memory) -> int:
    """Return the rank of EOS among the first tokens, from 1; arguments as for `exact_search`."""
    state = model.start(memory)
    log_probs = model.step(state, torch.tensor([[BOS]], device=model.device)).log_probs[0, 0]
    return int((log_probs > log_probs[state.output_ids == EOS]).sum()) + 1


@torch.inference_mode()
def memory_of(translator: Translator, sentence: str) -> Memory:
    """Return the memory of one sentence, encoded in the translator's direction."""
    return translator.model.encode(
        torch.tensor([translator.pipeline.source_ids(sentence)], device=translator.model.device)
    )


_SAME = 1e-3
"""Log-probabilities of the same tokens, computed in another batch, differ by less."""

PATH = ["step", "slot", "piece", "text", "log_prob", "score", "scored_length", "ended"]


def path_to(tree: pd.DataFrame, step: int, slot: int) -> pd.DataFrame:
    """Return the hypotheses from the first step to one of the tree, each continued by the next.

    Args:
        tree: rows of `search_tree`.
        step, slot: of the last one.

    Returns:
        The columns `PATH` of these rows, without those in which a finished hypothesis keeps its slot.

    Raises:
        NmtlabError: the tree has no such hypothesis.
    """
    rows = tree.set_index(["step", "slot"], drop=False)
    if (step, slot) not in rows.index:
        raise NmtlabError(f"step {step}, slot {slot}: no hypothesis of the tree", "choose a node of the tree")
    places = [(step, slot)]
    while places[-1][0] > 1:
        places.append((places[-1][0] - 1, int(rows.loc[places[-1], "parent"])))
    path = rows.loc[places[::-1], PATH]
    return path[path["piece"] != ""].reset_index(drop=True)


def reference_path(
    system: RunOrSystem, sentence: str, reference: str, tree: pd.DataFrame, search: SearchSettings | None = None
) -> pd.DataFrame:
    """Return the prefixes of a reference as the system scores them, inside its beam and outside.

    Args:
        reference: its translation.
        tree: rows of `search_tree` for the sentence and the reference.
        search: search settings; the system's if not given. A coverage penalty is ignored.

    Returns:
        The columns `PATH`, a row for each token; `slot` is 0 where the beam does not hold the prefix.
    """
    translator = opened(system)
    pipeline, search = translator.pipeline, search or translator.settings
    ids = pipeline.target_ids(reference)
    target = torch.tensor([ids], device=translator.model.device)
    memory = memory_of(translator, sentence)
    (forced,) = forced_decode(translator.model, memory, target)
    tokens = scored_ids(translator.model, ids)
    length = np.arange(1, len(tokens) + 1)
    log_prob = forced.log_probs[: len(tokens)].astype(float).cumsum()
    if translator.model.plans_length:  # EOS has the log-probability of the length
        planned = float(forced.log_probs[-1])
        log_prob = log_prob + planned
        score = log_prob + (search.length_weight - 1) * planned
    else:
        parts = torch.from_numpy(log_prob), torch.from_numpy(length)
        score = hypothesis_score(search, *parts, source=memory.lengths.cpu() + 1).numpy()
    frame = pd.DataFrame(
        {
            "step": length,
            "slot": [_slot(tree, step, value) for step, value in zip(length.tolist(), log_prob.tolist(), strict=True)],
            "piece": [pipeline.target.vocabulary.types[token] for token in tokens],
            "text": [pipeline.target.text([one for one in tokens[:end] if one != EOS]) for end in length],
            "log_prob": log_prob,
            "score": score,
            "scored_length": length,
            "ended": length == len(tokens),
        }
    )
    return frame[PATH]


def continue_from(
    system: RunOrSystem, sentence: str, pieces: Sequence[str], search: SearchSettings | None = None
) -> pd.DataFrame:
    """Return the best translation that begins with some tokens, found by beam search.

    Args:
        system: a run with weights, or a translator; it must not plan lengths.
        pieces: the first tokens as the vocabulary writes them, without `</s>`.

    Returns:
        One row: `text`, `log_prob`, `score`, `scored_length` in tokens, including the end.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    if model.plans_length:
        raise RunError("the system plans lengths", "choose one that does not to continue a translation")
    prefix = torch.tensor([pipeline.target.vocabulary.ids(list(pieces))], dtype=torch.long, device=model.device)
    memory, constraints = memory_of(translator, sentence), Constraints(prefix=prefix)
    best = beam_search(model, memory, search or translator.settings, constraints=constraints)[0].hypotheses[0]
    facts = {
        "text": pipeline.target.text(best.tokens),
        "log_prob": best.log_prob,
        "score": best.score,
        "scored_length": len(best.tokens) + best.finished,
    }
    return pd.DataFrame([facts])


def _slot(tree: pd.DataFrame, step: int, log_prob: float) -> int:
    """Return the slot of the reference's prefix in a step: with planned lengths, that in the beam of its length."""
    held = tree[(tree["step"] == step) & tree["reference"] & np.isclose(tree["log_prob"], log_prob, rtol=0, atol=_SAME)]
    return int(held["slot"].iloc[0]) if len(held) else 0
