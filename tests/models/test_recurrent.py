"""The recurrent systems against a literal implementation of thesis 1.1 and 3.2, by sentence and word."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.small_recurrent import (
    ALLOWED,
    SOURCE,
    SYSTEMS,
    TABLE,
    TARGET,
    TYPES,
    D,
    R,
    attending,
    everything,
    log_probs,
    pairs,
    recurrent,
    stepwise,
)
from support.trees import enumerated
from torch import Tensor

from nmtlab.errors import RecipeError
from nmtlab.models.interface import on_device
from nmtlab.models.recurrent import RecurrentModel
from nmtlab.nn.recurrent import FusedLayer, GruCell, LstmCell, SteppedLayer, TransitionGruCell
from nmtlab.recipe import Recipe
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

# The literal implementation


def lstm(cell, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """One step, gates one by one; `cell` gives W, U and b of all gates in torch's order."""
    w, u, b = cell
    i, f, g, o = ((w @ x + u @ h + b)[n * D : (n + 1) * D] for n in range(4))
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def plain(model: RecurrentModel, source: list[int], target: list[int], system: dict) -> Tensor:
    """Return the log-probabilities (|target| + 1, columns) of a one-layer LSTM system."""
    p = dict(model.named_parameters())
    encoder = [p[f"encoder.backwards.layers.0.loop.{name}_l0"] for name in ("weight_ih", "weight_hh")]
    encoder.append(p["encoder.backwards.layers.0.loop.bias_ih_l0"] + p["encoder.backwards.layers.0.loop.bias_hh_l0"])
    e_w = torch.cat((p["cells.0.input.weight"], p["feed.weight"]), dim=1)
    decoder = (e_w, p["cells.0.recurrent.weight"], p["cells.0.input.bias"] + p["cells.0.recurrent.bias"])
    embedded = p["encoder.embedding.weight"][source]
    h = c = torch.zeros(D, dtype=torch.float64)
    memory = []
    for word in embedded.flip(0):
        h, c = lstm(encoder, word, h, c)
        memory.append(h)
    memory = torch.stack(memory[::-1])
    if "grammar" in system:
        q, k, v = (memory @ p[f"grammar.{name}.weight"].T for name in ("query", "key", "value"))
        annotations = enumerated(q @ k.T / math.sqrt(D)).T @ v

    table = p["target_embedding.weight"]
    if system.get("fixnorm"):
        table = R * table / table.norm(dim=1, keepdim=True)
    rows = p["output_weight"] if system.get("tied") is False else table
    columns = [i for i in range(TYPES) if ALLOWED[i]]
    h_tilde = torch.zeros(D, dtype=torch.float64)
    found = []
    for word in (BOS, *target):
        h, c = lstm(decoder, torch.cat((table[word], h_tilde)), h, c)
        scores = torch.stack([h @ p["attention.key.weight"] @ s for s in memory])
        attention = scores.softmax(0)
        context = (attention.unsqueeze(1) * memory).sum(0)
        if "grammar" in system:
            read_heads = (attention.unsqueeze(1) * annotations).sum(0)
            context = torch.cat((context, read_heads * torch.sigmoid(p["grammar.gate.weight"] @ h)))
        h_tilde = torch.tanh(p["combine.weight"] @ torch.cat((context, h)))
        read = R * h_tilde / h_tilde.norm() if system.get("fixnorm") and system.get("fix_hidden", True) else h_tilde
        logits = rows @ read + p["output_bias"]
        if system.get("lexicon") == "module":
            f = torch.tanh((attention.unsqueeze(1) * embedded).sum(0))
            h_lex = torch.tanh(p["lexical.inner.weight"] @ f) + f
            w_lex = p["lexical.weight"]
            w_lex = R * w_lex / w_lex.norm(dim=1, keepdim=True)
            logits = logits + w_lex @ (R * h_lex / h_lex.norm()) + p["lexical.bias"]
        if system.get("lexicon") == "table":
            p_lex = torch.zeros(TYPES, dtype=torch.float64)
            for weight, f in zip(attention, source, strict=True):
                for entry in range(TABLE.offsets[f], TABLE.offsets[f + 1]):
                    p_lex[TABLE.targets[entry]] += weight * float(TABLE.probabilities[entry])
            logits = logits + torch.log(p_lex + 0.001)
        found.append(logits[columns].log_softmax(0))
    return torch.stack(found)


_WRITTEN_DOWN = SYSTEMS | {"grammar": {"grammar": "tree"}, "grammar-arthur": {"grammar": "tree", "lexicon": "table"}}


