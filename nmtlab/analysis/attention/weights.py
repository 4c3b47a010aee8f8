"""What do systems attend to in a sentence? (thesis 3.2.6.3)"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK
from nmtlab.translation import Translator

_END = SPECIALS[EOS]


def attention(
    runs: Sequence[Run], source: str, target: str | None = None, machine: MachineSettings | None = None
) -> pd.DataFrame:
    """Return the attention of several systems in one sentence, for display side by side (thesis Figure 3.3).

    Args:
        runs: trained neural systems.
        source: a sentence.
        target: a translation to force in all systems; if not given, each system translates the sentence.
        machine: where to compute; the recipes' settings if not given.

    Returns:
        A row for each pair of tokens in each head: `run`; `layer` and `head`, from 1; `target_position` and
        `source_position`, from 0; `target_piece` and `source_piece` as written (`<unk>` where a system has generated
        it), both ending in `</s>`; `target_unknown` and `source_unknown`, whether the token is UNK to the system;
        `target_count` and `source_count`, the token's count in the training text of its language; `weight`. The
        weights of a target position in a head add up to 1.

    Raises:
        CorpusError: the source sentence is blank.
        RunError: a run is phrase-based, or its weights cannot be read.
    """
    systems = ((run.label, _opened(run, machine)) for run in runs)
    return pd.concat([attention_of(*system, source, target) for system in systems], ignore_index=True)


def attention_of(name: str, system: Translator, source: str, target: str | None = None) -> pd.DataFrame:
    """Return the rows of `attention` of one loaded system.

    Args:
        name: for the column `run`.
        system: a neural one.
        source, target: as for `attention`.

    Raises:
        CorpusError: the source sentence is blank.
    """
    pair = pieces_of(system, source, target)
    ((_, forced),) = forced_decode_all(system.model, [pair.source_ids], [pair.target_ids])
    return weights_frame(name, system.pipeline, pair, forced.attention)


class PiecePair(NamedTuple):
    """A sentence and its translation as tokens: their ids and the pieces as written, both ending in EOS."""

    source_ids: list[int]
    target_ids: list[int]
    source_pieces: list[str]
    target_pieces: list[str]


def pieces_of(system: Translator, source: str, target: str | None = None) -> PiecePair:
    """Return a sentence and its translation as tokens; arguments as of `attention_of`.

    Raises:
        CorpusError: the source sentence is blank.
    """
    pipeline = system.pipeline
    source_ids, source_pieces = pipeline.source_ids(source), pipeline.source_pieces(source)
    if not source_pieces:
        raise CorpusError("source sentence: blank", "give a sentence")
    if target is None:
        target_ids = [*system.translate([source])[0].hypotheses[0].tokens, EOS]
        target_pieces = pipeline.target.pieces(target_ids)
    else:
        target_ids = pipeline.target_ids(target)
        target_pieces = pipeline.target.tokenizer.split(target)
    return PiecePair(source_ids, target_ids, [*source_pieces, _END], [*target_pieces, _END])


def weights_frame(name: str, pipeline: Pipeline, pair: PiecePair, weights: np.ndarray) -> pd.DataFrame:
    """Return weights between the tokens of a pair, (layers, heads, |y|, S), as the rows of `attention`.

    Args:
        name: for the column `run`.
        pipeline: of the system.
        pair: of source and target.
        weights: of attention, or any other measure of what a source token means to a target token.
    """
    layer, head, t, s = (axis.ravel() for axis in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "run": name,
            "layer": layer + 1,
            "head": head + 1,
            "target_position": t,
            "target_piece": np.array(pair.target_pieces, dtype=object)[t],
            "target_unknown": np.equal(pair.target_ids, UNK)[t],
            "target_count": pipeline.target.counts[pair.target_ids][t],
            "source_position": s,
            "source_piece": np.array(pair.source_pieces, dtype=object)[s],
            "source_unknown": np.equal(pair.source_ids, UNK)[s],
            "source_count": pipeline.source.counts[pair.source_ids][s],
            "weight": weights.ravel(),
        }
    )


def _opened(run: Run, machine: MachineSettings | None) -> Translator:
    check_has_model(run)
    return open_model(run, machine=machine)
