"""The training objective: a weighted sum of named terms.

A term is a class with the weights of its values and a call that returns what it adds to the loss; `training_objective`
combines those that a recipe asks for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.models.interface import MemoryT, Trainable, encoded, output_index
from nmtlab.models.recording import recorded_last_attention
from nmtlab.nn.precision import widened
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import PAD
from nmtlab.training.losses import NO_LENGTH, cross_entropy, length_loss, soft_cross_entropy

CROSS_ENTROPY, LABEL_SMOOTHING, LENGTH, TEACHER = "cross_entropy", "label_smoothing", "length", "teacher"
GUIDED_ATTENTION, EXPERTS = "guided_attention", "experts"

_LIKELIHOOD = (CROSS_ENTROPY, LENGTH)
"""Terms that are negative log-likelihoods of the target: of its tokens and, instead of EOS, of its length."""


class Forward(NamedTuple, Generic[MemoryT]):
    """A model's forward pass on a batch, with its targets as decoder input.

    Args:
        memory: of the sources.
        states: (tokens, D) decoder states where tokens are predicted, row by row.
        mask: (B, T) bool, the positions of `states`.
        attention: (B, T, S) weights of the last attention to the source, if a term asks for them.
    """

    memory: MemoryT
    states: Tensor
    mask: Tensor
    attention: Tensor | None = None


class Summand(NamedTuple):
    """What a term adds to the loss, with a gradient, and its unweighted values by name. All are sums over the batch."""

    loss: Tensor
    values: dict[str, Tensor]


class Term(Protocol):
    """Named values whose weighted sum is minimised."""

    weights: Mapping[str, float]

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        """Return what the term adds to the loss on a batch.

        Args:
            model: the model.
            batch: sentence pairs, on the model's device.
            forward: returns the model's forward pass on the batch, which is made once for all terms that ask for it.
        """


class CrossEntropy:
    """Label-smoothed cross-entropy of the target tokens (thesis 3.3.3.1): (1 - ε) cross-entropy + ε smoothing term.

    Args:
        smoothing: probability ε spread evenly over the allowed types, the gold one included.
    """

    def __init__(self, smoothing: float) -> None:
        self.smoothing = smoothing
        self.weights: Mapping[str, float] = {
            CROSS_ENTROPY: 1 - smoothing,
            **({LABEL_SMOOTHING: smoothing} if smoothing else {}),
        }

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        logits, gold, weight = scored_tokens(model, batch, forward())
        loss, nll, uniform = cross_entropy(logits, gold, self.smoothing, weight)
        values = {CROSS_ENTROPY: nll, LABEL_SMOOTHING: uniform}
        return Summand(loss, {name: values[name] for name in self.weights})


class Taught:
    """(1 - α) label-smoothed cross-entropy + α cross-entropy with a teacher's distributions.

    In continued training, it holds a model near its parent (Khayrallah et al. 2018); from scratch, it is word-level
    distillation (Kim and Rush 2016). The teacher reads what the model reads, without dropout.

    Args:
        smoothing: as of `CrossEntropy`.
        teacher: has the model's target types; no gradient is taken of it.
        weight: α, from 0 to 1.
        temperature: τ of `soft_cross_entropy`, above 0.
    """

    def __init__(self, smoothing: float, teacher: Trainable, weight: float, temperature: float = 1.0) -> None:
        self.of_text, self.teacher = CrossEntropy(smoothing), teacher
        self.weight, self.temperature = weight, temperature
        rest = {name: (1 - weight) * share for name, share in self.of_text.weights.items()}
        self.weights: Mapping[str, float] = {**rest, TEACHER: weight}

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        logits, gold, weight = scored_tokens(model, batch, forward())
        with torch.no_grad():
            wanted = scored_tokens(self.teacher, batch, forward_pass(self.teacher, batch)).logits
        # First: `cross_entropy` overwrites the logits.
        taught = soft_cross_entropy(logits, wanted, weight, self.temperature)
        loss, nll, uniform = cross_entropy(logits, gold, self.of_text.smoothing, weight)
        values = {CROSS_ENTROPY: nll, LABEL_SMOOTHING: uniform, TEACHER: taught.detach()}
        total = (1 - self.weight) * loss + self.weight * taught
        return Summand(total, {name: values[name] for name in self.weights})


class Weighted:
    """A term with a weight.

    Args:
        term: the term.
        weight: its factor.
    """

    def __init__(self, term: Term, weight: float) -> None:
        self.term, self.weight = term, weight
        self.weights: Mapping[str, float] = {name: weight * share for name, share in term.weights.items()}

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        loss, values = self.term(model, batch, forward)
        return Summand(self.weight * loss, values)


class Length:
    """Negative log-likelihood of the target's length, which replaces EOS and is not smoothed (eq 4.1)."""

    weights: Mapping[str, float] = {LENGTH: 1.0}

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        memory, _, mask, _ = forward()
        length = mask.sum(1).masked_fill((batch.target == PAD).all(1), NO_LENGTH)
        loss = length_loss(model.length_log_probs(memory).float(), length, batch.weight)
        return Summand(loss, {LENGTH: loss.detach()})