@pytest.mark.parametrize("system", _WRITTEN_DOWN.values(), ids=_WRITTEN_DOWN)
def test_a_system_computes_what_the_thesis_and_the_paper_on_heads_write_down(system):
    model = recurrent(**system)
    expected = [
        plain(
            model,
            [w for w in source if w not in (PAD, EOS)],
            [w for w in target if w not in (PAD, EOS)],
            system,
        )
        for source, target in zip(SOURCE.tolist(), TARGET.tolist(), strict=True)
    ]
    torch.testing.assert_close(log_probs(model, pairs()), torch.cat(expected))


def test_attention_is_from_the_last_transition_and_enters_the_first_one_of_the_next_word():
    model = recurrent(cell="gru", transitions=3)
    p = dict(model.named_parameters())
    (cell,) = model.cells

    def step(cell: TransitionGruCell, sums: Tensor, h: Tensor) -> Tensor:
        for unit, x in zip((cell, *cell.transitions), (sums, *(one.bias for one in cell.transitions)), strict=True):
            (r, z, n), (r_h, z_h, n_h) = x.chunk(3), (unit.recurrent.weight @ h + unit.recurrent.bias).chunk(3)
            z = torch.sigmoid(z + z_h)
            h = (1 - z) * torch.tanh(n + torch.sigmoid(r + r_h) * n_h) + z * h
        return h

    h, memory = torch.zeros(D, dtype=torch.float64), []
    reader = model.encoder.backwards.layers[0].cell
    for word in p["encoder.embedding.weight"][SOURCE[0, :4]].flip(0):
        h = step(reader, reader.input.weight @ word + reader.input.bias, h)
        memory.insert(0, h)
    memory, h_tilde, found = torch.stack(memory), torch.zeros(D, dtype=torch.float64), []
    for word in p["target_embedding.weight"][[BOS, *TARGET[0, :3]]]:
        h = step(cell, cell.input.weight @ word + cell.input.bias + p["feed.weight"] @ h_tilde, h)
        context = (memory @ p["attention.key.weight"].T @ h).softmax(0) @ memory
        h_tilde = torch.tanh(p["combine.weight"] @ torch.cat((context, h)))
        logits = p["target_embedding.weight"] @ h_tilde + p["output_bias"]
        found.append(logits[torch.from_numpy(ALLOWED)].log_softmax(0))
    torch.testing.assert_close(log_probs(model, pairs())[:4], torch.stack(found))


