import itertools
import math

import pytest
import torch
from support.scripted_model import ScriptedModel, ScriptedState, every_translation, score_of

from nmtlab.errors import RecipeError
from nmtlab.interchange.served import check_search
from nmtlab.models.interface import Step
from nmtlab.recipe import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.scores import coverage_penalty, highest_coverage, hypothesis_score, optimistic_bound
from nmtlab.text.segmentation.vocabulary import EOS, PAD

SCORES = [
    SearchSettings(score="log-prob"),
    SearchSettings(score="average"),
    SearchSettings(score="length-normalised", alpha=0.8),
    SearchSettings(score="word-reward", gamma=0.7),
    SearchSettings(score="word-reward", gamma=-0.4),
    SearchSettings(score="bounded-reward", gamma=0.9, reward_ratio=0.8),
    SearchSettings(score="bounded-reward", gamma=-0.4, reward_ratio=0.8),
]


def with_beam(settings: SearchSettings, beam_size: int, extra: int = 2) -> SearchSettings:
    return settings.model_copy(update={"beam_size": beam_size, "extra_length": extra})


def source_of(*sentences: tuple[int, ...]) -> torch.Tensor:
    longest = max(map(len, sentences))
    return torch.tensor([[*sentence, *[PAD] * (longest - len(sentence))] for sentence in sentences])


