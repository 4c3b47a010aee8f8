"""A training in several directions, and what is opened in each of them."""

import json
import shutil
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from conftest import write_split

from nmtlab.analysis.access.needs import in_direction, overlap_warning
from nmtlab.analysis.access.scoring import run_perplexity
from nmtlab.analysis.access.texts import by_title, corpus_of, sentences, texts
from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.analysis.search.beams import DECODED
from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.progress import ProgressBar
from nmtlab.runs.pack import dev_sentences, pack
from nmtlab.runs.run import Run
from nmtlab.systems import open_ensemble, open_model
from nmtlab.text.checks.inspection import DevText
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import read_lines, write_lines
from nmtlab.training.corpora import both_ways, open_corpora
from nmtlab.training.events import Validated
from nmtlab.training.setup import train
from nmtlab.training.stopping import NOISE
from nmtlab.training.validation import decoded_scores
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

SETTINGS = {
    "text.segmentation": "bpe", "text.vocabulary_size": 120, "text.joint": True, "training.validate_every": 60,
    "training.max_evaluations": 3, "training.lr_scale": 2.0, "training.warmup_updates": 40,
    "training.batch_tokens": 400, "model.dropout": 0.0, "model.d_model": 32, "model.d_ff": 64,
}  # fmt: skip
ONE_WAY = {"name": "upper", "source": "nl", "target": "en"}
DIRECTIONS = [("de", "en"), ("en", "de"), ("nl", "en")]


@pytest.fixture(scope="module")
def here(tmp_path_factory, make_corpus) -> Workspace:
    """A workspace with the corpus `tiny`, de-en, and `upper`, nl-en, with dev text and another kind of source."""
    data = tmp_path_factory.mktemp("many") / "data"
    (data / "corpora").mkdir(parents=True)
    shutil.copytree(make_corpus(), data / "corpora" / "tiny")
    folder = data / "corpora" / "upper"
    write_split(folder, "train", 100, seed=41)
    write_lines(folder / "train.nl", [line.upper() for line in read_lines(folder / "train.de")])
    write_lines(folder / "dev.nl", ["HUND", "KATZE HUND KIND"])
    write_lines(folder / "dev.en", ["dog it is", "cat dog child it is"])
    (folder / "train.de").unlink()
    return Workspace(data)


@pytest.fixture(scope="module")
def tiny(here) -> ParallelCorpus:
    return ParallelCorpus.open(here.data / "corpora" / "tiny")


@pytest.fixture(scope="module")
def back(tiny) -> ParallelCorpus:
    return ParallelCorpus.open(tiny.folder, "en", "de")


@pytest.fixture(scope="module")
def recipe(tiny_recipe, tiny):
    reverse = {"name": "tiny", "source": "en", "target": "de"}
    return tiny_recipe.with_changes({**SETTINGS, "more_corpora": [reverse, ONE_WAY]})


@pytest.fixture(scope="module")
def trained_events(here, tiny, recipe):
    events = []
    return train("many", recipe, tiny, here, on_event=events.append, allow_overlap=True), events


@pytest.fixture(scope="module")
def many(trained_events) -> Run:
    """A run trained in three directions."""
    return trained_events[0]


def test_every_direction_is_evaluated_and_the_mean_decides(trained_events, tiny, back):
    run, events = trained_events
    log = run.log.metrics("validation")
    named = ["de-en", "en-de", "nl-en"]
    for line in log.itertuples():
        assert list(line.directions) == named
        assert line.bleu == pytest.approx(sum(line.directions.values()) / 3)
    assert [dict(event.directions) for event in events if isinstance(event, Validated)] == list(log["directions"])
    assert (log["bleu"] < NOISE).all()  # so that perplexity decides
    best = log.loc[log["perplexity"].idxmin(), "directions"]
    assert run.checkpoints.weights()[1]["step"] == log.loc[log["perplexity"].idxmin(), "step"]
    for corpus, name in ((tiny, "de-en"), (back, "en-de")):
        system = open_model(run.directed(*corpus.direction))
        dev = DevText(list(corpus.lines("dev", corpus.source)), corpus.references("dev"))
        assert decoded_scores(system.model, system.pipeline, dev, run.recipe)[0] == pytest.approx(best[name])