class GuidedAttention:
    """-Σ_j log Σ_{i linked to j} a_ji, over the linked target tokens j (Chen et al. 2016; survey 12.4).

    a are the weights of one attention: the last to the source, of several heads the first. Other target tokens add
    nothing, and so do sentences without links.

    Args:
        weight: λ, above 0.
    """

    def __init__(self, weight: float) -> None:
        self.weights: Mapping[str, float] = {GUIDED_ATTENTION: weight}

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        attention = forward().attention
        if batch.links is None or attention is None:
            raise RunError(
                "training.guided_attention: the training text has no word links",
                "align first, as with nmtlab.training.links.learned_links, or set it to 0",
            )
        linked = batch.links & (batch.target != PAD).unsqueeze(2)
        mass = (widened(attention) * linked).sum(2)
        each = -mass.clamp_min(torch.finfo(mass.dtype).tiny).log().masked_fill(~linked.any(2), 0)
        loss = each.sum() if batch.weight is None else (each.sum(1) * batch.weight).sum()
        return Summand(self.weights[GUIDED_ATTENTION] * loss, {GUIDED_ATTENTION: loss.detach()})


class Experts:
    """Label-smoothed cross-entropy of each expert of a mixture, on the sentences that have its source.

    Args:
        smoothing: as of `CrossEntropy`.
    """

    weights: Mapping[str, float] = {EXPERTS: 1.0}

    def __init__(self, smoothing: float) -> None:
        self.smoothing = smoothing

    def __call__(
        self, model: Trainable[MemoryT], batch: Batch[Tensor], forward: Callable[[], Forward[MemoryT]]
    ) -> Summand:
        _, states, mask, _ = forward()
        table = model.output_table(batch.target_language)
        gold, weight = output_index(table.ids, batch.target[mask]), _token_weight(batch, mask)
        losses = []
        for logits, present in model.experts(states, table):
            counts = present.to(widened(logits[:0]).dtype) if weight is None else present * weight
            losses.append(cross_entropy(logits, gold, self.smoothing, counts).smoothed)
        loss = torch.stack(losses).sum()
        return Summand(loss, {EXPERTS: loss.detach()})


class Loss(NamedTuple):
    """The loss, with a gradient, and the unweighted values of its terms by name. All are sums over the batch."""

    total: Tensor
    terms: dict[str, Tensor]

    @property
    def nll(self) -> Tensor:
        """Negative log-likelihood of the targets."""
        return sum(self.terms[name] for name in _LIKELIHOOD if name in self.terms)  # type: ignore[return-value]


