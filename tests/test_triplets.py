"""Triplets to post-edit: of a run's translations of what it has not seen, and of damaged references."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from nmtlab.cli.main import app
from nmtlab.errors import CorpusError, RunError
from nmtlab.evaluation import ter_metric
from nmtlab.languages import machine_code
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.tags import NULL
from nmtlab.triplets import SEEN, damaged_triplets, translated_triplets
from nmtlab.workspace import Workspace

MT = "en-x-mt"


def written(folder, split: str) -> list[tuple[str, ...]]:
    sides = ((folder / f"{split}.{code}").read_text(encoding="utf-8").splitlines() for code in ("de", MT, "en"))
    return list(zip(*sides, strict=True))


@pytest.fixture
def others(tmp_path, tiny_corpus) -> ParallelCorpus:
    """Pairs of which the runs have trained on the first three alone; one has no source."""
    unseen = [(f"{source} rot rot", f"{target} red red") for source, target in tiny_corpus.pairs("dev")]
    folder = tmp_path / "others"
    folder.mkdir()
    for split in ("train", "test"):
        seen = list(tiny_corpus.pairs("train"))[:3] if split == "train" else []
        pairs = [*seen, *unseen[:10], ("", "nothing")]
        for place, code in enumerate(("de", "en")):
            write_lines(folder / f"{split}.{code}", [pair[place] for pair in pairs])
    return ParallelCorpus.open(folder, "de", "en")


@pytest.fixture
def shared(tmp_path, tiny_corpus) -> Workspace:
    """A workspace with the training text of the shared runs, which is the tiny corpus."""
    return Workspace(tmp_path / "data", (tiny_corpus.folder.parent,))


def test_the_translations_are_the_runs_and_what_it_has_learned_is_left_out(others, zoo, tmp_path, shared):
    run = zoo("learned")
    report = translated_triplets(tmp_path / "edits", others, run, shared)
    assert report.kept == {"train": 11, "test": 11}
    assert report.dropped["train"] == {SEEN: 3}
    pairs = list(others.pairs("train"))[3:]
    mt = [one.text for one in open_system(run).translate([source for source, _ in pairs])]
    assert written(tmp_path / "edits", "train") == [(s, m, t) for (s, t), m in zip(pairs, mt, strict=True)]
    assert mt[-1] == ""
    about = json.loads((tmp_path / "edits" / "import.json").read_text(encoding="utf-8"))
    assert about["kind"] == "triplets"
    assert about["origin"]["run"] == run.name
    assert about["origin"]["weights"] == run.checkpoints.original_digest
    assert about["origin"]["checksum"] == others.checksum()
    assert about["options"]["languages"] == ["de", MT, "en"]
    assert about["options"]["blank"] == sum(not one for one in mt) * 2
    assert "unchecked" not in about["options"]


def test_a_runs_own_training_text_is_refused_under_any_name(zoo, tiny_corpus, tmp_path, shared):
    run = zoo("learned")
    with pytest.raises(CorpusError, match=r"corpus 'tiny': run 'whole' was trained on it"):
        translated_triplets(tmp_path / "edits", tiny_corpus, run, shared)
    with pytest.raises(CorpusError, match=r"was trained on it"):
        translated_triplets(tmp_path / "edits", tiny_corpus, run, Workspace(tmp_path / "none"))
    folder = tmp_path / "part"
    folder.mkdir()
    for place, code in enumerate(("de", "en")):
        write_lines(folder / f"train.{code}", [pair[place] for pair in tiny_corpus.pairs("train")][:7])
    with pytest.raises(CorpusError, match=r"corpus 'part': all 7 pairs of train are in the run's training text"):
        translated_triplets(tmp_path / "edits", ParallelCorpus.open(folder, "de", "en"), run, shared)
    assert not (tmp_path / "edits").exists()


def test_where_its_training_text_is_not_here_it_is_said_that_nothing_was_checked(others, zoo, tmp_path):
    report = translated_triplets(tmp_path / "edits", others, zoo("learned"), Workspace(tmp_path / "none"))
    assert report.options["unchecked"] is True
    assert report.kept["train"] == 14


def test_a_run_of_several_sources_and_one_of_other_languages_are_refused(editor, others, tmp_path):
    with pytest.raises(RunError, match="it reads several sources together"):
        translated_triplets(tmp_path / "edits", others, editor.run, editor.workspace)
    reversed_ = replace(others, source="en", target="de")
    with pytest.raises(CorpusError, match="is en to de, run 'editor' translates de to en"):
        translated_triplets(tmp_path / "edits", reversed_, editor.run, editor.workspace)


def test_damage_is_the_same_for_the_same_seed_and_ter_grows_with_its_share(tiny_corpus, tmp_path):
    ter, references = ter_metric(), tiny_corpus.references("test")
    texts = {}
    for name, share, seed in (("a", 0.1, 1), ("b", 0.3, 1), ("again", 0.3, 1), ("other", 0.3, 2)):
        damaged_triplets(tmp_path / name, tiny_corpus, share, seed)
        rows = written(tmp_path / name, "test")
        assert [(source, target) for source, _, target in rows] == list(tiny_corpus.pairs("test"))
        texts[name] = [mt for _, mt, _ in rows]
    assert texts["b"] == texts["again"] != texts["other"]
    less, more = (ter.corpus_score(texts[name], references).score for name in "ab")
    assert 5 < less < 15 < more < 40
    about = json.loads((tmp_path / "b" / "import.json").read_text(encoding="utf-8"))
    triplets = replace(ParallelCorpus.open(tmp_path / "b", "de", "en"), also=(MT,))
    assert about["checksum"] == triplets.checksum() != replace(triplets, also=()).checksum()
    assert {name: about["options"][name] for name in ("damage", "seed")} == {"damage": 0.3, "seed": 1}
    assert about["kept"]["train"] == tiny_corpus.count("train")


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan")])
def test_a_share_out_of_range_is_refused(share, tiny_corpus, tmp_path):
    with pytest.raises(CorpusError, match="of the words; give more than 0 and at most 1"):
        damaged_triplets(tmp_path / "bad", tiny_corpus, share)


def test_a_source_that_is_a_machine_translation_itself_is_refused(editor, tmp_path):
    turned = replace(editor.corpus, source=MT, also=())
    with pytest.raises(CorpusError, match=f"its source, {MT}, is a machine translation already"):
        damaged_triplets(tmp_path / "twice", turned, 0.2)
    assert not (tmp_path / "twice").exists()


def test_a_blank_translation_is_a_missing_source(editor):
    system = open_system(editor.run)
    _, (_, (mt,)) = system.pipeline.encode_filled(["ein hund"], [""])
    assert mt[0] == system.pipeline.source.vocabulary.tag_ids([NULL])[0]
    assert editor.run.recipe.corpus.also_sources == (machine_code("en"),)


def test_the_command_says_how_to_train_and_what_the_unedited_text_scores(tiny_corpus, tmp_path, monkeypatch, zoo):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NMTLAB_CORPORA", str(tiny_corpus.folder.parent))
    zoo.copy("learned", Workspace(tmp_path / "data"))
    words = ["corpus", "triplets", "edits", "--corpus", "tiny"]
    for more, problem in (
        ([], "one of them makes the translations"),
        (["--run", "whole", "--damage", "0.2"], "one of them makes the translations"),
        (["--run", "whole", "--seed", "2"], "--seed: belongs to --damage"),
        (["--damage", "0.2", "--threads", "2"], "--threads: belongs to --run"),
        (["--run", "whole"], "was trained on it"),
    ):
        assert problem in str(CliRunner().invoke(app, [*words, *more]).exception)
    done = CliRunner().invoke(app, [*words, "--damage", "0.2"])
    assert done.exit_code == 0, done.output
    assert (
        f"next: nmtlab train edits --source de --also-source {MT} --target en --set model.combine=joint" in done.output
    )
    (unedited,) = [line for line in done.output.splitlines() if line.startswith("unedited: nmtlab ")]
    asked = unedited.removeprefix("unedited: nmtlab ").replace("NAME", "whole").split()
    compared = CliRunner().invoke(app, [*asked, "--samples", "10", "--csv"])
    assert compared.exit_code == 0, compared.output
    assert "TER" in compared.output
