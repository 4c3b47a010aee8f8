"""Systems of several sources: trained, resumed, evaluated, translated with, packed, and refused by name elsewhere."""

from itertools import count

import numpy as np
import pytest
from support.weights import same_weights
from typer.testing import CliRunner

from nmtlab.analysis.access.needs import ONE_SOURCE
from nmtlab.analysis.access.scoring import run_perplexity
from nmtlab.analysis.access.translations import stored_translations, translations, translations_by_text
from nmtlab.analysis.attention.focus import focus
from nmtlab.analysis.attention.weights import ATTENTION, attention
from nmtlab.analysis.search.n_best import N_BEST
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS
from nmtlab.cli.main import app
from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.interchange.export import export_model
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.search.forced import ForcedDecoding
from nmtlab.synthetic import back_translate
from nmtlab.systems import open_ensemble, open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.segmentation.vocabulary import EOS, UNK
from nmtlab.training.corpora import both_ways, open_corpora
from nmtlab.training.online import OnlineModel
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

CHANGES = {
    "text.segmentation": "bpe", "text.vocabulary_size": 70, "corpus.also_sources": ["nl"], "search.beam_size": 2,
    "training.word_dropout": 0.1,
}  # fmt: skip
RNN = {"model.family": "rnn", "model.d_model": 16, "model.dropout": 0.1}


@pytest.fixture(scope="module")
def corpus(tiny_corpus, workspace) -> ParallelCorpus:
    """Return German and Dutch to English, in which every third line of train lacks one of the sources by turns."""
    folder = workspace.data / "corpora/both"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        pairs = list(tiny_corpus.pairs(split))
        missing = range(len(pairs)) if split == "train" else ()
        german = ["" if line in missing and line % 6 == 1 else source for line, (source, _) in enumerate(pairs)]
        dutch = ["" if line in missing and line % 6 == 4 else source[::-1] for line, (source, _) in enumerate(pairs)]
        for language, lines in (("de", german), ("nl", dutch), ("en", [target for _, target in pairs])):
            write_lines(folder / f"{split}.{language}", lines)
    return ParallelCorpus.open(folder, "de", "en")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("workspace") / "data")


@pytest.fixture(scope="module")
def recipe(tiny_recipe) -> Recipe:
    return tiny_recipe.with_changes(CHANGES)


@pytest.fixture(scope="module")
def run(recipe, corpus, workspace) -> Run:
    return train("both", recipe, corpus, workspace)


def lines_of(corpus: ParallelCorpus, split: str = "test") -> list[list[str]]:
    return [list(corpus.lines(split, language)) for language in ("de", "nl")]


@pytest.mark.parametrize("name", ["separate", "flat", "mixture"])
def test_a_training_that_was_stopped_goes_on_exactly(name, recipe, corpus, workspace, run):
    changes = {} if name == "separate" else {**RNN, "model.combine": name}
    wanted = recipe.with_changes({**changes, "training.max_evaluations": 2})
    whole = train(f"whole-{name}", wanted, corpus, workspace)
    polls = count()
    train(f"stopped-{name}", wanted, corpus, workspace, should_stop=lambda: next(polls) > 25)
    stopped = train(f"stopped-{name}", wanted, corpus, workspace, resume=True)
    assert whole.status == stopped.status == "finished"
    assert same_weights(whole, stopped)
    assert whole.log.metrics("validation")["bleu"].tolist() == stopped.log.metrics("validation")["bleu"].tolist()


def test_the_run_knows_its_sources_and_reopens(run, corpus):
    assert run.recipe.corpus.also_sources == ("nl",)
    assert run.directions == [("de", "en")]
    assert run.pipeline.source.languages == ("de", "nl")
    system = open_model(run)
    assert system.model.sources == 2
    assert "reads 2 sources together" in system.limitations


def test_it_translates_with_both_sources_and_with_one(run, corpus):
    system = open_model(run)
    german, dutch = lines_of(corpus)
    both = system.translate(german, more=[dutch])
    assert [one.text for one in system.translate(german, more=[[""] * len(german)])] == [
        one.text for one in system.translate(german)
    ]
    assert [one.hypotheses[0].log_prob for one in both] != [
        one.hypotheses[0].log_prob for one in system.translate(german)
    ]
    (blank, only_second) = system.translate(["", ""], more=[["", dutch[0]]])
    assert blank.texts == [""]
    assert only_second.hypotheses
    with pytest.raises(RunError, match=r"3 sources, and the run reads 2"):
        system.translate(german, more=[dutch, dutch])
    with pytest.raises(RunError, match=r"source 2 has 1 lines, the first 2"):
        system.translate(german[:2], more=[dutch[:1]])


