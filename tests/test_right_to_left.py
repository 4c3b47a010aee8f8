"""A run with `text.reversed_target` is an ordinary run of reversed targets, and its answers are in reading order."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from support.learned import LEARNED

from nmtlab.analysis.access.word_pairs import forced_attention, pair_of_words, piece_links
from nmtlab.analysis.attention.heads import all_heads
from nmtlab.analysis.attention.intervention import redecode
from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.attribution.contributions import Instead, contributions
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.logits import decompose
from nmtlab.analysis.lexical.tokens import token_probabilities
from nmtlab.analysis.search.n_best import n_best_lists
from nmtlab.analysis.search.search_tree import continue_from, reference_path, search_tree
from nmtlab.analysis.states.token_states import token_states
from nmtlab.cli import main
from nmtlab.dashboards.pages.search import SearchPage
from nmtlab.dashboards.pages.translate import TranslatePage
from nmtlab.errors import NmtlabError, RunError
from nmtlab.interchange.export import export_model
from nmtlab.models.interface import Memory, Searchable
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.searches import Search
from nmtlab.systems import open_ensemble, open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.vocabulary import EOS, UNK
from nmtlab.training.setup import train
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SOURCE, TARGET = "ein hund geht nach fluss", "one dog goes to river"
LAST = 4
SEARCH = SearchSettings(beam_size=3, score="log-prob")


def turned(line: str) -> str:
    return " ".join(line.split()[::-1])


class Both(NamedTuple):
    """A run that reverses its targets, and one of text whose targets are reversed; their corpora and workspaces."""

    run: Run
    plain: Run
    corpus: ParallelCorpus
    turned_corpus: ParallelCorpus


@pytest.fixture(scope="module")
def both(tiny_corpus, tiny_recipe, tmp_path_factory) -> Both:
    folder = tmp_path_factory.mktemp("both")
    recipe = tiny_recipe.with_changes({**LEARNED, "search.replace_unknown": True})
    for split in ("train", "dev", "test"):
        write_lines(folder / f"tiny/{split}.de", tiny_corpus.lines(split, "de"))
        write_lines(folder / f"tiny/{split}.en", map(turned, tiny_corpus.lines(split, "en")))
    turned_corpus = ParallelCorpus.open(folder / "tiny", "de", "en")
    reversed_ = recipe.with_changes({"text.reversed_target": True})
    runs = (
        train("whole", reversed_, tiny_corpus, Workspace(folder / "reversed")),
        train("whole", recipe, turned_corpus, Workspace(folder / "plain")),
    )
    return Both(*runs, tiny_corpus, turned_corpus)


@pytest.fixture(scope="module")
def systems(both) -> tuple[Translator, Translator]:
    return open_model(both.run), open_model(both.plain)


def test_it_is_bit_for_bit_an_ordinary_run_of_reversed_targets(both):
    assert both.run.checkpoints.digest == both.plain.checkpoints.digest
    assert both.run.pipeline.checksum() != both.plain.pipeline.checksum()


def test_translations_are_in_reading_order_with_the_scores_of_the_model(both, systems):
    lines = list(both.corpus.lines("test", "de"))
    found, plain = (system.translate(lines, n_best=3) for system in systems)
    assert [one.texts for one in found] == [[*map(turned, one.texts)] for one in plain]
    scores = [[(h.log_prob, h.score) for one in some for h in one.hypotheses] for some in (found, plain)]
    assert scores[0] == scores[1]
    right = sum(one.text == line for one, line in zip(found, both.corpus.lines("test", "en"), strict=True))
    assert right > sum(
        turned(one.text) == line for one, line in zip(found, both.corpus.lines("test", "en"), strict=True)
    )


@dataclass(frozen=True)
class Known(Search):
    """A search that finds some tokens."""

    tokens: tuple[int, ...] = ()

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        return [SearchResult([Hypothesis(self.tokens, -1.0, -1.0, True)]) for _ in places]


def test_unknown_words_are_replaced_at_their_places(systems):
    (dog,) = systems[0].pipeline.target.vocabulary.ids(["dog"])
    search = Known(SEARCH, tokens=(UNK, dog, dog, UNK, dog))
    (ours,), (plain,) = (system.translate([SOURCE], search=search) for system in systems)
    assert ours.text == turned(plain.text)
    (places,), (others,) = ours.replacements, plain.replacements
    assert [place for place, _, _ in places] == [4, 1]
    assert [ours.text.split()[place] for place, _, _ in places] == [word for _, _, word in places]
    assert [tuple(one[1:]) for one in places] == [tuple(one[1:]) for one in others]


def by_piece(frame: pd.DataFrame, *keys: str) -> dict[tuple, tuple]:
    """Return the numbers of rows by their tokens, each of which occurs once in its sentence."""
    positions = [name for name in frame if name.endswith("position")]
    numbers = frame.drop(columns=positions).set_index(list(keys))
    found = dict(zip(numbers.index, numbers.itertuples(index=False, name=None), strict=True))
    assert len(found) == len(frame)
    return found


def in_order(frame: pd.DataFrame, position: str, piece: str) -> list[str]:
    return frame.sort_values(position, kind="stable").drop_duplicates(position)[piece].tolist()


PAIR = ("layer", "head", "source_piece", "target_piece")


@pytest.mark.parametrize(
    ("ask", "keys", "order"),
    [
        (attention, PAIR, ("target_position", "target_piece")),
        (contributions, PAIR, ("target_position", "target_piece")),
        (token_probabilities, ("piece",), ("position", "piece")),
    ],
)
def test_what_is_shown_of_each_token_is_in_reading_order(systems, ask: Callable, keys, order):
    ours, plain = (
        ask(system, SOURCE, target) for system, target in zip(systems, (TARGET, turned(TARGET)), strict=True)
    )
    assert in_order(ours, *order) == [*TARGET.split(), "</s>"]
    assert by_piece(ours, *keys) == by_piece(plain, *keys)


def test_all_heads_are_in_reading_order(systems):
    ours, plain = (
        all_heads(one, SOURCE, target) for one, target in zip(systems, (TARGET, turned(TARGET)), strict=True)
    )
    keys = ("kind", "layer", "head", "piece", "attended_piece")
    assert by_piece(ours, *keys) == by_piece(plain, *keys)
    past = ours[ours["kind"] == "decoder self-attention"]
    assert in_order(past, "position", "piece") == [*TARGET.split(), "</s>"]
    assert in_order(past, "attended_position", "attended_piece") == ["<s>", *TARGET.split()]


def test_a_run_that_plans_lengths_reads_all_but_the_word_that_it_writes_last(both, tiny_recipe, tmp_path):
    short = {"model.plan_length": True, "text.reversed_target": True, "training.max_evaluations": 1}
    run = train("planned", tiny_recipe.with_changes(short), both.corpus, Workspace(tmp_path))
    past = all_heads(run, SOURCE, TARGET)[lambda found: found["kind"] == "decoder self-attention"]
    assert in_order(past, "position", "piece") == TARGET.split()
    assert in_order(past, "attended_position", "attended_piece") == ["<s>", *TARGET.split()[1:]]


def test_a_chosen_position_is_that_of_the_token_as_it_is_read(systems):
    ours, plain = systems
    position, there = 1, LAST - 1
    terms, others = decompose(ours, SOURCE, TARGET, position), decompose(plain, SOURCE, turned(TARGET), there)
    pd.testing.assert_frame_equal(terms, others)
    moved, other = redecode(ours, SOURCE, TARGET, position, 2), redecode(plain, SOURCE, turned(TARGET), there, 2)
    assert (moved.text, moved.before, moved.after) == (turned(other.text), other.before, other.after)
    against, same = (
        contributions(system, SOURCE, target, instead=Instead(place, "cat"))
        for system, target, place in ((ours, TARGET, position), (plain, turned(TARGET), there))
    )
    assert against["target_piece"].unique()[position] == "dog, not cat"
    assert by_piece(against, *PAIR) == by_piece(same, *PAIR)


def test_states_of_tokens_are_in_reading_order(systems):
    ours, plain = (
        token_states(system, [(SOURCE, target)])
        for system, target in zip(systems, (TARGET, turned(TARGET)), strict=True)
    )
    assert ours.tokens["piece"].tolist() == [*TARGET.split(), "</s>"]
    np.testing.assert_array_equal(ours.vectors, plain.vectors[[*range(LAST, -1, -1), LAST + 1]])


def test_rare_choices_have_the_position_of_the_word_in_the_reference(both, systems):
    ours = rare_choices(systems[0], both.corpus, "test", below=10_000)
    plain = rare_choices(systems[1], both.turned_corpus, "test", below=10_000)
    lengths = np.array([len(line.split()) for line in both.corpus.lines("test", "en")])[plain["line"] - 1]
    plain["position"] = lengths - 1 - plain["position"]
    pd.testing.assert_frame_equal(ours, plain.sort_values(["line", "position"], ignore_index=True))


def test_attention_between_words_and_links_are_in_reading_order(systems):
    links = {(1, 1), (4, LAST)}
    pairs = [
        pair_of_words(
            system.pipeline, SOURCE, target, [(s, LAST - t) if target != TARGET else (s, t) for s, t in links]
        )
        for system, target in zip(systems, (TARGET, turned(TARGET)), strict=True)
    ]
    (ours,), (plain,) = (forced_attention(system, [pair]) for system, pair in zip(systems, pairs, strict=True))
    np.testing.assert_array_equal(ours, plain[::-1])
    assert piece_links(pairs[0]) == links
    np.testing.assert_array_equal(pairs[0].unknown, pairs[1].unknown[::-1])


def test_a_search_tree_has_texts_in_reading_order(systems):
    ours, plain = (
        search_tree(one, SOURCE, SEARCH, ref) for one, ref in zip(systems, (TARGET, turned(TARGET)), strict=True)
    )
    assert ours["text"].tolist() == [*map(turned, plain["text"])]
    assert ours.drop(columns="text").equals(plain.drop(columns="text"))
    path = reference_path(systems[0], SOURCE, TARGET, ours, SEARCH)
    assert path["text"].iloc[[1, -1]].tolist() == ["to river", TARGET]
    begun = continue_from(systems[0], SOURCE, ["dog", "one"], SEARCH)["text"].iloc[0]
    assert begun.endswith("one dog")


@pytest.fixture
def workspace_with(both, tmp_path) -> Workspace:
    """A workspace with the run and its corpus."""
    workspace = Workspace(tmp_path / "data")
    shutil.copytree(both.run.folder, workspace.run_folder("whole"))
    shutil.copytree(both.corpus.folder, workspace.data / "corpora" / both.corpus.name)
    return workspace


def test_the_page_of_searches_shows_the_best_translation_as_it_is_read(workspace_with):
    page = SearchPage(workspace_with)
    (line,) = [line for line in page._lines(page.sentences.runs[0]) if line.name == "beam search"]
    assert "Trees grow from the end of the sentence: whole." in page.hint.value
    written = page.tree.best_tokens
    assert list(line.tokens) == [*written[-2::-1], "</s>"]
    best = page.tree.tree[page.tree.tree["best"]].iloc[0]
    selected = []
    page.tree._on_token = selected.append
    page.tree._clicked({"customdata": [best["step"], best["slot"]]})
    assert selected[0].places("target", line.tokens) == [len(written) - 2]


def test_the_page_translate_says_that_it_cannot_be_given_a_beginning(workspace_with, zoo):
    shutil.copytree(zoo("learned").folder, workspace_with.run_folder("forward"))
    page = TranslatePage(workspace_with)
    page.runs.table.choose(["whole", "forward"])
    page.typed.value = SOURCE
    assert page.found.frame["run"].unique().tolist() == ["whole, reversed target", "forward"]
    page.begun.value = "one"
    assert page.found.frame["run"].unique().tolist() == ["forward"]
    said = "“whole, reversed target” writes from right to left and cannot be given a beginning."
    assert said in page.hint.value
    assert "shown" not in page.hint.value
    page.runs.table.choose(["whole"])
    assert page.answer.value == "whole writes from right to left and cannot be given a beginning."


# Reranking


@pytest.fixture
def forward(zoo, tmp_path) -> Run:
    """An ordinary run that has learned the same."""
    return Run(shutil.copytree(zoo("learned").folder, tmp_path / "forward"))


def test_a_list_is_scored_by_the_probability_of_its_reversed_tokens(both, forward, systems):
    found = n_best_lists(forward, both.corpus, "dev", 3, SEARCH, second=both.run).found
    sources = [list(both.corpus.lines("dev", "de"))[line - 1] for line in found["line"]]
    system = systems[0]
    vocabulary = system.pipeline.target.vocabulary
    targets = [[*vocabulary.ids(text.split()[::-1]), EOS] for text in found["text"]]
    forced = dict(forced_decode_all(system.model, system.pipeline.encode_source(sources), targets))
    wanted = [forced[place].log_prob for place in range(len(targets))]
    assert found["second"].to_numpy() == pytest.approx(wanted, abs=1e-4)
    assert found["second"].to_numpy() != pytest.approx(found["log-prob"].to_numpy(), abs=1e-2)


# The command


@pytest.fixture
def called(workspace_with, monkeypatch, capsys, tmp_path) -> Callable[..., tuple[int, str, str]]:
    """Call the command with words."""
    monkeypatch.setenv("NMTLAB_DATA", str(workspace_with.data))
    (tmp_path / "text").write_text(f"{SOURCE}\n", encoding="utf-8")

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["nmtlab", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return call


def test_json_has_tokens_and_links_in_reading_order(called, systems, tmp_path):
    asked = ("--input", tmp_path / "text", "--json", "--token-scores", "--top", 2, "--alignments", "attention")
    code, out, _ = called("translate", "whole", *asked)
    assert code == 0
    (found,) = json.loads(out)["translations"]
    (plain,) = systems[1].translate([SOURCE])
    ((scores,),) = systems[1].token_scores([SOURCE], [plain], 2)
    order = [*range(len(scores.tokens) - 2, -1, -1), len(scores.tokens) - 1]
    types, tokens = systems[1].pipeline.target.vocabulary.types, found["tokens"]
    assert tokens["pieces"] == [types[scores.tokens[place]] for place in order]
    assert tokens["log_probs"] == scores.log_probs[order].tolist()
    assert tokens["entropies"] == scores.entropies[order].tolist()
    alternatives = [{types[number]: value for number, value in scores.alternatives[place].items()} for place in order]
    assert tokens["alternatives"] == alternatives
    assert found["links"]["words"] == found["text"].split() == plain.text.split()[::-1]
    weights = attention(systems[0], SOURCE, found["text"])
    peaks = weights.groupby(["target_position", "source_position"])["weight"].mean().unstack().to_numpy()
    linked = {int(t): int(s) for s, t in (link.split("-") for link in found["links"]["alignment"].split())}
    assert linked == dict(enumerate(peaks[:-1, :-1].argmax(1).tolist()))


def test_phrases_that_must_occur_do_in_reading_order(called, tmp_path):
    (tmp_path / "wanted").write_text("dog one\n", encoding="utf-8")
    code, out, _ = called("translate", "whole", "--input", tmp_path / "text", "--must", tmp_path / "wanted")
    assert code == 0
    assert "dog one" in out


def test_a_prefix_is_refused(called, tmp_path):
    (tmp_path / "begun").write_text("one dog\n", encoding="utf-8")
    code, out, err = called("translate", "whole", "--input", tmp_path / "text", "--prefix", tmp_path / "begun")
    assert (code, out) == (2, "")
    assert "a prefix: the system writes a translation from its end" in err
    assert "words that must occur" in err


@pytest.mark.parametrize("program", ["huggingface", "ctranslate2"])
def test_an_export_is_refused_and_nothing_is_written(both, tmp_path, program):
    with pytest.raises(
        NmtlabError, match="reversed_target = true: other programs would leave its translations reversed"
    ):
        export_model(both.run, program, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_ctranslate2_translates_in_reading_order_as_an_engine_of_nmtlab(both, systems):
    pytest.importorskip("ctranslate2")
    from nmtlab.interchange.served import open_served

    greedy = both.run.recipe.search.model_copy(update={"beam_size": 1, "replace_unknown": False})
    lines = list(both.corpus.lines("test", "de"))[:5]
    found = open_served(both.run, search=greedy).translate(lines)
    assert [one.text for one in found] == [one.text for one in open_model(both.run, greedy).translate(lines)]


def test_an_ensemble_with_a_run_that_writes_from_left_to_right_is_refused(both):
    with pytest.raises(RunError, match="different vocabularies or text settings"):
        open_ensemble([both.run, both.plain])


def test_a_saved_pipeline_knows_its_order_and_an_ordinary_one_has_no_such_field(both):
    for run, known in ((both.run, True), (both.plain, False)):
        assert ("reversed_target" in (run.folder / "vocabulary/pipeline.json").read_text(encoding="utf-8")) == known
        assert run.pipeline.target.reversed == known
    assert not both.run.pipeline.source.reversed