def test_perplexity_is_over_the_dev_text_of_all_directions(many, tiny, back, here):
    upper = ParallelCorpus.open(here.data / "corpora" / "upper", "nl", "en")
    log = many.log.metrics("validation").set_index("step")
    total = tokens = 0.0
    for corpus in (tiny, back, upper):
        perplexity, _ = run_perplexity(many, corpus, "dev")
        pipeline = many.directed(*corpus.direction).pipeline
        count = sum(len(ids) for ids in pipeline.encode_target(list(corpus.lines("dev", corpus.target))))
        total += torch.tensor(perplexity).log().item() * count
        tokens += count
    expected = torch.tensor(total / tokens).exp().item()
    assert log.loc[many.checkpoints.best_step, "perplexity"] == pytest.approx(expected, rel=1e-4)


def test_a_direction_without_dev_text_is_trained_and_not_evaluated(here, tiny, recipe):
    folder = here.data / "corpora" / "silent"
    shutil.copytree(here.data / "corpora" / "upper", folder)
    for language in ("nl", "en"):
        (folder / f"dev.{language}").unlink()
    silent = recipe.with_changes(
        {"more_corpora": [{**ONE_WAY, "name": "silent"}], "training.max_evaluations": 1, "training.validate_every": 5}
    )
    run = train("silent", silent, tiny, here, allow_overlap=True)
    assert run.directions == [("de", "en"), ("nl", "en")]
    assert "directions" not in run.log.metrics("validation")


def test_an_interrupted_training_in_several_directions_resumes_exactly(here, tiny, recipe, many):
    steps = iter(range(1000))
    train("stopped", recipe, tiny, here, should_stop=lambda: next(steps) == 57, allow_overlap=True)
    stopped = train("stopped", recipe, tiny, here, resume=True)
    columns = ["step", "bleu", "perplexity", "directions"]
    assert stopped.log.metrics("validation")[columns].equals(many.log.metrics("validation")[columns])
    assert stopped.log.gradient_norms().equals(many.log.gradient_norms())


def test_a_run_is_opened_in_the_direction_of_its_first_corpus_or_in_another(many):
    assert many.directions == DIRECTIONS
    assert (many.direction, many.other_direction) == (("de", "en"), "")
    into_german = many.directed("en", "de")
    assert (into_german.direction, into_german.other_direction) == (("en", "de"), "en-de")
    assert into_german.pipeline.languages == open_model(into_german).languages == ("en", "de")
    assert many.pipeline.languages == ("de", "en")
    assert into_german.directed("de", "en").other_direction == ""
    assert many.directed("", "de").direction == ("en", "de")
    assert many.directed("nl", "").direction == ("nl", "en")
    assert many.directed("nl", "de").direction == ("nl", "de")  # never trained
    with pytest.raises(RunError, match="run 'many': does not translate de to nl; choose from de-en, en-de, nl-en"):
        many.directed("de", "nl")


def test_a_translator_in_another_direction_has_the_same_model(many, back):
    system = open_model(many)
    other = system.directed("en", "de")
    lines = list(back.lines("dev", "en"))[:5]
    expected = [found.text for found in open_model(many.directed("en", "de")).translate(lines)]
    assert [found.text for found in other.translate(lines)] == expected
    assert [found.text for found in system.translate(lines)] != expected
    for ours, theirs in zip(other.model.parameters(), system.model.parameters(), strict=True):
        assert ours is theirs
    both = open_ensemble([many.directed("en", "de"), many])
    assert both.languages == ("en", "de")
    assert [found.text for found in both.translate(lines)] == expected
    with pytest.raises(RunError, match="language 'nl'"):
        system.directed("en", "nl")