def test_scores_of_tokens_add_up_to_what_the_search_found(run, corpus):
    system = open_model(run)
    german, dutch = (lines[:4] for lines in lines_of(corpus))
    found = system.translate(german, more=[dutch])
    for (scores,), translation in zip(system.token_scores(german, found, more=[dutch]), found, strict=True):
        assert scores.log_probs.sum() == pytest.approx(translation.hypotheses[0].log_prob, abs=1e-4)


@pytest.mark.parametrize("side", [0, 1])
def test_an_unknown_word_is_that_of_the_source_with_the_most_attention(run, corpus, side):
    system = open_model(run)
    lines = [side_lines[0] for side_lines in lines_of(corpus)]
    _, ids = system.pipeline.encode_filled(*([line] for line in lines))
    lengths = [len(of_source) for (of_source,) in ids]
    attention = np.full((1, 1, 2, sum(lengths)), 0.01)
    attention[0, 0, 0, side * lengths[0]] = 0.9  # the first token of a source
    forced = ForcedDecoding(np.zeros(2), attention, np.arange(2).repeat(lengths))
    (copied,) = system._copied(lines, [UNK, EOS], forced)
    assert copied.word == lines[side].split()[0]


def test_stored_translations_are_of_all_sources(run, corpus):
    german, dutch = lines_of(corpus)
    expected = [one.text for one in open_model(run).translate(german, more=[dutch])]
    assert translations(run, corpus, "test") == expected
    assert stored_translations(run, corpus, "test") == expected
    assert list(translations_by_text(run, "test").values()) in ([expected], [])
    changed = ParallelCorpus(corpus.folder, "de", "en")
    write_lines(corpus.folder / "test.nl", [*dutch[:-1], "andere"])
    assert stored_translations(run, changed, "test") is None
    write_lines(corpus.folder / "test.nl", dutch[:-1])
    with pytest.raises(CorpusError, match=r"test.nl has \d+ lines"):
        translations(run, changed, "test")
    write_lines(corpus.folder / "test.nl", dutch)
    assert run_perplexity(run, corpus, "test")[0] < 20


def test_attention_is_of_both_sources_with_a_divider_between_them(run, corpus):
    german, dutch = (lines[0] for lines in lines_of(corpus))
    found = attention(run, german, more=[dutch])
    first, second = (found[found["segment"] == number] for number in (0, 1))
    sums = [part.groupby(["layer", "head", "target_position"])["weight"].sum() for part in (first, second)]
    assert all(sum_.to_numpy() == pytest.approx(1) for sum_ in sums)
    assert first["source_piece"].iloc[-1] == second["source_piece"].iloc[-1] == "</s>"
    shown = ATTENTION.view(run, source=german, more=[dutch]).figure
    (divider,) = [trace for trace in shown.data if trace.name == "next source"]
    assert divider.x[0] == second["source_position"].min() - 0.5
    missing = attention(run, german, more=[""])
    assert missing[missing["segment"] == 1]["source_piece"].unique().tolist() == ["<NULL>", "</s>"]


def test_the_focus_of_a_mixture_is_the_weight_of_its_experts(recipe, corpus, workspace):
    wanted = recipe.with_changes({**RNN, "model.combine": "mixture", "training.max_evaluations": 1})
    run = train("experts", wanted, corpus, workspace)
    assert run.log.metrics("train")["terms"].map(list).tolist()[-1][-1] == "experts"
    found = focus(run, corpus, "train", limit=12)
    shares = found.pivot(index=["line", "position"], columns="source", values="mass")
    assert shares.sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-5)
    assert set(shares.loc[2, "de"]) == set(shares.loc[5, "nl"]) == {0.0}
    assert shares.loc[1].min().min() > 0


