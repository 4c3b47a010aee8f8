"""Phrase-based systems: training, moving, interrupting, translating."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import WORDS

from nmtlab.baselines.phrase import train_phrase
from nmtlab.baselines.translator import open_phrase_system
from nmtlab.errors import CorpusError, NmtlabError, RecipeError, RunError
from nmtlab.evaluation import bleu
from nmtlab.recipe import named_recipe
from nmtlab.runs.listing import list_runs
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.workspace import Workspace

pytestmark = pytest.mark.full  # what its tests share takes seconds to make

QUICK = {"model.tuning_evaluations": 4, "model.tuning_sentences": 10}
RECIPE = named_recipe("moses").with_changes(QUICK)


@pytest.fixture(scope="module")
def run(tiny_corpus, tmp_path_factory) -> Run:
    return train_phrase("phrases", RECIPE, tiny_corpus, Workspace(tmp_path_factory.mktemp("phrase")))


@pytest.fixture(scope="module")
def system(run):
    return open_phrase_system(run)


def test_a_language_translated_word_for_word_is_learned(system, tiny_corpus):
    sources, targets = zip(*tiny_corpus.pairs("test"), strict=True)
    texts = [translation.text for translation in system.translate(sources)]
    right = sum(text == target for text, target in zip(texts, targets, strict=True))
    assert right >= 0.9 * len(targets)


def test_a_run_is_whole_and_says_so(run):
    assert run.status == "finished"
    assert (run.recipe.corpus.name, run.recipe.corpus.source, run.recipe.corpus.target) == ("tiny", "de", "en")
    assert set(run.pipeline.source.vocabulary.types[4:]) == set(WORDS)
    assert run.log.metrics("end")["seconds"].item() > 0
    assert run.environment["corpus_checksum"]


def test_dev_bleu_is_what_the_run_scores_on_dev(run, system, tiny_corpus):
    texts = [translation.text for translation in system.translate(list(tiny_corpus.lines("dev", "de")))]
    assert run.log.metrics("validation")["bleu"].item() == pytest.approx(
        bleu(texts, tiny_corpus.references("dev")).value
    )


def test_a_run_can_be_moved_and_names_no_path(run, system, tmp_path):
    moved = Path(run.folder.rename(tmp_path / "elsewhere"))
    try:
        line = "ein hund sieht katze"
        assert open_phrase_system(Run(moved)).translate([line])[0].texts == system.translate([line])[0].texts
        old = str(run.folder.parent).encode()
        assert [file for file in moved.rglob("*") if file.is_file() and old in file.read_bytes()] == []
    finally:
        moved.rename(run.folder)


def test_the_same_training_gives_the_same_weights_and_translations(run, system, tiny_corpus, workspace):
    again = train_phrase("again", RECIPE, tiny_corpus, workspace)
    for name in ("phrase/phrase.json", "phrase/lm", "phrase/lm.weights"):
        assert (again.folder / name).read_bytes() == (run.folder / name).read_bytes()
    tables = ((r.folder / "phrase/tm.ttable").read_text(encoding="utf-8").splitlines() for r in (again, run))
    assert sorted(next(tables)) == sorted(next(tables))
    lines = list(tiny_corpus.lines("test", "de"))
    assert [t.texts for t in open_phrase_system(again).translate(lines)] == [t.texts for t in system.translate(lines)]


def test_a_blank_line_stays_blank_and_progress_counts_every_line(system):
    told = []
    blank, filled, also = system.translate(["", "hund", " \t "], on_progress=told.append)
    assert (blank.texts, blank.hypotheses) == (also.texts, also.hypotheses) == ([""], [])
    assert filled.text == "dog"
    assert sum(told) == 3
    assert system.translate([]) == []


@pytest.mark.parametrize("unknown", ["Zürich", "NULL", "x0", "s5"])
def test_an_unknown_word_is_copied_as_written(system, unknown):
    line = f"hund {unknown} katze"
    (translation,) = system.translate([line])
    assert sorted(translation.text.split()) == sorted(["dog", unknown, "cat"])
    (hypothesis,), (copied,) = translation.hypotheses, translation.replacements
    assert [(copy.source_position, copy.word) for copy in copied] == [(line.split().index(unknown), unknown)]
    assert [copy.target_position for copy in copied] == [hypothesis.tokens.index(UNK)]
    assert system.pipeline.target.text(hypothesis.tokens, [unknown]) == translation.text


def test_an_unknown_word_that_the_target_language_has_keeps_its_id(system):
    (translation,) = system.translate(["hund river"])
    assert translation.text == "dog river"
    assert UNK not in translation.hypotheses[0].tokens


def test_the_n_best_differ_and_come_best_first(system):
    (translation,) = system.translate(["ein hund sieht katze"], n_best=5)
    assert 1 < len(translation.texts) <= 5
    assert len(set(translation.texts)) == len(translation.texts) == len(translation.hypotheses)
    scores = [hypothesis.score for hypothesis in translation.hypotheses]
    assert scores == sorted(scores, reverse=True)
    assert translation.text == system.translate(["ein hund sieht katze"])[0].text


def test_attention_is_a_distribution_over_the_source_and_covers_it(system):
    line = "alt berg und fluss singt"
    hypothesis = system.translate([line])[0].hypotheses[0]
    weights = hypothesis.attention
    assert weights.shape == (1, 1, len(hypothesis.tokens) + 1, len(line.split()) + 1)
    assert np.allclose(weights.sum(-1), 1)
    assert (weights.sum(-2) > 0).all()
    assert weights[0, 0, -1].tolist() == [0.0] * 5 + [1.0]


@pytest.mark.parametrize("n_best", [1, 3])
def test_a_sentence_of_any_length_is_translated_whole(system, n_best):
    words = (list(WORDS) * 40)[:450]
    translation = system.translate([" ".join(words)], n_best)[0]
    assert sorted(translation.text.split()) == sorted(WORDS[word] for word in words)
    weights = translation.hypotheses[0].attention
    assert weights.shape == (1, 1, 451, 451)
    assert np.allclose(weights.sum(-1), 1)
    assert (weights.sum(-2) > 0).all()


def test_subwords_can_be_translated_too(tiny_corpus, workspace):
    recipe = RECIPE.with_changes(
        {"text.segmentation": "bpe", "text.vocabulary_size": 60, "model.tuning_evaluations": 0}
    )
    translator = open_phrase_system(train_phrase("pieces", recipe, tiny_corpus, workspace))
    assert translator.translate(["hund singt"])[0].text == "dog sings"


def test_words_of_the_files_formats_are_words_like_others(tmp_path, workspace):
    odd = ["#", "|", "<s>", "</s>", "<unk>", "NULL", "t7", "s5", "({", "\u00a7"]
    folder = tmp_path / "odd"
    folder.mkdir()
    for split, count in (("train", 60), ("dev", 5)):
        lines = [f"# {odd[i % 10]} hund{split if i % 7 == 0 else ''} {odd[(i * 3 + 1) % 10]}" for i in range(count)]
        for language in ("de", "en"):
            (folder / f"{split}.{language}").write_text("\n".join(f"{line} {split[0]}" for line in lines) + "\n")
    run = train_phrase("odd", RECIPE, ParallelCorpus.open(folder, "de", "en"), workspace)
    line = "# | hund NULL"
    assert open_phrase_system(run).translate([line])[0].text.replace(" ", "") == line.replace(" ", "")


def test_without_tuning_the_weights_stay_as_they_begin(tiny_corpus, workspace):
    recipe = RECIPE.with_changes({"model.tuning_evaluations": 0, "model.language_model_order": 2})
    weights = train_phrase("plain", recipe, tiny_corpus, workspace).folder / "phrase/phrase.json"
    assert json.loads(weights.read_text())["weights"]["word_penalty"] == -3.0


def test_what_is_stopped_leaves_nothing(tiny_corpus, workspace):
    asked, told = [], []

    def should_stop() -> bool:
        asked.append(None)
        return "tuning the weights" in told

    with pytest.raises(RunError, match="run 'cut': stopped before the end, and not kept; train it again"):
        train_phrase("cut", RECIPE, tiny_corpus, workspace, told.append, should_stop)
    assert list(workspace.runs.iterdir()) == []


def test_what_is_killed_is_no_run(tiny_corpus, workspace):
    program = (
        "import sys; from pathlib import Path; from nmtlab.baselines.phrase import train_phrase\n"
        "from nmtlab.recipe import named_recipe; from nmtlab.text.corpora.corpus import ParallelCorpus\n"
        "from nmtlab.workspace import Workspace\n"
        "train_phrase('killed', named_recipe('moses'), ParallelCorpus.open(Path(sys.argv[1])), "
        "Workspace(Path(sys.argv[2])), lambda what: print(what, flush=True))"
    )
    arguments = [sys.executable, "-c", program, str(tiny_corpus.folder), str(workspace.data)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        for line in process.stdout:
            if line == "tuning the weights\n":
                break
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert list_runs(workspace) == ([], {})
    train_phrase("killed", RECIPE, tiny_corpus, workspace)
    assert [run.name for run in list_runs(workspace)[0]] == ["killed"]


def test_a_run_that_is_there_stays(run, tiny_corpus):
    before = time.time_ns(), sorted(run.folder.rglob("*"))
    with pytest.raises(RunError, match="run 'phrases': already exists; choose another --name"):
        train_phrase("phrases", RECIPE, tiny_corpus, Workspace(run.folder.parents[1]))
    assert sorted(run.folder.rglob("*")) == before[1]


def test_a_recipe_of_another_family_is_refused(tiny_corpus, workspace):
    with pytest.raises(RecipeError, match=r"model.family = 'rnn': not phrase-based; choose the recipe moses"):
        train_phrase("no", named_recipe("tied"), tiny_corpus, workspace)
    assert not workspace.runs.exists()


def test_a_corpus_without_dev_or_with_dev_in_train_is_refused(make_corpus, workspace):
    corpus = ParallelCorpus.open(make_corpus())
    for language in ("de", "en"):
        (corpus.folder / f"dev.{language}").write_bytes((corpus.folder / f"train.{language}").read_bytes())
    with pytest.raises(CorpusError, match=r"300 pairs of dev are in train too, first at dev line 1"):
        train_phrase("no", RECIPE, corpus, workspace)
    (corpus.folder / "dev.de").unlink()
    with pytest.raises(CorpusError, match=r"no dev.de and dev.en; add them"):
        train_phrase("no", RECIPE, corpus, workspace)
    assert not workspace.runs.exists()


@pytest.mark.parametrize("missing", ["phrase.json", "tm.ttable", "lm", "lm.weights", "tm.lambda"])
def test_a_run_without_a_part_says_what_to_do(run, missing):
    path = run.folder / "phrase" / missing
    hidden = path.rename(run.folder / "hidden")
    try:
        with pytest.raises(NmtlabError) as caught:
            open_phrase_system(run)
        assert str(caught.value) == (
            "run 'phrases': its phrase/ is missing or damaged; restore it from a backup, or train the run again"
        )
    finally:
        hidden.rename(path)


def test_a_truncated_phrase_table_is_noticed(run):
    path = run.folder / "phrase/tm.ttable"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    try:
        with pytest.raises(RunError, match="its phrase/ is missing or damaged; restore it from a backup"):
            open_phrase_system(run)
    finally:
        path.write_bytes(whole)