def test_translations_of_one_text_into_two_languages_are_kept_apart(many, tiny, back, here):
    """The same German source lines, into English and, untrained, into German."""
    folder = here.data / "corpora" / "same"
    for language in ("nl", "de", "en"):
        write_lines(folder / f"dev.{language}", list(tiny.lines("dev", "de")))
    into = {code: ParallelCorpus.open(folder, "nl", code) for code in ("en", "de")}
    made = {code: translations(many, corpus, "dev") for code, corpus in into.items()}
    assert made["en"] != made["de"]
    assert {code: stored_translations(many, corpus, "dev") for code, corpus in into.items()} == made
    assert {code: translations(many.directed("en", "de"), corpus, "dev") for code, corpus in into.items()} == made
    facts = [facts.get("direction") for facts, _ in many.notes.translations()]
    assert {"nl-en", "nl-de"} <= set(facts)
    translations(many, tiny, "dev")
    assert None in [facts.get("direction") for facts, _ in many.notes.translations()]
    unknown = ParallelCorpus.open(folder, "en", "nl")
    assert stored_translations(many, unknown, "dev") is None
    with pytest.raises(CorpusError, match=r"is en to nl, run 'many' translates de to en, en to de, nl to en; choose"):
        translations(many, unknown, "dev")


def test_answers_in_two_directions_are_kept_apart_and_default_ones_are_stored_as_before(many, tiny, back):
    found = {corpus.target: DECODED.of(many, corpus=corpus, split="dev", sample=4) for corpus in (tiny, back)}
    assert found["en"]["text"].tolist() != found["de"]["text"].tolist()
    again = DECODED.of(many.directed("en", "de"), corpus=back, split="dev", sample=4)
    assert again.equals(found["de"])
    assert len(DECODED.answers(many)) == 1
    (stored,) = DECODED.answers(many.directed("en", "de"))
    assert stored.question.direction == "en-de"
    assert stored.frame().equals(found["de"])
    written = [measured.path.read_bytes() for measured in DECODED.answers(many)]
    assert all(b'"direction"' not in content for content in written)


def test_a_score_on_text_that_overlaps_carries_a_warning_in_every_direction_of_its_corpus(many, tiny, back, here):
    upper = ParallelCorpus.open(here.data / "corpora" / "upper", "nl", "en")
    for shared, warned in (({"dev": 1}, [tiny, back]), ({"dev of upper (target side, in another corpus)": 2}, [upper])):
        run = Run(many.folder)
        run.environment["overlap"] = shared
        assert [corpus for corpus in (tiny, back, upper) if overlap_warning(run, corpus, "dev")] == warned
        assert not any(overlap_warning(run, corpus, "test") for corpus in (tiny, back, upper))


def test_the_texts_of_a_run_are_those_of_all_its_directions(many, here, tiny):
    offered = by_title(texts(many, here))
    assert list(offered) == [
        "tiny test, de to en", "tiny dev, de to en", "tiny test, en to de", "tiny dev, en to de", "upper dev, nl to en",
    ]  # fmt: skip
    translations(many, offered["tiny dev, en to de"].corpus, "dev")
    table = sentences([many], offered["tiny dev, en to de"])
    assert table["source"].tolist() == list(tiny.lines("dev", "en"))
    assert "many" in table


def test_a_run_of_one_direction_is_as_it_was(trained, tiny_corpus):
    run = trained[0]
    assert run.directions == [("de", "en")]
    assert run.directed("de", "en") is run
    assert in_direction(run, tiny_corpus) is run
    assert "directions" not in run.log.metrics("validation")
    with pytest.raises(RunError, match="run 'whole': does not translate en to de; choose from de-en"):
        run.directed("en", "de")