class Objective(nn.Module):
    """The sum of one or more terms, with distinct names, on a batch."""

    def __init__(self, model: Trainable, terms: Sequence[Term]) -> None:
        super().__init__()
        self.model = model
        self.terms = tuple(terms)
        self.guides_attention = any(isinstance(term, GuidedAttention) for term in terms)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of every term by name, in the order in which they are logged."""
        return {name: weight for term in self.terms for name, weight in term.weights.items()}

    def forward(self, batch: Batch[Tensor]) -> Loss:
        """Return the loss of a batch, summed over its targets."""
        made: list[Forward] = []

        def forward() -> Forward:
            if not made:
                made.append(self._forward_pass(batch))
            return made[0]

        first, *rest = (term(self.model, batch, forward) for term in self.terms)
        total, values = first
        for part in rest:
            total, values = total + part.loss, values | part.values
        return Loss(total, values)

    def _forward_pass(self, batch: Batch[Tensor]) -> Forward:
        if not self.guides_attention:
            return forward_pass(self.model, batch)
        with recorded_last_attention(self.model) as weights:
            made = forward_pass(self.model, batch)
        return made._replace(attention=weights()[:, -batch.target.shape[1] :])  # one may read a token more at the start


def training_objective(
    model: Trainable,
    smoothing: float,
    teacher: Trainable | None = None,
    teacher_weight: float = 0.0,
    risk: Term | None = None,
    likelihood_weight: float = 1.0,
    guided_attention: float = 0.0,
    teacher_temperature: float = 1.0,
) -> Objective:
    """Return a model's objective: cross-entropy and, if it plans lengths, their negative log-likelihood.

    With a teacher, its distributions have a share in the cross-entropy; arguments as of `Taught`. A risk is minimised
    besides cross-entropy with a weight. With a weight of guided attention, that is added. The experts of a mixture have
    cross-entropies of their own.
    """
    tokens: Term = CrossEntropy(smoothing)
    if teacher is not None:
        tokens = Taught(smoothing, teacher, teacher_weight, teacher_temperature)
    if risk:
        return Objective(model, [Weighted(tokens, likelihood_weight), risk])
    guided = [GuidedAttention(guided_attention)] if guided_attention else []
    experts = [Experts(smoothing)] if model.mixes_experts else []
    return Objective(model, [tokens, *([Length()] if model.plans_length else []), *guided, *experts])


def forward_pass(model: Trainable[MemoryT], batch: Batch[Tensor], memory: MemoryT | None = None) -> Forward[MemoryT]:
    """Run a model on a batch of sentence pairs; `memory` is that of its sources, if already computed."""
    memory = encoded(model, batch.sources, batch.source_language) if memory is None else memory
    return Forward(memory, model(batch, memory), model.target_mask(batch.target))


class Scored(NamedTuple):
    """Predictions of tokens: logits, (tokens, C), gold columns, (tokens,), and how often each counts, if not once."""

    logits: Tensor
    gold: Tensor
    weight: Tensor | None


def scored_tokens(model: Trainable[MemoryT], batch: Batch[Tensor], forward: Forward[MemoryT]) -> Scored:
    """Return a model's predictions of the target tokens of a batch, given its forward pass."""
    _, states, mask, _ = forward
    table = model.output_table(batch.target_language)
    gold = output_index(table.ids, batch.target[mask])
    return Scored(model.output(states, table), gold, _token_weight(batch, mask))


def _token_weight(batch: Batch[Tensor], mask: Tensor) -> Tensor | None:
    """Return how often each predicted token counts, (tokens,), if not once."""
    return None if batch.weight is None else batch.weight[:, None].expand_as(mask)[mask]


def sentence_log_probs(model: Trainable[MemoryT], batch: Batch[Tensor], memory: MemoryT | None = None) -> Tensor:
    """Return log p(target | source) of every pair, (B,), with a gradient; it includes log p of a planned length.

    `memory` is as of `forward_pass`.
    """
    memory, states, mask, _ = forward_pass(model, batch, memory)
    table = model.output_table(batch.target_language)
    log_probs = widened(model.output(states, table)).log_softmax(-1)
    tokens = log_probs.gather(1, output_index(table.ids, batch.target[mask]).unsqueeze(1)).squeeze(1)
    row = torch.arange(batch.rows, device=mask.device)[:, None].expand_as(mask)[mask]
    sums = tokens.new_zeros(batch.rows).index_add(0, row, tokens)
    if not model.plans_length:
        return sums
    lengths = model.length_log_probs(memory).float()
    return sums + lengths.gather(1, mask.sum(1, keepdim=True).clamp_max(lengths.shape[1] - 1)).squeeze(1)
