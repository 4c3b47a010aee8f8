"""Which document each line of a corpus is from."""

from collections import Counter

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import ArtificialLanguage, ArtificialSettings, write_corpus
from nmtlab.text.artificial.grammar import BLOCK
from nmtlab.text.artificial.language import NEW_NOUNS, ArtificialPair
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.noise.adding import add_noise

SIZES = {"train": 300, "dev": 30, "test": 70}
SETTINGS = ArtificialSettings(names=5)


@pytest.fixture
def corpus(make_corpus) -> ParallelCorpus:
    return ParallelCorpus.open(make_corpus())


def write(corpus: ParallelCorpus, ids: list[str]) -> None:
    (corpus.folder / "test.documents").write_text("".join(f"{one}\n" for one in ids), encoding="utf-8")


def test_every_line_has_the_id_of_its_document(corpus):
    ids = [f"src/{line % 3}.c" for line in range(corpus.count("test"))]
    assert not corpus.has_documents("test")
    write(corpus, ids)
    assert corpus.documents("test") == ids
    assert corpus.check()["test"] == len(ids)
    assert corpus.splits == ("train", "dev", "test")


def test_a_corpus_with_noise_keeps_the_documents_of_dev_and_test(corpus, tmp_path):
    write(corpus, ids := [f"src/{line % 3}.c" for line in range(corpus.count("test"))])
    add_noise(tmp_path / "noisy", corpus, "copied-target", 0.5)
    noisy = ParallelCorpus.open(tmp_path / "noisy", *corpus.direction)
    assert noisy.documents("test") == ids
    assert not noisy.has_documents("dev")


def test_ids_that_are_not_one_a_line_are_refused(corpus):
    number = corpus.count("test")
    write(corpus, ["a"] * (number - 1))
    message = (
        rf"test\.documents: {number - 1} ids, but test has {number} pairs; give the id of a document for each pair"
    )
    for read in (lambda: corpus.documents("test"), corpus.check):
        with pytest.raises(CorpusError, match=message):
            read()


def test_a_blank_id_and_a_file_that_is_missing_are_named(corpus):
    with pytest.raises(
        CorpusError, match=r"no test\.documents; add it, with the id of a document for each line of test"
    ):
        corpus.documents("test")
    write(corpus, ["a", " ", *["b"] * (corpus.count("test") - 2)])
    with pytest.raises(CorpusError, match=r"test\.documents, line 2: blank"):
        corpus.documents("test")


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("corpora") / "documents"
    write_corpus(folder, ["qab", "qad"], SETTINGS, **SIZES, document=20)
    return ParallelCorpus.open(folder, "qab", "en")


def new_forms(corpus: ParallelCorpus) -> set[str]:
    rows = [line.split("\t") for line in (corpus.folder / "gold/lexicon.qab-en.tsv").read_text().splitlines()]
    return {form for stem, group, _, _, forms, _ in rows if group == "new noun" for form in forms.split()}


def words(lines) -> set[str]:
    return {word.lower() for line in lines for word in line.split()}


def test_each_artificial_document_has_new_nouns_that_no_other_document_has(grown):
    new, seen = new_forms(grown), set()
    assert not new & words(grown.lines("train", "en"))
    for split, documents in (("dev", 2), ("test", 4)):
        ids, lines = grown.documents(split), list(grown.lines(split, "en"))
        assert ids == [str(1 + line // 20) for line in range(SIZES[split])]
        for one in range(documents):
            here = new & words(lines[20 * one : 20 * one + 20])
            assert NEW_NOUNS <= len(here) <= 2 * NEW_NOUNS  # singular and plural
            assert not here & seen
            assert sum(bool(here & words([line])) for line in lines[20 * one : 20 * one + 20]) >= NEW_NOUNS
            seen |= here
    assert grown.check() == SIZES


def test_artificial_training_text_is_the_same_with_documents_and_without(grown, tmp_path):
    write_corpus(tmp_path / "plain", ["qab", "qad"], SETTINGS, **SIZES)
    for name in ("train.qab", "train.qad", "train.en"):
        assert (tmp_path / "plain" / name).read_bytes() == (grown.folder / name).read_bytes()
    assert not list((tmp_path / "plain").glob("*.documents"))
    plain, with_new = list((tmp_path / "plain/test.en").open()), list(grown.lines("test", "en"))
    same = [one.rstrip("\n") == other for one, other in zip(plain, with_new, strict=True)]
    assert 0.1 < sum(same) / len(same) < 0.9


def test_a_document_may_go_on_in_the_next_block():
    language = ArtificialLanguage("qaa", SETTINGS, documents=2)
    lines = [pair.target for pair in language.documents(12, 6, start=BLOCK - 3)]
    plain = [pair.target for pair in language.pairs(12, BLOCK - 3)]
    new = {form for entry in language.lexicon() if entry.group == "new noun" for form in entry.forms}
    assert len(lines) == 12
    assert new & words(lines[:3])
    assert not new & words(plain)
    assert not new & words(lines[:6]) & words(lines[6:])


def test_the_gold_links_of_new_nouns_are_right(grown):
    stems = [line.split("\t") for line in (grown.folder / "gold/lexicon.qab-en.tsv").read_text().splitlines()]
    stem_of = {form: stem for stem, group, _, _, forms, _ in stems if group == "new noun" for form in forms.split()}
    links = (grown.folder / "gold/test.qab-en.align").read_text().splitlines()
    found = 0
    for (source, target), line in zip(grown.pairs("test"), links, strict=True):
        for link in line.split():
            s, t = map(int, link.split("-"))
            if stem := stem_of.get(target.split()[t].lower()):
                assert source.split()[s].lower().startswith(stem)
                found += 1
    assert found > 20


def test_an_unsaid_subject_is_the_object_of_the_sentence_before_and_of_no_other_source():
    language = ArtificialLanguage("qaa", ArtificialSettings(vocabulary=100, names=5))
    plain = list(language.pairs(600, split="train"))
    connected = list(language.connected(600, 3, split="train"))
    assert sorted(pair.target for _, pair in connected) == sorted(pair.target for pair in plain)
    said = {pair.target: pair for pair in plain}
    before: dict[int, ArtificialPair] = {}
    unsaid = 0
    for number, pair in connected:
        alone = said[pair.target]
        if previous := before.get(number):
            unsaid += 1
            (left_out,) = (Counter(alone.source.lower().split()) - Counter(pair.source.lower().split())).elements()
            subject = {alone.target.split()[j] for i, j in alone.links if alone.source.lower().split()[i] == left_out}
            english = {word.lower() for word in previous.target.split()}
            assert {word.lower() for word in subject} & english
        else:
            assert pair == alone
        before[number] = pair
    assert unsaid > 60
    sizes = Counter(number for number, _ in connected)
    assert max(sizes.values()) == 3
    assert list(sizes) == sorted(sizes)


def test_a_corpus_of_unsaid_subjects_has_documents_in_all_splits_and_in_every_language(tmp_path):
    write_corpus(tmp_path / "made", ["qaa", "qab"], SETTINGS, **SIZES, document=3, unsaid_subjects=True)
    made = [ParallelCorpus.open(tmp_path / "made", code, "en") for code in ("qaa", "qab")]
    assert made[0].check() == SIZES
    assert list(made[0].lines("train", "en")) == list(made[1].lines("train", "en"))
    assert max(Counter(made[0].documents("train")).values()) > 1
    with pytest.raises(CorpusError, match="document is 1"):
        write_corpus(tmp_path / "one", ["qaa"], SETTINGS, **SIZES, document=1, unsaid_subjects=True)
