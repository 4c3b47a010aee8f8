import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import sacrebleu

from nmtlab import synthetic
from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.synthetic import Synthesis, back_translate, write_translated
from nmtlab.systems import open_ensemble, open_system
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.concatenation import join
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.text.corpora.filtering import Filter, Filtered, filter_corpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.noise.adding import add_noise
from nmtlab.translation import Translation


class Known:
    """A system that has all its translations by heart; None is one that was cut off."""

    model, limitations = None, ""
    pipeline = SimpleNamespace(checksum=lambda: "known")

    def __init__(self, languages: tuple[str, str], pairs: dict[str, str | None]) -> None:
        self.languages = languages
        self.pairs = pairs

    def translate(
        self, lines: Sequence[str], n_best=1, on_progress=lambda lines: None, *, scored=True
    ) -> list[Translation]:
        on_progress(len(lines))
        return [self._translation(line) for line in lines]

    def _translation(self, line: str) -> Translation:
        if not line:
            return Translation([""], [])
        text = self.pairs[line]
        return Translation(["cut" if text is None else text], [Hypothesis((), 0.0, 0.0, finished=text is not None)])


@pytest.fixture
def text(tmp_path) -> MonolingualCorpus:
    write_lines(tmp_path / "text" / "train.de", ["eins", "", "zwei", "drei", "vier", "ok"])
    return MonolingualCorpus(tmp_path / "text", "de")


@pytest.fixture(scope="module")
def run(zoo) -> Run:
    return zoo("learned")


@pytest.fixture(scope="module")
def german(tiny_corpus) -> MonolingualCorpus:
    return MonolingualCorpus(tiny_corpus.folder, "de")


def pairs_in(folder: Path, *direction: str) -> list[tuple[str, str]]:
    return list(ParallelCorpus.open(folder, *direction).pairs("train"))


KNOWN = Known(("de", "en"), {"eins": "one", "zwei": " ", "drei": None, "vier": "four", "ok": "OK"})


def test_blank_and_unfinished_translations_are_left_out_and_copies_are_counted(text, tmp_path):
    done = []
    report = write_translated(KNOWN, {"run": "known"}, text, tmp_path / "made", Synthesis(), done.append)
    assert pairs_in(tmp_path / "made", "en", "de") == [("one", "eins"), ("four", "vier"), ("OK", "ok")]
    assert (report.source, report.target) == ("en", "de")
    assert {path.name for path in (tmp_path / "made").iterdir()} == {"train.de", "train.en", "import.json"}
    written = json.loads((tmp_path / "made" / "import.json").read_text())
    assert written["kind"] == "translated"
    assert written["kept"] == {"train": 3}
    reasons = {"blank line": 1, "blank translation": 1, "translation at the length limit": 1}
    assert written["dropped"] == {"train": reasons}
    assert written["options"]["lines"] == written["read"] == sum(done) == 6
    assert written["options"]["copies"] == 1
    assert synthetic_language(ParallelCorpus.open(tmp_path / "made", "en", "de")) == "en"
    assert synthetic_language(ParallelCorpus.open(tmp_path / "made", "de", "en")) == "en"


def test_a_corpus_made_from_synthetic_text_still_says_which_side_a_system_made(text, tmp_path):
    write_translated(KNOWN, {"run": "known"}, text, tmp_path / "made", Synthesis())
    made = ParallelCorpus.open(tmp_path / "made", "en", "de")
    add_noise(tmp_path / "noisy", made, "misaligned", 1.0)
    filter_corpus(tmp_path / "filtered", made, Filter(), Filtered(Limits()))
    for name in ("noisy", "filtered"):
        assert synthetic_language(ParallelCorpus.open(tmp_path / name, "en", "de")) == "en", name


def test_translations_can_be_the_targets(text, tmp_path):
    report = write_translated(KNOWN, {"run": "known"}, text, tmp_path / "made", Synthesis("target"))
    assert (report.source, report.target) == ("de", "en")
    assert pairs_in(tmp_path / "made", "de", "en")[0] == ("eins", "one")


def test_text_in_another_language_is_refused(text, tmp_path):
    with pytest.raises(CorpusError, match="text text: in de, but known translates en to de; choose text in en"):
        write_translated(Known(("en", "de"), {}), {"run": "known"}, text, tmp_path / "made", Synthesis())


