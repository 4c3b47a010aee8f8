"""A mixture of experts: each translates from one source, and a gate weighs them anew at every token.

After Nishimura et al. (2018, eq 4 and 5): `p_t = Σ_j g_t^j p_t^j`, with a gate that reads what the decoders of all
experts read. An expert whose source is missing has the weight 0. Shapes as in `interface`; M experts, S positions of
all sources together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.models.interface import InnerProduct, LanguageCodes, OutputTable, Step, TranslationModel, with_mixture
from nmtlab.models.recurrent import RecurrentMemory, RecurrentModel, RecurrentState
from nmtlab.models.replacing import overwritten
from nmtlab.models.several import Joint
from nmtlab.nn.mixture import Gate, mixed
from nmtlab.nn.precision import widened
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.vocabulary import PAD


@dataclass(frozen=True)
class MixtureMemory:
    """Each expert's memory of its source.

    Args:
        memories: of the experts.
        present: (B, M) bool, which sources there are.
        joint: where the positions come from.
    """

    memories: tuple[RecurrentMemory, ...]
    present: Tensor
    joint: Joint

    @property
    def lengths(self) -> Tensor:
        return self.joint.lengths

    @property
    def mask(self) -> Tensor:
        return self.joint.mask

    def select(self, sentences: Tensor) -> "MixtureMemory":
        """Return the memory of some sentences."""
        memories = tuple(memory.select(sentences) for memory in self.memories)
        return MixtureMemory(memories, self.present[sentences], self.joint.select(sentences))


@dataclass(frozen=True)
class MixtureState:
    """Each expert's state.

    Args:
        states: of the experts.
        present: (B, K, M) bool, which sources there are.
        joint: as of `MixtureMemory`.
    """

    states: tuple[RecurrentState, ...]
    present: Tensor
    joint: Joint

    @property
    def output_ids(self) -> Tensor:
        return self.states[0].output_ids

    def select(self, rows: Tensor) -> "MixtureState":
        """Return the state of other slots; see `interface.State`."""
        joint = self.joint.select(rows.amax(1) // self.present.shape[1])
        present = self.present.flatten(0, 1)[rows.clamp_min(0)]
        return MixtureState(tuple(state.select(rows) for state in self.states), present, joint)

    def replace(self, sentences: Tensor, other: "MixtureState", others: Tensor) -> "MixtureState":
        """Return the state with other sentences in place of some; see `interface.State`."""
        pairs = zip(self.states, other.states, strict=True)
        states = tuple(mine.replace(sentences, theirs, others) for mine, theirs in pairs)
        self.present[sentences] = other.present[others]
        masks = [state.attended.bias[:, 0] == 0 for state in states]
        tokens = overwritten(self.joint.tokens, sentences, other.joint.tokens[others])
        return MixtureState(states, self.present, Joint.of(masks, tokens.unbind(1)))


class MixtureModel(TranslationModel[MixtureMemory, MixtureState]):
    """Experts, each a whole model of one source, and a gate; assembled in `build`.

    In training, the mixture's gradient reaches the gate alone: the experts learn from their own losses, see `experts`.
    States are those of the experts and log g, side by side: (..., M D + M).

    Args:
        models: the experts, of one width, without anything that adds to their states.
        missing: id of the first token of a missing source; None: none is missing.
        language_codes: of the source and target languages.
    """

    mixes_experts = True

    def __init__(
        self,
        models: Sequence[RecurrentModel],
        missing: int | None,
        language_codes: LanguageCodes = ((), ()),
    ) -> None:
        super().__init__()
        self.models = cast(Sequence[RecurrentModel], nn.ModuleList(models))
        self.sources = len(models)
        self.width = models[0].target_embedding.width
        self.gate = Gate(self.width, self.sources)
        self.missing = missing
        self.language_codes = language_codes

    @property
    def output_ids(self) -> Tensor:
        return self.models[0].output_types.types(self.default_languages[1])

    def embed_source(self, source: Tensor, language: str | None = None) -> Tensor:
        return self.models[0].embed_source(source, language)

    def encode(
        self,
        source: Tensor,
        language: str | None = None,
        embedded: Tensor | None = None,
        *,
        more: Sequence[Tensor] = (),
    ) -> MixtureMemory:
        self.check_languages(source=language)
        self.check_sources(more)
        first, *others = self.models
        read = [model.encode(ids) for model, ids in zip(others, more, strict=True)]
        memories = first.encode(source, embedded=embedded), *read
        there = [ids[:, 0] != (PAD if self.missing is None else self.missing) for ids in (source, *more)]
        joint = Joint.of([memory.mask for memory in memories], [memory.lengths + 1 for memory in memories])
        return MixtureMemory(memories, torch.stack(there, dim=1), joint)

    def start(
        self,
        memory: MixtureMemory,
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> MixtureState:
        language = language or self.default_languages[1] or None
        starting = [model.tempered(self.attention_temperature) for model in self.models]
        pairs = zip(starting, memory.memories, strict=True)
        states = tuple(model.start(read, language, types=types) for model, read in pairs)
        return MixtureState(states, memory.present.unsqueeze(1), memory.joint)

    def step(self, state: MixtureState, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step:
        """Read one token per slot, and score the next one; see `interface.Searchable.step`.

        The recorded weights of an expert are multiplied with its g, so that those on a source add up to that.

        Raises:
            RunError: attention is imposed.
        """
        if attention is not None:
            raise RunError("a mixture of experts: its attention cannot be imposed", "choose a run of another kind")
        pairs = zip(self.models, state.states, strict=True)
        steps = [model.step(of_one, token, record) for model, of_one in pairs]
        log_gate = self._log_gate(token, state.present)
        log_probs = mixed(torch.stack([step.log_probs for step in steps], dim=-2), log_gate)
        after = MixtureState(tuple(step.state for step in steps), state.present, state.joint)
        return Step(log_probs, after, _weighed(steps, log_gate.exp(), state.joint) if record else None)

    def forward(self, batch: Batch[Tensor], memory: MixtureMemory | None = None) -> Tensor:
        memory = memory or self.encode(batch.source, batch.source_language, more=batch.more_sources)
        states = [model(batch, of_one) for model, of_one in zip(self.models, memory.memories, strict=True)]
        log_gate = self._log_gate(batch.target_input, memory.present.unsqueeze(1))
        return torch.cat((*states, log_gate[self.target_mask(batch.target)].to(states[0].dtype)), dim=-1)

    def output_table(self, language: str | None = None) -> OutputTable:
        """Return the tables of the experts side by side: rows (C, M D), and biases (C, M)."""
        tables = [model.output_table(language or self.default_languages[1] or None) for model in self.models]
        rows, bias = torch.cat([one.rows for one in tables], dim=1), torch.stack([one.bias for one in tables], dim=1)
        return OutputTable(tables[0].ids, rows, bias)

    def output(self, states: Tensor, table: OutputTable | None = None) -> Tensor:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.training):
            log_probs = [widened(logits).log_softmax(-1) for logits in self.expert_logits(states, table)]
        # a copy, as the loss overwrites what it is given, which the gradient of a sum of exponentials still reads
        return mixed(torch.stack(log_probs, dim=-2), states[..., -self.sources :]).clone()

    def expert_logits(self, states: Tensor, table: OutputTable | None = None) -> list[Tensor]:
        """Return the logits of each expert, (..., C); arguments as of `output`."""
        table = table or self.output_table()
        parts = states[..., : -self.sources].split(self.width, dim=-1)
        each = zip(self.models, parts, table.rows.split(self.width, dim=1), table.bias.unbind(1), strict=True)
        return [model.output(part, OutputTable(table.ids, rows, bias)) for model, part, rows, bias in each]

    def experts(self, states: Tensor, table: OutputTable | None = None) -> list[tuple[Tensor, Tensor]]:
        present = states[..., -self.sources :].isfinite().unbind(-1)
        return list(zip(self.expert_logits(states, table), present, strict=True))

    def explain(self, states: Tensor) -> dict[str, Tensor]:
        """Return the terms of the first expert, and as "mixture" what the others and the gate make of their sum."""
        return with_mixture(self.models[0].explain(states[..., : self.width]), self.output(states))

    def inner_products(self, states: Tensor) -> dict[str, InnerProduct]:
        return self.models[0].inner_products(states[..., : self.width])

    def embeddings(self) -> dict[str, Tensor]:
        """Return those of the first expert."""
        return self.models[0].embeddings()

    def _log_gate(self, token: Tensor, present: Tensor) -> Tensor:
        """Return log g, (B, L, M), after tokens, (B, L), given which sources there are, (B, 1 or L, M)."""
        read = torch.cat([model.words(token) for model in self.models], dim=-1)
        return widened(self.gate(read.detach() if self.training else read, present.expand(*token.shape, -1)))


def _weighed(steps: Sequence[Step[RecurrentState]], gate: Tensor, joint: Joint) -> Tensor:
    """Return the weights of all experts, each multiplied with its g, (B, K, M), at the joint positions."""
    parts = []
    for step, g in zip(steps, gate.unbind(-1), strict=True):
        assert step.attention is not None
        parts.append((step.attention[0, :, :, 0] * g.unsqueeze(-1)).transpose(1, 2))
    return joint.join(parts).transpose(1, 2)[None, :, :, None]
