"""A Transformer that clips what it multiplies, in floating point and as 8-bit integers would."""

import pytest
import torch
from support.small_transformer import log_probs, pairs, settings, stepwise, transformer

from nmtlab.errors import RecipeError, RunError
from nmtlab.interchange.folding import check_exportable
from nmtlab.interchange.served import check_search
from nmtlab.nn.clipped import ProductInput
from nmtlab.recipe import SearchSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.search.ensemble import Ensemble
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.online import OnlineModel
from nmtlab.training.setup import train
from nmtlab.translation import Translator

CHOICES = ("pre", "scale", True)


def test_a_limit_that_nothing_reaches_changes_nothing_and_one_that_is_reached_does():
    plain, wide, narrow = (transformer(*CHOICES, clip_inputs=clip) for clip in (0.0, 1000.0, 0.3))
    assert plain.state_dict().keys() == wide.state_dict().keys()
    torch.testing.assert_close(log_probs(wide, pairs()), log_probs(plain, pairs()), atol=1e-12, rtol=0)
    assert (log_probs(narrow, pairs()) - log_probs(plain, pairs())).abs().max() > 0.1


@pytest.mark.parametrize("history", ["attention", "average"])
def test_step_by_step_it_is_the_parallel_pass_in_integers_too(history):
    model = transformer(*CHOICES, clip_inputs=0.5, decoder_history=history)
    for one in (model, model.in_int8()):
        torch.testing.assert_close(stepwise(one, pairs()), log_probs(one, pairs()), atol=1e-10, rtol=0)


def test_in_integers_every_product_with_a_weight_has_few_inputs_and_the_model_stays_as_it_is():
    model = transformer(*CHOICES, clip_inputs=0.5)
    before = log_probs(model, pairs())
    rounded = model.in_int8()
    seen = []
    for module in rounded.modules():
        if isinstance(module, ProductInput):
            module.register_forward_hook(lambda module, given, found: seen.append(found * (127 / module.limit)))
    difference = (log_probs(rounded, pairs()) - before).abs().max()
    assert 0 < difference < 0.2
    assert torch.equal(log_probs(model, pairs()), before)
    layers = 2 * (4 + 2) + 2 * (2 * 4 + 2)  # the maps of attention and feed-forward sublayers
    assert len(seen) == 2 * (layers + 1)
    assert all((one - one.round()).abs().max() < 1e-9 and one.abs().max() <= 127 for one in seen)


def test_the_terms_of_logits_add_up_to_them():
    model = transformer(*CHOICES, clip_inputs=0.4)
    states = model(pairs())
    torch.testing.assert_close(sum(model.explain(states).values()), model.output(states), atol=1e-12, rtol=0)


def test_an_ensemble_is_rounded_in_all_its_members_and_a_model_that_clips_nothing_is_refused():
    models = [transformer(*CHOICES, clip_inputs=0.5, seed=seed) for seed in (0, 1)]
    rounded = Ensemble(models).in_int8()
    for model, twin in zip(models, rounded.models, strict=True):
        assert torch.equal(log_probs(model.in_int8(), pairs()), log_probs(twin, pairs()))
    with pytest.raises(RunError, match=r"does not clip what it multiplies; set search.int8 to false"):
        transformer(*CHOICES).in_int8()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"search.int8": True}, "search.int8 rounds clipped inputs, but model.clip_inputs is 0; set it to false"),
        ({"model.clip_inputs": 2.0, "model.lora_rank": 2, "transfer.continued": True}, "set one of them to 0"),
        ({"model.clip_inputs": 2.0, "model.attention_share": 0.5}, "clip_inputs needs maps that all languages share"),
        ({"model.clip_inputs": -1.0}, "clip_inputs"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changes, said):
    with pytest.raises(RecipeError, match=said):
        named_recipe("transformer-tiny").with_changes(changes)


def test_other_programs_which_do_not_clip_are_refused():
    recipe = named_recipe("transformer-tiny").with_changes({"model.clip_inputs": 2.0})
    said = r"model.clip_inputs = 2: no such part in the other program; choose a run with clip_inputs = 0"
    with pytest.raises(RunError, match=said):
        check_exportable("clipped", recipe)
    with pytest.raises(RecipeError, match=r"search.int8: CTranslate2 does not search like that; set it to false"):
        check_search(SearchSettings(int8=True))


def test_a_run_goes_on_with_clipped_inputs_and_translates_in_integers(
    zoo, tiny_corpus: ParallelCorpus, tmp_path, workspace
):
    parent = zoo.copy("learned", workspace)
    changes = {"model.clip_inputs": 2.0, "transfer.parent": parent.name, "transfer.continued": True}
    run: Run = train("clipped", parent.recipe.with_changes(changes), tiny_corpus, workspace)
    lines = list(tiny_corpus.lines("dev", "de"))
    asked = SearchSettings(beam_size=2, int8=True)
    whole, rounded = (open_model(run, search) for search in (SearchSettings(beam_size=2), asked))
    scores = [
        torch.tensor([one.hypotheses[0].log_prob for one in system.translate(lines)]) for system in (whole, rounded)
    ]
    assert 0 < (scores[0] - scores[1]).abs().max() < 1
    assert settings().clip_inputs == 0
    assert Translator(rounded.model, rounded.pipeline, asked).model is rounded.model
    plain = Translator(rounded.model, rounded.pipeline, SearchSettings(beam_size=2))
    assert plain.translate(lines)[0].hypotheses[0].log_prob == scores[0][0]
    learning = OnlineModel(rounded, run.recipe)
    learning.learn([(lines[0], "ein Wort")], rate=0.1, epochs=1)
    assert learning.translator.model.int8