@pytest.mark.parametrize(
    ("translation", "problem"),
    [
        ("", "known translates all 2 lines as blank"),
        (None, r"known: none of 2 translations can be used \(2 translation at the length limit\)"),
    ],
)
def test_without_a_translation_there_is_no_folder(tmp_path, translation, problem):
    write_lines(tmp_path / "text" / "train.de", ["eins", "zwei"])
    system = Known(("de", "en"), dict.fromkeys(["eins", "zwei"], translation))
    with pytest.raises(CorpusError, match=problem):
        write_translated(
            system, {"run": "known"}, MonolingualCorpus(tmp_path / "text", "de"), tmp_path / "made", Synthesis()
        )
    assert not (tmp_path / "made").exists()


def test_an_interrupted_translation_leaves_nothing_behind(text, tmp_path):
    def interrupt(lines: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_translated(KNOWN, {"run": "known"}, text, tmp_path / "made", Synthesis(), interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_with_true_translations_bitext_and_synthetic_text_are_the_whole_corpus(tmp_path):
    write_corpus(tmp_path / "all", ["qaa"], ArtificialSettings(), train=80, dev=5, test=5)
    whole = ParallelCorpus.open(tmp_path / "all", "qaa", "en")
    join(tmp_path / "first", [whole], {"train": 30})
    join(tmp_path / "rest", [whole], skip=30)
    join(tmp_path / "upper", [whole])
    rest = ParallelCorpus.open(tmp_path / "rest", "qaa", "en")
    truth = Known(("en", "qaa"), {target: source for source, target in rest.pairs("train")})
    write_translated(truth, {"run": "truth"}, MonolingualCorpus(rest.folder, "en"), tmp_path / "made", Synthesis())
    known = {target for _, target in rest.pairs("train")}
    assert len(known) == rest.count("train")  # otherwise the truth would be ambiguous
    assert pairs_in(tmp_path / "made", "qaa", "en") == pairs_in(tmp_path / "rest", "qaa", "en")
    mixed = set(pairs_in(tmp_path / "first", "qaa", "en") + pairs_in(tmp_path / "made", "qaa", "en"))
    upper = pairs_in(tmp_path / "upper", "qaa", "en")
    assert [pair for pair in upper if pair in mixed] == upper
    assert len(mixed) == len(upper)


def test_a_run_translates_each_line_as_ever_and_is_recorded(run, german, tmp_path):
    search = run.recipe.search.model_copy(update={"beam_size": 1})
    report = back_translate(run, german, tmp_path / "made", Synthesis(search=search))
    expected = [found.text for found in open_system(run, search).translate(list(german.lines()))]
    kept = pairs_in(tmp_path / "made", "en", "de")
    assert len(kept) > 250
    assert [pair for pair in zip(expected, german.lines(), strict=True) if pair in set(kept)] == kept
    assert report.origin["weights"] == run.checkpoints.original_digest
    assert report.origin["pipeline"] == run.pipeline.checksum()
    assert report.origin["checksum"] == german.checksum()
    assert report.options["search"] == search.model_dump(mode="json")


def test_several_runs_translate_as_an_ensemble_whose_members_are_recorded(run, zoo, german, tmp_path):
    other, how = zoo("trained"), Synthesis(search=run.recipe.search.model_copy(update={"beam_size": 2}), limit=20)
    report = back_translate(run, german, tmp_path / "made", how, others=[other])
    kept = pairs_in(tmp_path / "made", "en", "de")
    together = open_ensemble([run, other], how.search).translate([line for _, line in kept])
    assert [translation for translation, _ in kept] == [found.text for found in together]
    assert report.origin["with"] == [{"run": other.name, "weights": other.checkpoints.original_digest}]
    with pytest.raises(RunError, match="different vocabularies or text settings; train both on the same corpus"):
        back_translate(run, german, tmp_path / "refused", how, others=[zoo("words")])
    assert not (tmp_path / "refused").exists()


def test_samples_of_a_line_are_pairs_that_depend_on_the_seed_and_on_the_line(run, german, tmp_path, monkeypatch):
    monkeypatch.setattr(synthetic, "_LINES_AT_ONCE", 2)
    made = {}
    write_lines(tmp_path / "same" / "train.de", [next(german.lines())] * 4)
    same = MonolingualCorpus(tmp_path / "same", "de")
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        back_translate(run, same, tmp_path / name, Synthesis(samples=3, temperature=2.0, seed=seed))
        made[name] = pairs_in(tmp_path / name, "en", "de")
    assert made["one"] == made["again"] != made["other"]
    assert len(made["one"]) == 12
    drawn = [tuple(source for source, _ in made["one"][place : place + 3]) for place in range(0, 12, 3)]
    assert len(set(drawn)) == 4  # in other parts of the text, too


# Distillation


def test_a_teacher_that_is_always_right_writes_the_bitext_so_that_the_student_reads_the_same(tmp_path):
    write_corpus(tmp_path / "all", ["qaa"], ArtificialSettings(), train=60, dev=5, test=5)
    whole = ParallelCorpus.open(tmp_path / "all", "qaa", "en")
    truth = Known(("qaa", "en"), dict(whole.pairs("train")))
    text = MonolingualCorpus(whole.folder, "qaa")
    report = write_translated(truth, {"run": "truth"}, text, tmp_path / "made", Synthesis("target"))
    made = ParallelCorpus.open(tmp_path / "made", "qaa", "en")
    assert made.checksum() == whole.checksum() == report.origin["bitext"]
    assert report.kept == {"train": 60, "dev": 5, "test": 5}
    assert synthetic_language(made) == "en"


@pytest.fixture(scope="module")
def teacher(zoo) -> Run:
    """A run that is wrong often."""
    return zoo("trained")


@pytest.mark.parametrize("score", ["bleu", "chrf"])
def test_the_translation_nearest_to_the_reference_is_that_of_a_loop_over_the_list(
    teacher, tiny_corpus, tmp_path, score
):
    search = teacher.recipe.search.model_copy(update={"beam_size": 4})
    text, how = MonolingualCorpus(tiny_corpus.folder, "de"), Synthesis("target", search, limit=30, nearest=score)
    report = back_translate(teacher, text, tmp_path / "made", how)
    kept, references = pairs_in(tmp_path / "made", "de", "en"), dict(tiny_corpus.pairs("train"))
    translated = open_system(teacher, search).translate([source for source, _ in kept], n_best=4)
    lower = 0
    for (source, target), found in zip(kept, translated, strict=True):
        listed = zip(found.texts, found.hypotheses, strict=True)
        usable = [one for one, hypothesis in listed if hypothesis.finished and one.strip()]
        scores = [sentence_score(score, one, references[source]) for one in usable]
        assert target == usable[scores.index(max(scores))]
        lower += target != found.texts[0]
    assert report.options["nearest"] == score
    assert report.options["lower_ranked"] == lower > 3


def sentence_score(name: str, text: str, reference: str) -> float:
    bleu = sacrebleu.BLEU(smooth_method="add-k", smooth_value=1, effective_order=True)
    return (bleu if name == "bleu" else sacrebleu.CHRF()).sentence_score(text, [reference]).score


class Listing(Known):
    """A system that has several translations of each line by heart."""

    def translate(
        self, lines: Sequence[str], n_best=1, on_progress=lambda lines: None, *, scored=True
    ) -> list[Translation]:
        return [
            Translation(
                ["cut" if text is None else text for text in self.pairs[line][:n_best]],
                [Hypothesis((), 0.0, 0.0, finished=text is not None) for text in self.pairs[line][:n_best]],
            )
            for line in lines
        ]


def test_of_equally_near_translations_the_best_by_the_model_is_kept_and_none_that_is_blank_or_cut(tmp_path):
    write_lines(tmp_path / "text" / "train.de", ["eins", "zwei", "drei"])
    write_lines(tmp_path / "text" / "train.en", ["cut", "two three", "x y z"])
    listing = Listing(
        ("de", "en"), {"eins": [None, "", "a one"], "zwei": ["three", "two", "two three"], "drei": ["b", "c", "d"]}
    )
    how = Synthesis("target", SearchSettings(beam_size=3), nearest="chrf")
    report = write_translated(
        listing, {"run": "listing"}, MonolingualCorpus(tmp_path / "text", "de"), tmp_path / "made", how
    )
    assert pairs_in(tmp_path / "made", "de", "en") == [("eins", "a one"), ("zwei", "two three"), ("drei", "b")]
    assert (report.options["lower_ranked"], report.dropped["train"]) == (1, {})  # that of "eins" could not be kept


def test_text_without_references_has_no_nearest_translation(text, tmp_path):
    with pytest.raises(CorpusError, match="text text: has no translations into en to be near to; name the source side"):
        write_translated(KNOWN, {"run": "known"}, text, tmp_path / "made", Synthesis("target", nearest="bleu"))
    assert not (tmp_path / "made").exists()


def test_a_run_without_weights_is_refused(zoo, german, workspace, tmp_path):
    run = zoo.copy("learned", workspace)
    for path in run.folder.rglob("*.safetensors"):
        path.unlink()
    with pytest.raises(RunError, match="no such checkpoint; train it"):
        back_translate(Run(run.folder), german, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_other_text_or_weights_never_reuse_a_folder(text, tmp_path):
    write_translated(KNOWN, {"run": "known"}, text, tmp_path / "made", Synthesis())
    with pytest.raises(CorpusError, match="made: already exists"):
        write_translated(KNOWN, {"run": "changed"}, text, tmp_path / "made", Synthesis())
