"""Reference links: the truth where it is known, an aligner's elsewhere."""

import pytest
from support.learned import learned_run

from nmtlab.analysis.access.reference_links import kept_links, reference_links
from nmtlab.analysis.access.word_pairs import word_pairs
from nmtlab.errors import CorpusError
from nmtlab.evaluation.alignment_error import alignment_error
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import aligned_path, format_alignment, gold_links, has_gold_links


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("grown") / "grown"
    write_corpus(folder, ["qad"], ArtificialSettings(vocabulary=100, names=3), train=400, dev=20, test=40)
    return ParallelCorpus.open(folder, "qad", "en")


@pytest.fixture(scope="module")
def run(grown, tiny_recipe, tmp_path_factory):
    return learned_run(tmp_path_factory.mktemp("run"), grown, tiny_recipe.with_changes({"training.max_evaluations": 1}))


def without_gold(corpus: ParallelCorpus, folder) -> ParallelCorpus:
    for path in corpus.folder.iterdir():
        if path.suffix in (".qad", ".en"):
            (folder / path.name).write_bytes(path.read_bytes())
    return ParallelCorpus.open(folder, "qad", "en")


@pytest.mark.full
def test_an_artificial_language_has_its_true_links(grown, run):
    assert has_gold_links(grown, "test")
    assert reference_links(run.pipeline, grown, "test") == gold_links(grown, "test")


@pytest.mark.full
def test_other_text_has_an_aligners_which_are_near_the_true_ones(grown, run, tmp_path):
    plain = without_gold(grown, tmp_path)
    assert not has_gold_links(plain, "test")
    links = reference_links(run.pipeline, plain, "test")
    assert alignment_error(links, gold_links(grown, "test")).error_rate < 0.3
    assert reference_links(run.pipeline, plain, "test") == links
    assert len(word_pairs(run, plain, "test", links)) == 40


@pytest.mark.full
def test_links_of_the_training_text_itself(grown, run, tmp_path):
    assert len(reference_links(run.pipeline, without_gold(grown, tmp_path), "train")) == 400


def test_no_training_text_to_learn_from(grown, run, tmp_path):
    without_gold(grown, tmp_path)
    for path in tmp_path.glob("train.*"):
        path.unlink()
    with pytest.raises(CorpusError, match="train"):
        reference_links(run.pipeline, ParallelCorpus.open(tmp_path, "qad", "en"), "test")


# Links that are stored with a text


def test_true_links_are_kept_as_true_ones(grown):
    assert kept_links(grown, "dev") == (gold_links(grown, "dev"), True)


def test_an_aligners_links_are_kept_as_such(grown, tmp_path):
    plain = without_gold(grown, tmp_path)
    stored = [frozenset({(0, 0), (place % 3, 1)}) for place in range(20)]
    aligned_path(plain, "dev").parent.mkdir()
    aligned_path(plain, "dev").write_text("".join(f"{format_alignment(own)}\n" for own in stored), encoding="utf-8")
    assert kept_links(plain, "dev") == (stored, False)


def test_stored_links_are_taken_in_place_of_an_aligners(grown, run, tmp_path):
    plain = without_gold(grown, tmp_path)
    aligned_path(plain, "test").parent.mkdir()
    aligned_path(plain, "test").write_text("0-0\n" * 40, encoding="utf-8")
    assert reference_links(run.pipeline, plain, "test") == [{(0, 0)}] * 40


def test_stored_links_of_another_text_are_refused(grown, tmp_path):
    plain = without_gold(grown, tmp_path)
    aligned_path(plain, "dev").parent.mkdir()
    aligned_path(plain, "dev").write_text("0-0\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"dev\.qad-en\.align: 1 lines, but dev has 20 pairs; give it a line for"):
        kept_links(plain, "dev")


def test_a_text_without_links_says_so(grown, tmp_path):
    with pytest.raises(CorpusError, match=r"dev\.qad-en\.align: not found"):
        kept_links(without_gold(grown, tmp_path), "dev")