@pytest.mark.parametrize("settings", SCORES, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_a_beam_as_wide_as_everything_finds_what_brute_force_finds(settings, seed):
    model = ScriptedModel(types=6, seed=seed)
    source = (4, 5, EOS)
    settings = with_beam(settings, beam_size=200)
    limit = 2 + settings.extra_length
    everything = every_translation(model, source, limit)
    ranked = sorted(everything, key=lambda y: -score_of(settings, everything[y], len(y) + 1, len(source)))

    (result,) = beam_search(model, model.encode(source_of(source)), settings, n_best=3)

    assert [h.tokens for h in result.hypotheses] == ranked[:3]
    for hypothesis in result.hypotheses:
        assert hypothesis.finished
        assert hypothesis.log_prob == pytest.approx(everything[hypothesis.tokens], abs=1e-12)
        assert hypothesis.score == pytest.approx(
            score_of(settings, hypothesis.log_prob, len(hypothesis.tokens) + 1, len(source)), abs=1e-12
        )


PRUNED = [{}, {"prune_below": 0.3}, {"prune_below": 1.5}, {"per_parent": 1}, {"per_parent": 2, "prune_below": 0.8}]


@pytest.mark.parametrize("settings", SCORES, ids=str)
@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
@pytest.mark.parametrize("pruning", PRUNED, ids=str)
def test_a_beam_is_the_published_algorithm_done_plainly(settings, beam_size, pruning):
    settings = with_beam(settings, beam_size, extra=4).model_copy(update=pruning)
    for seed in range(10):
        model = ScriptedModel(types=7, seed=seed)
        source = (4, EOS)
        best = plain_beam(model, source, settings)
        (result,) = beam_search(model, model.encode(source_of(source)), settings)
        assert result.hypotheses[0].tokens == best


def test_pruning_far_below_the_best_changes_nothing_and_near_it_takes_fewer_steps_of_hypotheses():
    source = source_of((4, 5, 6, EOS), (5, EOS))
    found, steps = {}, {}
    for prune_below in (0.0, 0.5, 1e6):
        model = ScriptedModel(types=8, seed=2)
        settings = SearchSettings(beam_size=5, score="log-prob", extra_length=6, prune_below=prune_below)
        results = beam_search(model, model.encode(source), settings, record=True)
        found[prune_below] = [result.hypotheses[0].tokens for result in results]
        steps[prune_below] = sum(int((~step.finished).sum()) for result in results for step in result.tree)
    assert found[1e6] == found[0.0]
    assert steps[0.5] < steps[1e6] == steps[0.0]


def plain_beam(model: ScriptedModel, source: tuple[int, ...], settings: SearchSettings) -> tuple[int, ...]:
    """Algorithm 3 of the survey with finished hypotheses keeping their slots, until every slot is finished."""
    limit = len(source) - 1 + settings.extra_length
    slots = [((), 0.0)]  # tokens with EOS, log p

    def score(slot):
        return score_of(settings, slot[1], max(1, len(slot[0])), len(source))

    for step in range(limit):
        following, most = [], (settings.per_parent if step else 0) or settings.beam_size
        for tokens, log_prob in slots:
            if tokens and tokens[-1] == EOS:
                following.append((tokens, log_prob))
                continue
            values = model.log_probs(source, tokens).tolist()
            types = model.output_ids.tolist()
            children = [((*tokens, t), log_prob + v) for t, v in zip(types, values, strict=True)]
            following += sorted(children, key=lambda child: -child[1])[:most]
        kept = sorted(following, key=lambda slot: -score(slot))[: settings.beam_size]
        worst = score(kept[0]) - (settings.prune_below or math.inf)
        slots = [slot for slot in kept if score(slot) >= worst or slot[0][-1] == EOS]
        if all(tokens[-1] == EOS for tokens, _ in slots):
            break
    finished = [slot for slot in slots if slot[0][-1] == EOS] or slots
    tokens = max(finished, key=score)[0]
    return tokens[:-1] if tokens[-1] == EOS else tokens


def test_greedy_search_takes_the_likeliest_token_each_time():
    model = ScriptedModel(types=9, seed=3)
    source = (4, 5, 6, EOS)
    (result,) = beam_search(
        model, model.encode(source_of(source)), SearchSettings(beam_size=1, score="log-prob", extra_length=5)
    )
    tokens: tuple[int, ...] = ()
    while len(tokens) < 8:
        token = int(model.output_ids[model.log_probs(source, tokens).argmax()])
        if token == EOS:
            break
        tokens = (*tokens, token)
    assert result.hypotheses[0].tokens == tokens


@pytest.mark.parametrize("settings", SCORES, ids=str)
def test_a_sentence_is_translated_the_same_whatever_its_neighbours(settings):
    settings = with_beam(settings, beam_size=4, extra=6)
    sentences = [(4, EOS), (5, 6, 7, EOS), (7, 4, EOS), (6, 5, 4, 4, 5, EOS)]
    model = ScriptedModel(types=8, seed=1)
    alone = [beam_search(model, model.encode(source_of(s)), settings, n_best=4)[0].hypotheses for s in sentences]
    for order in itertools.permutations(range(4)):
        together = beam_search(model, model.encode(source_of(*(sentences[i] for i in order))), settings, n_best=4)
        assert [result.hypotheses for result in together] == [alone[i] for i in order]


class Fixed(ScriptedModel):
    """Probabilities given for each prefix; any other prefix ends with probability 1."""

    def __init__(self, table: dict[tuple[int, ...], dict[int, float]], types: int = 8) -> None:
        super().__init__(types)
        self.table = table

    def log_probs(self, source, prefix):
        given = self.table.get(prefix, {EOS: 1.0})
        return torch.tensor([given.get(t, 0.0) for t in self.output_ids.tolist()], dtype=self.dtype).log()


EMPTY_IS_BEST = Fixed(
    {
        (): {EOS: 0.3, 4: 0.4, 5: 0.3},
        (4,): {6: 0.5, 7: 0.5},
        (5,): {6: 0.5, 7: 0.5},
    }
)  # the empty translation has 0.3, every other one at most 0.2


def test_a_wide_beam_finds_the_empty_translation_and_a_narrow_one_does_not():
    narrow, wide = (
        beam_search(
            EMPTY_IS_BEST,
            EMPTY_IS_BEST.encode(source_of((4, EOS))),
            SearchSettings(beam_size=k, score="log-prob"),
        )[0]
        for k in (1, 3)
    )
    assert narrow.hypotheses[0].tokens == (4, 6)
    assert wide.hypotheses[0].tokens == ()


def test_the_empty_translation_can_be_forbidden():
    settings = SearchSettings(beam_size=3, score="log-prob", allow_empty=False)
    (result,) = beam_search(EMPTY_IS_BEST, EMPTY_IS_BEST.encode(source_of((4, EOS))), settings, n_best=3)
    assert all(hypothesis.tokens for hypothesis in result.hypotheses)


def test_equal_scores_are_ranked_by_id():
    model = Fixed({(): {4: 0.25, 5: 0.25, 6: 0.25, 7: 0.25}})
    (result,) = beam_search(
        model, model.encode(source_of((4, EOS))), SearchSettings(beam_size=3, score="log-prob"), n_best=3
    )
    assert [hypothesis.tokens for hypothesis in result.hypotheses] == [(4,), (5,), (6,)]


def test_a_hypothesis_still_open_at_the_limit_is_returned_only_if_none_has_finished_and_is_marked():
    endless = Fixed({(4,) * n: {4: 1.0} for n in range(20)})
    (result,) = beam_search(endless, endless.encode(source_of((4, EOS))), SearchSettings(beam_size=2, extra_length=3))
    best = result.hypotheses[0]
    assert (best.tokens, best.finished) == ((4, 4, 4, 4), False)

    finishing = Fixed({(4,) * n: {4: 0.99, EOS: 0.01} for n in range(20)})
    (result,) = beam_search(
        finishing, finishing.encode(source_of((4, EOS))), SearchSettings(beam_size=2, score="log-prob", extra_length=3)
    )
    assert all(hypothesis.finished for hypothesis in result.hypotheses)


def test_search_ends_as_soon_as_no_open_hypothesis_can_win():
    quick = Fixed({(): {EOS: 0.9, 4: 0.1}, **{(4,) * n: {4: 1.0} for n in range(1, 60)}})
    beam_search(quick, quick.encode(source_of((4, EOS))), SearchSettings(beam_size=2, score="log-prob"))
    assert quick.steps == 1

    # With a word reward the open one can still win, so its current score must not end the search.
    slow = Fixed({(): {EOS: 0.9, 4: 0.1}, **{(4,) * n: {4: 1.0} for n in range(1, 9)}})
    settings = SearchSettings(beam_size=2, score="word-reward", gamma=1.0)
    (result,) = beam_search(slow, slow.encode(source_of((4, EOS))), settings)
    assert result.hypotheses[0].tokens == (4,) * 9


@pytest.mark.parametrize("settings", SCORES, ids=str)
def test_the_optimistic_bound_is_never_below_what_a_hypothesis_reaches(settings):
    model = ScriptedModel(types=6, seed=5)
    source, limit = (4, 5, EOS), 5
    everything = every_translation(model, source, limit)
    for translation, log_prob in everything.items():
        prefix_log_prob = 0.0
        for n in range(len(translation) + 1):
            so_far = torch.tensor(prefix_log_prob), torch.tensor(n), torch.tensor(limit)
            bound = optimistic_bound(settings, *so_far, torch.tensor(len(source)))
            assert score_of(settings, log_prob, len(translation) + 1, len(source)) <= bound.item() + 1e-6
            if n < len(translation):
                column = int((model.output_ids == translation[n]).nonzero())
                prefix_log_prob += model.log_probs(source, translation[:n])[column].item()


def test_a_bounded_reward_rewards_tokens_up_to_a_share_of_the_source_and_needs_its_length():
    settings = SearchSettings(score="bounded-reward", gamma=0.5, reward_ratio=1.5)
    log_prob, length, source = torch.tensor([-3.0, -3.0]), torch.tensor([5, 9]), torch.tensor(4)
    found = hypothesis_score(settings, log_prob, length, source=source)
    assert found.tolist() == [-3 + 0.5 * 5, -3 + 0.5 * 6]
    with pytest.raises(RecipeError, match="bounded-reward': needs the length of the source"):
        hypothesis_score(settings, torch.tensor(-3.0), torch.tensor(5))
    with pytest.raises(RecipeError, match="bounded-reward': CTranslate2 does not search like that; choose another"):
        check_search(settings)


def test_a_reward_that_is_bounded_far_away_is_one_for_every_word_and_one_of_zero_is_none():
    source = source_of((4, 5, EOS), (5, EOS))
    for seed, gamma in itertools.product(range(5), (0.0, 0.6)):
        model = ScriptedModel(types=7, seed=seed)
        found = [
            [result.hypotheses for result in beam_search(model, model.encode(source), settings, n_best=3)]
            for settings in (
                SearchSettings(score="bounded-reward", gamma=gamma, reward_ratio=100, extra_length=4),
                SearchSettings(score="word-reward", gamma=gamma, extra_length=4),
            )
        ]
        assert found[0] == found[1]


def test_coverage_counts_what_attention_has_left_out():
    attention = torch.tensor([[1.2, 0.5, 0.0, 9.0]])
    mask = torch.tensor([[True, True, True, False]])
    expected = math.log(0.5) + math.log(1e-3)
    assert coverage_penalty(SearchSettings(), attention, mask).item() == pytest.approx(expected)
    li = SearchSettings(coverage=1, coverage_form="li", coverage_floor=0.2)
    by_hand = math.log(1.2) + math.log(0.5) + math.log(0.2)
    assert coverage_penalty(li, attention, mask).item() == pytest.approx(by_hand)


@pytest.mark.parametrize("form", ["wu", "li"])
def test_no_attention_of_so_many_tokens_covers_more_than_the_bound(form):
    settings = SearchSettings(coverage=1, coverage_form=form, coverage_floor=0.05)
    torch.manual_seed(1)
    for tokens, positions in itertools.product((1, 2, 5, 20), (1, 3, 8)):
        mask = torch.ones(positions, dtype=torch.bool)
        attention = torch.cat([torch.rand(200, positions).pow(4), torch.ones(1, positions)])
        attention = tokens * attention / attention.sum(-1, keepdim=True)
        bound = highest_coverage(settings, torch.tensor(tokens), mask)
        assert (coverage_penalty(settings, attention, mask) <= bound + 1e-5).all()


def test_coverage_prefers_the_translation_that_attends_to_everything():
    # Words are attended to in order, so a translation of three steps covers a source of three.
    model = Fixed({(): {EOS: 0.6, 4: 0.4}, (4,): {5: 1.0}, (4, 5): {EOS: 1.0}})
    source = source_of((4, 5, EOS))
    without = beam_search(model, model.encode(source), SearchSettings(beam_size=3, score="log-prob"))[0]
    covering = beam_search(model, model.encode(source), SearchSettings(beam_size=3, score="log-prob", coverage=0.5))[0]
    assert without.hypotheses[0].tokens == ()
    assert covering.hypotheses[0].tokens == (4, 5)
    assert covering.hypotheses[0].score == pytest.approx(math.log(0.4), abs=1e-6)


def test_the_recorded_tree_holds_every_slot_and_leads_to_the_hypotheses():
    model = ScriptedModel(types=7, seed=2)
    sentences = [(4, 5, EOS), (6, EOS)]
    settings = SearchSettings(beam_size=3, extra_length=3, score="log-prob")
    for result in beam_search(model, model.encode(source_of(*sentences)), settings, n_best=3, record=True):
        last = result.tree[-1]
        for slot in range(3):
            tokens, place = [], slot
            for step in reversed(result.tree):
                tokens.append(int(step.token[place]))
                place = int(step.parent[place])
            path = tuple(t for t in reversed(tokens) if t not in (PAD, EOS))
            matching = [h for h in result.hypotheses if h.tokens == path]
            if last.finished[slot]:
                assert matching[0].log_prob == pytest.approx(last.log_prob[slot])
        for hypothesis in result.hypotheses:
            assert hypothesis.attention.shape[2] == len(hypothesis.tokens) + hypothesis.finished
            assert hypothesis.attention.sum(-1) == pytest.approx(1.0)


def test_a_state_is_selected_by_sentence_and_slot():
    state = ScriptedState(torch.arange(2, 9), [[(4,), (5,)], [(6,), (7,)]], torch.tensor([[1], [2]]))
    chosen = state.select(torch.tensor([[3, 3, 2]]))
    assert chosen.prefixes == [[(7,), (7,), (6,)]]
    assert isinstance(Step(torch.zeros(1), chosen, None), Step)


def test_a_hypothesis_that_has_just_finished_is_not_dropped():
    model = Fixed({(): {EOS: 0.1, 4: 0.9}, (4,): {4: 0.1, 5: 0.1, 6: 0.1, 7: 0.7}})
    settings = SearchSettings(beam_size=3, score="log-prob", prune_below=0.5)
    (result,) = beam_search(model, model.encode(source_of((4, EOS))), settings, n_best=3)
    assert () in [hypothesis.tokens for hypothesis in result.hypotheses]


def test_one_continuation_of_each_is_still_a_beam():
    model = Fixed({(): {4: 0.6, 5: 0.4}, (4,): {6: 0.5, 7: 0.5}, (5,): {6: 1.0}})
    settings = SearchSettings(beam_size=2, score="log-prob", per_parent=1)
    (result,) = beam_search(model, model.encode(source_of((4, EOS))), settings, n_best=2)
    assert [hypothesis.tokens for hypothesis in result.hypotheses] == [(5, 6), (4, 6)]
