"""Runs whose rare source words have suggested translations beside them."""

import shutil

import pytest
from support.weights import same_weights

from nmtlab.errors import CorpusError, NmtlabError, RecipeError, RunError
from nmtlab.interchange.export import export_model
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.lexicon import align_run
from nmtlab.training.setup import train

TINY = {
    "text.joint": True, "text.min_frequency": 1, "model.d_model": 16, "training.max_evaluations": 2,
    "training.validate_every": 5, "search.beam_size": 2, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip
RECIPE = named_recipe("tied-small").with_changes(TINY)
RARE = {"der fels": "the rock", "der wald": "the forest"}


@pytest.fixture
def corpus(tmp_path, make_corpus) -> ParallelCorpus:
    """The tiny corpus with words that train has once, and dev has too."""
    folder = shutil.copytree(make_corpus(), tmp_path / "data/corpora/tiny")
    for split in ("train", "dev"):
        for language, lines in (("de", RARE), ("en", RARE.values())):
            path = folder / f"{split}.{language}"
            more = "" if split == "train" else {"de": " und", "en": " and"}[language]  # not the same pairs
            path.write_text(path.read_text() + "".join(f"{line}{more}\n" for line in lines))
    return ParallelCorpus.open(folder)


def annotated(source: str, times: int = 2):
    return RECIPE.with_changes({"text.annotate": times, "text.annotate_from": source})


def test_a_file_suggests_at_training_and_search_and_the_run_keeps_it(corpus, workspace, tmp_path):
    write_lines(path := tmp_path / "words.tsv", ["fels\trock", "hund\tdog", "bach\triver"])
    run = train("whole", annotated(str(path)), corpus, workspace)
    path.unlink()
    kept = [run.folder / name for name in ("recipe.toml", "vocabulary/pipeline.json")]
    assert all('words.tsv"' in file.read_text() and str(tmp_path) not in file.read_text() for file in kept)
    moved = Run(shutil.move(run.folder, tmp_path / "elsewhere"))
    assert moved.pipeline.source_pieces("der fels und hund bach")[1:] == [
        "fels", "<note>", "rock", "</note>", "und", "hund", "bach", "<note>", "river", "</note>",
    ]  # fmt: skip
    with_note, without = open_model(moved).translate(["bach hund", "hund"])
    assert with_note.hypotheses[0].score != without.hypotheses[0].score


def test_the_aligned_training_text_suggests_where_nothing_is_named(corpus, workspace):
    run = train("whole", annotated(""), corpus, workspace)
    assert run.pipeline.source.notes.suggestions.keys() >= {"fels", "wald"}
    assert "hund" not in run.pipeline.source.notes.suggestions


def test_a_run_suggests_by_its_lexicon(corpus, workspace):
    plain = RECIPE.with_changes({"text.joint": False})
    words = train("words", plain, corpus, workspace)
    with pytest.raises(RunError, match=r"has no lexicon; make it with nmtlab runs align words"):
        train("whole", annotated("words"), corpus, workspace)
    table = align_run(words, workspace)
    run = train("whole", annotated("words"), corpus, workspace)
    vocabularies = words.pipeline.source.vocabulary, words.pipeline.target.vocabulary
    (number,) = vocabularies[0].ids(["fels"])
    ((translation, probability),) = table.top(number, 1)
    assert probability >= 0.2
    assert run.pipeline.source.notes.suggestions["fels"] == vocabularies[1].types[translation]


def test_a_lexicon_of_another_pair_or_of_subwords_is_refused(corpus, workspace):
    back = ParallelCorpus.open(corpus.folder, "en", "de")
    train("back", RECIPE, back, workspace)
    with pytest.raises(RunError, match="its lexicon is of en-de, the text is de-en"):
        train("whole", annotated("back"), corpus, workspace)
    pieces = {"text.segmentation": "bpe", "text.min_frequency": 1, "text.vocabulary_size": 80}
    train("pieces", RECIPE.with_changes(pieces), corpus, workspace)
    with pytest.raises(RunError, match="its types are subwords"):
        train("whole", annotated("pieces"), corpus, workspace)
    with pytest.raises(RunError, match="no-such-run"):
        train("whole", annotated("no-such-run"), corpus, workspace)
    both = annotated("").model_copy(update={"more_corpora": (back_of(corpus),)})
    with pytest.raises(RecipeError, match="suggestions are of one pair of languages, and the texts have de-en, en-de"):
        train("whole", both.with_changes({"text.segmentation": "bpe", "text.vocabulary_size": 80}), corpus, workspace)
    assert not workspace.run_folder("whole").exists()


def back_of(corpus: ParallelCorpus):
    settings = type(RECIPE.corpus)
    return settings(name=corpus.name, source="en", target="de")


def test_a_lexicon_that_saw_dev_or_test_is_refused(corpus, workspace):
    leaky = workspace.data / "corpora/leaky"
    for language in ("de", "en"):
        seen = [*corpus.lines("train", language)][:50] + [*corpus.lines("dev", language)][:5]
        write_lines(leaky / f"train.{language}", seen)
        write_lines(leaky / f"dev.{language}", [*corpus.lines("test", language)])
    words = train("words", RECIPE, ParallelCorpus.open(leaky, "de", "en"), workspace)
    align_run(words, workspace)
    with pytest.raises(CorpusError, match=r"lexicon 'words': was trained on 5 en sentences of dev"):
        train("whole", annotated("words", 1000), corpus, workspace)
    run = train("whole", annotated("words", 1000), corpus, workspace, allow_overlap=True)
    assert "in the lexicon's text" in run.overlap


@pytest.mark.parametrize(
    ("content", "problem"), [("fels rock\n", "line 1 is not"), (None, "No such file"), ("\xff", "")]
)
def test_a_damaged_file_is_refused_by_name_and_line(content, problem, corpus, workspace, tmp_path):
    path = tmp_path / "words.tsv"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    with pytest.raises(NmtlabError, match=rf"words\.tsv: .*{problem}"):
        train("whole", annotated(str(path)), corpus, workspace)


def test_an_annotated_training_resumes_exactly_without_its_file(corpus, workspace, tmp_path):
    write_lines(path := tmp_path / "words.tsv", ["fels\trock"])
    recipe = annotated(str(path))
    whole = train("whole", recipe, corpus, workspace)
    steps = iter(range(1000))
    stopped = train("stopped", recipe, corpus, workspace, should_stop=lambda: next(steps) >= 6)
    assert stopped.status == "stopped"
    path.unlink()
    assert same_weights(train("stopped", recipe, corpus, workspace, resume=True), whole)


def test_a_run_goes_on_with_its_notes(corpus, workspace):
    parent = train("parent", annotated(""), corpus, workspace)
    recipe = parent.recipe.with_changes({"transfer.parent": "parent", "transfer.continued": True})
    child = train("child", recipe, corpus, workspace)
    assert child.pipeline.source.notes.suggestions == parent.pipeline.source.notes.suggestions


def test_other_programs_do_not_get_an_annotated_run(corpus, workspace, tmp_path):
    changes = {"text.annotate": 2, "text.joint": True, "text.segmentation": "bpe", "text.vocabulary_size": 80}
    small = {"model.d_model": 16, "model.d_ff": 16, "model.heads": 2, "training.max_evaluations": 1,
             "training.validate_every": 1, "machine.threads": 1}  # fmt: skip
    run = train("run", named_recipe("transformer-tiny").with_changes({**changes, **small}), corpus, workspace)
    with pytest.raises(RunError, match=r"text\.annotate = 2: other programs would leave rare words without notes"):
        export_model(run, "huggingface", tmp_path / "exported")
