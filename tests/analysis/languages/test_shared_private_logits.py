"""The terms of a logit in a model whose word vectors have shared and private units."""

import numpy as np
import pytest

from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.analysis.lexical.logits import decompose, logit_figure, term_values


def test_shared_and_private_terms_add_up_to_the_logit_and_are_drawn(copies):
    source, target = next(copies.corpora[1].pairs("test"))
    frame = decompose(copies.halves.directed("nl", "en"), source, target, 0)
    values = term_values(frame)
    assert list(values) == ["shared", "private", "bias"]
    assert values.sum(axis=1).to_numpy() == pytest.approx(frame["logit"].to_numpy(), abs=1e-5)
    names = [trace.name.partition(":")[0] for trace in logit_figure(frame).data]
    assert names == ["shared units", "private units", "b<sub>e</sub>", "logit"]


def test_the_norm_of_a_word_is_that_of_all_its_units(copies):
    frame = word_norms(copies.halves).set_index("id").sort_index()
    rows = opened(copies.halves).model.output_table().rows.norm(dim=1).detach().numpy()
    ids = opened(copies.halves).model.output_ids
    expected = dict(zip(ids.tolist(), rows.tolist(), strict=True))
    assert frame["used_norm"].to_numpy() == pytest.approx([expected[number] for number in frame.index])
    assert np.allclose(frame["norm"], frame["used_norm"])  # without FixNorm


def test_a_wrong_choice_has_effects_of_either_kind_of_units(copies):
    table = rare_choices(copies.halves, copies.corpora[0], "dev", below=10_000, limit=5)
    effects = [name for name in table if name.endswith("_effect")]
    assert effects == [
        "shared_norm_effect", "shared_cos_effect", "private_norm_effect", "private_cos_effect", "bias_effect",
    ]  # fmt: skip
    margin = table[effects].sum(axis=1)
    assert margin.to_numpy() == pytest.approx(table["margin"].to_numpy(), abs=1e-6)