def test_what_reads_one_source_says_so(run, corpus, tmp_path):
    for analysis in (N_BEST, SEARCH_ERRORS):
        assert ONE_SOURCE in analysis.needs
        assert not analysis.fits(run)
        with pytest.raises(RunError, match="it reads several sources together, and this is about one"):
            analysis.of(run, corpus=corpus)
    with pytest.raises(RunError, match=r"corpus.also_sources = \['nl'\]: no such part in the other program"):
        export_model(run, "huggingface", tmp_path / "exported")
    with pytest.raises(RunError, match="it reads several sources, and the text has one"):
        back_translate(run, MonolingualCorpus(corpus.folder, "de"), tmp_path / "made")
    online = OnlineModel(open_model(run), run.recipe)
    with pytest.raises(RunError, match="reads 2 sources together, and 1 is given"):
        online.learn([("ein", "one")], 0.1, 1)


def test_it_is_packed_with_sentences_of_all_sources_and_is_not_aligned(run, corpus, workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("NMTLAB_DATA", str(workspace.data))
    words = ["runs", "pack", "both", "--weights", "--sentences", "5", "--licence", "CC0", "--to", str(tmp_path)]
    packed = CliRunner().invoke(app, words)
    assert packed.exit_code == 0, packed.output
    unpacked = CliRunner().invoke(app, ["runs", "unpack", str(tmp_path / "both.tar.xz"), "--name", "again"])
    assert unpacked.exit_code == 0, unpacked.output
    again = Run(workspace.run_folder("again"))
    assert {path.name for path in (again.folder / "sentences").iterdir()} >= {"dev.de", "dev.nl", "dev.en"}
    assert stored_translations(again, again.sentences, "dev") is not None
    assert open_model(again).model.sources == 2
    aligned = CliRunner().invoke(app, ["runs", "align", "both"])
    assert "it reads several sources together, and this is about one" in str(aligned.exception)


def test_ensembles_read_all_sources(run, corpus):
    german, dutch = (lines[:5] for lines in lines_of(corpus))
    alone, twice = open_model(run), open_ensemble([run, run])
    assert [one.text for one in twice.translate(german, more=[dutch])] == [
        one.text for one in alone.translate(german, more=[dutch])
    ]


def test_no_reverse_and_no_language_twice(recipe, corpus, workspace):
    opened = open_corpora(recipe, corpus, workspace)
    assert opened[0].sources == ("de", "nl")
    with pytest.raises(RecipeError, match="several sources have no reverse"):
        both_ways(recipe, opened)
    with pytest.raises(RecipeError, match="corpus 'both' has no language 'pt'; choose from de, en, nl"):
        open_corpora(recipe.with_changes({"corpus.also_sources": ["pt"]}), corpus, workspace)
    with pytest.raises(RecipeError, match="'nl' is a language of nl-en already"):
        open_corpora(recipe, ParallelCorpus(corpus.folder, "nl", "en"), workspace)


def test_the_command_checks_the_lines_of_every_source(run, corpus, workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("NMTLAB_DATA", str(workspace.data))
    german, dutch = lines_of(corpus)
    for name, lines in (("de", german), ("nl", dutch), ("short", dutch[:2])):
        write_lines(tmp_path / name, lines)

    def translated(*words: str):
        return CliRunner().invoke(app, ["translate", "both", "--input", str(tmp_path / "de"), *words])

    found = translated("--also-source", str(tmp_path / "nl"))
    assert found.exit_code == 0, found.output
    assert found.stdout.splitlines() == translations(run, corpus, "test")
    alone = translated()
    assert "without --also-source: <NULL> for every sentence of nl" in alone.stderr
    short = translated("--also-source", str(tmp_path / "short"))
    assert f"short: 2 lines, but the text has {len(german)}" in str(short.exception)
    more = translated(*["--also-source", str(tmp_path / "nl")] * 2)
    assert "run 'both' reads de and nl; leave it out, or choose a run of more sources" in str(more.exception)


def test_corpora_of_different_sources_are_refused_before_a_run_is_made(recipe, corpus, workspace):
    more = recipe.with_changes({"more_corpora": [{"name": "both", "source": "nl", "target": "en"}]})
    with pytest.raises(RecipeError, match="every corpus needs the same sources"):
        train("mixed", more, corpus, workspace)
    assert not workspace.run_folder("mixed").exists()


def test_a_source_that_is_not_given_is_missing(run, corpus):
    source = lines_of(corpus)[0][0]
    alone, blank = attention(run, source), attention(run, source, more=[""])
    assert alone.equals(blank)