def test_a_run_of_several_directions_is_packed_and_opens_in_each(many, tiny, back, tmp_path):
    packed_text = dev_sentences(tiny, 5, "CC0", tmp_path / "sentences")
    translations(many, packed_text, "dev")
    DECODED.of(many, corpus=back, split="dev", sample=4)
    packed = Run(pack(many, tmp_path / "many", weights=True, sentences=packed_text))
    assert packed.directions == DIRECTIONS
    assert len(DECODED.answers(packed.directed("en", "de"))) == 1
    assert open_model(packed.directed("en", "de")).languages == ("en", "de")
    assert stored_translations(packed, packed.sentences, "dev") is not None
    allowed = packed.pipeline.allowed_by_language
    assert {code: mask.tolist() for code, mask in allowed.items()} == {
        code: mask.tolist() for code, mask in many.pipeline.allowed_by_language.items()
    }


def test_text_of_which_only_subwords_were_learned_is_not_a_runs_corpus(here, tiny_recipe):
    named = {"corpus.name": "tiny", "corpus.source": "de", "corpus.target": "en"}
    only_subwords = tiny_recipe.with_changes({**named, "more_corpora": [{**ONE_WAY, "vocabulary_only": True}]})
    run = SimpleNamespace(name="one", recipe=only_subwords, direction=("de", "en"))
    assert corpus_of(cast(Run, run), here).name == "tiny"
    run.direction = "nl", "en"
    with pytest.raises(CorpusError, match="run 'one' has no training text from nl to en"):
        corpus_of(cast(Run, run), here)


def test_a_corpus_trained_on_both_ways_is_followed_by_its_reverse(here, tiny, recipe, tiny_recipe):
    named = tiny_recipe.with_changes({"more_corpora": [ONE_WAY, {"name": "upper", "vocabulary_only": True, **ONE_WAY}]})
    doubled = both_ways(named, open_corpora(named, tiny, here))
    assert [(one.name, one.source, one.target) for one in doubled.corpora] == [
        ("tiny", "de", "en"), ("tiny", "en", "de"), ("upper", "nl", "en"), ("upper", "en", "nl"), ("upper", "nl", "en"),
    ]  # fmt: skip
    assert both_ways(doubled, open_corpora(doubled, tiny, here)) == doubled


def test_separate_vocabularies_do_not_fit_both_directions(here, tiny, tiny_recipe):
    separate = tiny_recipe.with_changes({"text.joint": False})
    with pytest.raises(RecipeError, match="in both directions each language is on both sides"):
        both_ways(separate, open_corpora(separate, tiny, here))


def test_a_text_made_by_a_system_is_never_reversed(here, tiny, tiny_recipe):
    made = here.data / "corpora" / "made"
    write_lines(made / "train.de", ["ein hund"])
    write_lines(made / "train.en", ["a dog"])
    facts = {"kind": "translated", "synthetic": "en"}
    (made / "import.json").write_text(json.dumps(facts), encoding="utf-8")
    way = {"name": "made", "source": "en", "target": "de"}
    named = tiny_recipe.with_changes({"more_corpora": [way, {"name": "upper", **ONE_WAY}]})
    doubled = both_ways(named, open_corpora(named, tiny, here))
    assert [(one.name, one.source, one.target) for one in doubled.corpora] == [
        ("tiny", "de", "en"), ("tiny", "en", "de"), ("made", "en", "de"), ("upper", "nl", "en"), ("upper", "en", "nl"),
    ]  # fmt: skip


def test_a_terminal_shows_the_mean_and_each_direction(capsys):
    bar = ProgressBar()
    bar(Validated(40, 20.1, 3.0, 20.1, 1.0, 1.0, {"gl-en": 23.44, "en-gl": 16.76}))
    bar(Validated(80, 20.1, 3.0, 20.1, 1.0, 1.0))
    first, second = capsys.readouterr().out.splitlines()
    assert "dev BLEU 20.10  (gl-en 23.4, en-gl 16.8)  perplexity" in first
    assert "dev BLEU 20.10  perplexity" in second


def test_the_log_names_directions_only_if_there_are_several(many, trained):
    line = json.loads((many.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[4])
    assert line["kind"] == "train" or list(line["directions"]) == ["de-en", "en-de", "nl-en"]
    assert '"directions"' not in (trained[0].folder / "metrics.jsonl").read_text(encoding="utf-8")