@pytest.mark.parametrize("context", ["initial", "every-step"])
@pytest.mark.parametrize(("cell", "kind"), [("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU), ("rnn", torch.nn.RNN)])
def test_without_attention_the_decoder_is_torchs_own_from_the_encoders_last_state(cell, kind, context):
    model = recurrent(cell=cell, layers=2, attention="none", context=context)
    p, every_step = dict(model.named_parameters()), context == "every-step"
    decoder = kind(2 * D if every_step else D, D, num_layers=2, batch_first=True).double()
    for layer, own in enumerate(model.cells):
        fed = [p["feed.weight"]] if every_step and layer == 0 else []
        named = {
            "weight_ih": torch.cat((own.input.weight, *fed), dim=1), "weight_hh": own.recurrent.weight,
            "bias_ih": own.input.bias, "bias_hh": own.recurrent.bias,
        }  # fmt: skip
        for name, value in named.items():
            getattr(decoder, f"{name}_l{layer}").data.copy_(value)
    words = p["encoder.embedding.weight"][SOURCE[0, :4]].flip(0)
    encoder = kind(D, D, num_layers=2, batch_first=True).double()
    for layer, read in enumerate(model.encoder.backwards.layers):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(encoder, f"{name}_l{layer}").data.copy_(getattr(read.loop, f"{name}_l0"))
    _, last = encoder(words)
    c = (last[0] if cell == "lstm" else last)[-1].expand(4, D)
    read = p["target_embedding.weight"][[BOS, *TARGET[0, :3]]]
    h, _ = decoder(torch.cat((read, c), dim=1) if every_step else read, last)
    h_tilde = torch.tanh((torch.cat((c, h), dim=1) if every_step else h) @ p["combine.weight"].T)
    logits = h_tilde @ p["target_embedding.weight"].T + p["output_bias"]
    expected = logits[:, torch.from_numpy(ALLOWED)].log_softmax(1)
    torch.testing.assert_close(log_probs(model, pairs())[:4], expected)


def test_a_context_at_every_step_that_is_not_read_is_none():
    model, initial = (recurrent(attention="none", context=context) for context in ("every-step", "initial"))
    initial.load_state_dict(
        {name: value for name, value in model.state_dict().items() if "feed" not in name}
        | {"combine.weight": model.combine.weight[:, D:]}
    )
    with torch.no_grad():
        model.feed.weight.zero_()
        model.combine.weight[:, :D] = 0
    torch.testing.assert_close(log_probs(model, pairs()), log_probs(initial, pairs()))


@pytest.mark.parametrize(
    ("transitions", "layer", "cell"), [(1, FusedLayer, GruCell), (2, SteppedLayer, TransitionGruCell)]
)
def test_one_transition_is_the_plain_gated_recurrent_unit(transitions, layer, cell):
    model = recurrent(cell="gru", transitions=transitions)
    kinds = (GruCell, TransitionGruCell, FusedLayer, SteppedLayer)
    of_encoder = {type(one) for one in model.encoder.modules() if isinstance(one, kinds)}
    assert of_encoder == {layer} | ({cell} if layer is SteppedLayer else set())
    assert {type(one) for one in model.modules() if isinstance(one, GruCell)} == {cell}


def test_in_bf16_a_gated_recurrent_unit_computes_about_the_same():
    for transitions in (1, 3):
        model = recurrent(cell="gru", transitions=transitions).float()
        with torch.autocast("cpu", torch.bfloat16):
            found = log_probs(model, pairs())
        torch.testing.assert_close(found.float(), log_probs(model, pairs()), atol=0.1, rtol=0.05)


# What must hold for every choice


@everything
def test_decoding_word_by_word_gives_the_numbers_of_training(choices):
    model = recurrent(**choices)
    found, weights = stepwise(model, pairs())
    torch.testing.assert_close(found, log_probs(model, pairs()))
    assert len(weights) == (model.attention is not None)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))


@everything
def test_a_sentence_does_not_see_the_others_nor_the_padding(choices):
    model = recurrent(**choices)
    together = log_probs(model, pairs())
    alone = []
    for source, target in zip(SOURCE, TARGET, strict=True):
        source, target = source[source != PAD], target[target != PAD]
        alone.append(log_probs(model, on_device(batch_of(source[None], target[None]))))
    torch.testing.assert_close(together, torch.cat(alone))


@attending
def test_attention_stands_at_the_written_place_of_a_word_and_never_on_its_end_or_padding(choices):
    _, (weights,) = stepwise(recurrent(**choices), pairs())
    outside = torch.from_numpy((SOURCE == PAD) | (SOURCE == EOS))
    assert (weights[outside.unsqueeze(1).expand_as(weights)] == 0).all()
    assert (weights[~outside.unsqueeze(1).expand_as(weights)] > 0).all()


@pytest.mark.parametrize(
    ("choices", "before", "after"),
    [
        ({}, False, True),
        ({"reversed_source": False}, True, False),
        ({"layers": 2, "bidirectional": True}, True, True),
    ],
    ids=["backwards", "forwards", "both"],
)
def test_a_word_is_encoded_with_those_that_were_read_before_it(choices, before, after):
    model = recurrent(**choices)
    source = torch.tensor([[4, 5, 6, 7, EOS]])
    own = model.encode(source).states
    for changed, reaches in ((0, before), (3, after)):
        other = source.clone()
        other[0, changed] = 8
        assert torch.equal(model.encode(other).states[0, 1:3], own[0, 1:3]) != reaches


def test_a_single_direction_starts_the_decoder_from_the_word_that_it_read_last():
    for choices, last in (({}, 0), ({"reversed_source": False}, 3)):
        memory = recurrent(**choices).encode(torch.tensor([[4, 5, 6, 7, EOS]]))
        torch.testing.assert_close(memory.last[0][0], memory.states[:, last])


@everything
def test_the_terms_of_a_decision_add_up_to_its_logits(choices):
    model = recurrent(**choices)
    states = model(pairs())
    terms = model.explain(states)
    torch.testing.assert_close(sum(terms.values()), model.output(states))
    for name, (vectors, rows) in model.inner_products(states).items():
        cos = F.cosine_similarity(vectors.unsqueeze(1), rows.unsqueeze(0), dim=-1)
        product = vectors.norm(dim=-1, keepdim=True) * rows.norm(dim=-1) * cos
        torch.testing.assert_close(product, terms[name])


@everything
def test_the_gradient_is_that_of_finite_differences(choices):
    model = recurrent(**choices)
    batch = pairs()
    gold = model.output_index(batch.target[batch.target != PAD])

    def loss() -> Tensor:
        return F.nll_loss(log_probs(model, batch), gold, reduction="sum")

    loss().backward()
    generator = torch.Generator().manual_seed(1)
    for name, parameter in model.named_parameters():
        place = tuple(int(torch.randint(size, (), generator=generator)) for size in parameter.shape)
        with torch.no_grad():
            before = parameter[place].item()
            parameter[place] = before + 1e-6
            above = loss()
            parameter[place] = before - 1e-6
            difference = (above - loss()) / 2e-6
            parameter[place] = before
        slope = 0.0 if parameter.grad is None else parameter.grad[place].item()
        assert slope == pytest.approx(difference.item(), rel=1e-4, abs=1e-6), name


@everything
def test_selected_slots_go_on_as_if_nothing_else_had_been_there(choices):
    model = recurrent(**choices)
    state = model.start(model.encode(pairs().source))
    state = model.step(state, torch.full((3, 1), BOS)).state
    rows = torch.tensor([[2, 2], [0, 0]])
    spread = model.step(state.select(rows), torch.tensor([[4, 5], [6, 7]])).log_probs
    for sentence, (old, tokens) in enumerate([(2, [4, 5]), (0, [6, 7])]):
        for slot, token in enumerate(tokens):
            alone = model.step(state.select(torch.tensor([[old]])), torch.tensor([[token]])).log_probs
            torch.testing.assert_close(spread[sentence, slot], alone[0, 0])
    some = model.step(state.select(torch.tensor([[-1, 2], [0, -1]])), torch.tensor([[4, 5], [6, 7]])).log_probs
    torch.testing.assert_close((some[0, 1], some[1, 0]), (spread[0, 1], spread[1, 0]))


def test_a_blank_source_is_no_error():
    model = recurrent()
    probabilities = log_probs(model, on_device(batch_of(np.array([[EOS, PAD], [5, EOS]]), TARGET[:2])))
    assert probabilities.isfinite().all()


def test_what_is_given_is_not_written_to():
    batch = pairs()
    before = batch.source.clone()
    log_probs(recurrent(), batch)
    assert torch.equal(batch.source, before)


# Fixed norms


def test_with_fixnorm_a_logit_is_r_squared_times_the_cosine_plus_the_bias():
    model = recurrent(fixnorm=True)
    states = model(pairs())
    rows = model.target_embedding.weight[model.output_ids]
    cos = F.cosine_similarity(states.unsqueeze(1), rows.unsqueeze(0), dim=-1)
    torch.testing.assert_close(model.output(states), R**2 * cos + model.output_bias[model.output_ids])


def test_what_is_fed_back_is_h_tilde_as_it_is_however_long_r_makes_it_in_the_output():
    model = recurrent(fixnorm=True)
    free = recurrent(fixnorm=True, fix_hidden=False)
    torch.testing.assert_close(model(pairs()), free(pairs()))
    assert not torch.allclose(model.output(model(pairs())), free.output(free(pairs())))
    lengths = model(pairs()).norm(dim=-1)
    assert lengths.unique().numel() == len(lengths)


def test_the_lexical_module_worked_by_hand():
    model = recurrent(fixnorm=True, lexicon="module", d_model=2)
    with torch.no_grad():
        model.lexical.inner.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
        model.lexical.weight.copy_(torch.tensor([[3.0, 4.0]] * TYPES))
        model.encoder.embedding.weight[5] = torch.tensor([math.atanh(0.5), 0.0])
    # f = (0.5, 0); h = tanh(0, 0.5) + f = (0.5, 0.46211716); |h| = 0.68085; r (0.6, 0.8) . r h/|h| = 9 . 0.98360
    h = (0.5, math.tanh(0.5))
    expected = R**2 * (0.6 * h[0] + 0.8 * h[1]) / math.hypot(*h)
    vectors = model.lexical(model.encoder.embedding.table(torch.tensor([5])))
    logits = vectors @ model.lexical.rows(model.output_ids).T
    assert logits[0].tolist() == pytest.approx([expected] * int(ALLOWED.sum()))


# The lexicon


def test_the_lexicon_of_the_module_is_what_it_says_to_a_word_that_has_all_attention():
    model = recurrent(fixnorm=True, lexicon="module")
    types = torch.tensor([5, 12])
    _, rest = model(on_device(batch_of(np.array([[5, 2], [12, 2]]), np.array([[2], [2]])))).split(D, dim=-1)
    logits = rest @ model.lexical.rows(model.output_ids).T + model.lexical.bias[model.output_ids]
    torch.testing.assert_close(model.lexicon(types), logits.log_softmax(-1))


def test_the_lexicon_of_a_table_is_the_table_without_types_that_may_not_be_produced():
    found = recurrent(lexicon="table").lexicon(torch.tensor([4, 5, 8])).exp()
    column = {int(t): c for c, t in enumerate(np.flatnonzero(ALLOWED))}
    assert found[0, column[4]] == 0.5
    assert found[0, column[9]] == 0.25
    assert found[1].sum() == 0.75  # type 8 is not allowed
    assert found[2].sum() == 0


def test_other_systems_have_no_lexicon():
    assert recurrent().lexicon(torch.tensor([5])) is None


# Dropout


@pytest.mark.parametrize("choices", [{}, {"layers": 2, "residual": True}, {"variational": True}, {"layer_norm": True}])
def test_dropout_changes_training_and_nothing_else(choices):
    model, without = recurrent(dropout=0.5, **choices), recurrent(**choices)
    torch.testing.assert_close(log_probs(model, pairs()), log_probs(without, pairs()))
    model.train()
    torch.manual_seed(1)
    first, second = log_probs(model, pairs()), log_probs(model, pairs())
    assert not torch.allclose(first, second)
    torch.manual_seed(1)
    assert torch.equal(first, log_probs(model, pairs()))


def test_the_lexical_module_reads_whole_source_embeddings_or_the_encoders_dropped_ones():
    source = torch.tensor([[4, 5, 6, EOS]])
    choices = {"fixnorm": True, "lexicon": "module", "dropout": 0.5}
    for dropped in (False, True):
        model = recurrent(lexicon_reads_dropped=dropped, **choices).train()
        embedded = model.encoder(source).embedded[0, :3]
        whole = model.encoder.embedding.table(source[0, :3])
        kept = embedded != 0
        assert kept.all() != dropped
        torch.testing.assert_close(embedded[kept], whole[kept] * (2 if dropped else 1))
        assert torch.equal(model.eval().encoder(source).embedded[0, :3], whole)


def test_the_state_goes_on_undropped_between_positions_unless_dropout_is_variational():
    batch = on_device(batch_of(np.array([[5, 2]]), np.array([[9, 10, 5, 11, 2]])))
    for variational in (False, True):
        model = recurrent(dropout=0.5, variational=variational).train()
        seen = []
        model.cells[0].recurrent.register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0]))
        torch.manual_seed(3)
        model(batch)
        dropped = [(h == 0).any().item() for h in seen[1:]]
        assert dropped == [variational] * 4


