"""Is what training minimises one number, however it is read? Five readings of the cross-entropy (survey 11.1).

display(READINGS.numbers(run, source="bir kedi", target="a cat"))
"""

import math
from copy import deepcopy
from decimal import Decimal

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import kl_div, one_hot

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import DECODING, END
from nmtlab.errors import CorpusError
from nmtlab.models.interface import encoded, on_device, output_index
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_steps
from nmtlab.systems import open_model
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.lines import is_blank
from nmtlab.training.objective import sentence_log_probs


def readings(run: Run, source: str, target: str, machine: MachineSettings | None = None) -> pd.DataFrame:
    """Compute the cross-entropy of a pair of sentences in five ways, in double precision.

    Args:
        run: neural, with weights.
        source, target: plain text.
        machine: where to compute; the recipe's settings if not given.

    Returns:
        A row for each: `reading`; `equation` of the survey; `nats`, the sum over the target's tokens, EOS included.

    Raises:
        CorpusError: a sentence is blank.
    """
    if is_blank(source) or is_blank(target):
        raise CorpusError("a blank sentence has no reading", "give a sentence and its translation")
    system = open_model(run, machine=machine)
    model = deepcopy(system.model).double()
    ids = pad([system.pipeline.source_ids(source)]), pad(system.pipeline.encode_target([target]))
    pair = on_device(batch_of(*ids), model.device)
    with torch.inference_mode():
        steps = [*forced_steps(model, encoded(model, pair.source), pair.target, record=False)]
        sampled = sentence_log_probs(model, pair)
    log_probs = torch.cat([step.log_probs[0] for step in steps])  # (|y|, types)
    columns = output_index(steps[0].state.output_ids, pair.target[0])
    tokens, given = log_probs.gather(1, columns[:, None]), one_hot(columns, log_probs.shape[1]).double()
    finite = log_probs.clamp_min(torch.finfo(log_probs.dtype).min)
    factors = map(Decimal, tokens.exp().flatten().tolist())  # their product may be too small for a float
    found: dict[tuple[str, str], Tensor | Decimal] = {
        ("sum of the tokens' losses", "36"): -tokens.sum(),
        ("likelihood: -log of the product of probabilities", "37"): -math.prod(factors, start=Decimal(1)).ln(),
        ("sequences: the reference as one sample of translations", ""): -sampled.mean(),
        ("tokens: the reference as one sample of each next token", ""): -(given * finite).sum(),
        ("distance to the distribution that has the reference alone", "39"): kl_div(finite, given, reduction="sum"),
    }
    return pd.DataFrame([(*about, float(value)) for about, value in found.items()], columns=_COLUMNS)


_COLUMNS = ["reading", "equation", "nats"]

READINGS = Analysis(
    "Is the loss that training minimises one number, however it is read?",
    readings,
    source="survey 11.1",
    needs=(*DECODING, END),
    columns=tuple(_COLUMNS),
    digits=6,
)