# Bad choices


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model.layers": 3, "model.bidirectional": True}, "choose 4"),
        ({"model.layers": 2, "model.bidirectional": True, "model.reversed_source": False}, "remove reversed_source"),
        ({"model.fixnorm": True, "model.tied": False}, "remove tied"),
        ({"model.lexicon": "module"}, "set fixnorm"),
        ({"model.transitions": 2}, "but cell is 'lstm'; choose 'gru'"),
        ({"model.d_ff": 3}, "family transformer"),
        ({"model.context": "every-step"}, "set attention to 'none'"),
        ({"model.attention": "none", "model.lexicon": "table"}, "lexicon 'table' reads what is attended to"),
        (
            {"model.attention": "none", "search.replace_unknown": True},
            "search.replace_unknown needs attention, which the model does not have; set it to false",
        ),
        (
            {"model.attention": "none", "search.replace_unknown": False, "search.coverage": 0.2},
            "search.coverage needs attention, which the model does not have; set it to 0",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_remedy(changes, words):
    with pytest.raises(RecipeError, match=words):
        Recipe().with_changes({"model.family": "rnn"}).with_changes(changes)


def test_a_cell_is_torchs_own():
    for cell, reference in ((LstmCell(3, D), torch.nn.LSTMCell(3, D)), (GruCell(3, D), torch.nn.GRUCell(3, D))):
        cell.input.load_state_dict({"weight": reference.weight_ih, "bias": reference.bias_ih})
        cell.recurrent.load_state_dict({"weight": reference.weight_hh, "bias": reference.bias_hh})
        x, state = torch.randn(2, 3), tuple(torch.randn(2, D) for _ in range(cell.tensors))
        expected = reference(x, state if cell.tensors == 2 else state[0])
        expected = expected if cell.tensors == 2 else (expected,)
        for ours, theirs in zip(cell(cell.project(x), state), expected, strict=True):
            torch.testing.assert_close(ours, theirs)
