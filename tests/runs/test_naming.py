"""Short names of runs: of the gallery, and of recipes that differ in a field."""

import shutil
from itertools import combinations

import pytest
from support.packed import DATA

from nmtlab.recipe import Recipe, named_recipe
from nmtlab.runs.naming import in_words, labelled, layers, short_names, stated_changes, system_name
from nmtlab.runs.packed import packed_runs
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

SIX = "encoder_layers-6.decoder_layers-6"


@pytest.fixture(scope="module")
def gallery() -> dict[str, Run]:
    """The packed runs of the checkout, by name."""
    return packed_runs(Workspace(DATA))[0]


@pytest.fixture
def made(tmp_path, gallery):
    """Return a run with a name and changes to the recipe prenorm."""

    def make(name: str, **changes: object) -> Run:
        folder = shutil.copytree(gallery["small-de-en.prenorm.s1"].folder, tmp_path / name)
        fields = {"corpus.name": "small-de-en", "corpus.source": "de", "corpus.target": "en"}
        recipe = named_recipe("prenorm").with_changes(fields)
        recipe.with_changes({field.replace("__", "."): value for field, value in changes.items()}).save(
            folder / "recipe.toml"
        )
        return Run(folder)

    return make


def names(*runs: Run) -> list[str]:
    return list(short_names(runs).values())


@pytest.mark.parametrize(
    ("runs", "short"),
    [
        (["small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1"], ["tied", "fixnorm-lex"]),
        (["small-tr-en.tied.s1", "small-tr-en.moses"], ["tied", "moses"]),
        (["small-tr-en.tied.s1", "small-qaa-en.tied.s1"], ["small-tr-en", "small-qaa-en"]),
        (
            ["child-gl-en.4000.transfer-bpe.s1", "child-gl-en.4000.transfer-bpe.related-parent.s2"],
            ["seed 1", "from parent-pt-en, seed 2"],
        ),
        (
            [f"small-de-en.postnorm.{SIX}.s1", "small-de-en.postnorm.s1", f"small-de-en.postnorm.init-xavier.{SIX}.s1"],
            ["6 layers", "postnorm", "6 layers, init xavier"],
        ),
        (
            [f"small-de-en.prenorm-fixnorm-scalenorm.label_smoothing-0.{SIX}.s1", f"small-de-en.postnorm.{SIX}.s1"],
            ["prenorm-fixnorm-scalenorm, label smoothing 0", "postnorm"],
        ),
        (["deep-de-en.post-layernorm", "deep-de-en.pre-layernorm"], ["post-layernorm", "pre-layernorm"]),
        (
            ["deep-de-en.post-layernorm", "deep-de-en.post-scalenorm", "deep-de-en.pre-scalenorm"],
            ["post-layernorm", "post-scalenorm", "pre-scalenorm, fixnorm"],
        ),
        (["small-tr-en.tied.s1"], ["small-tr-en.tied.s1"]),
        ([], []),
    ],
)
def test_a_short_name_says_what_is_not_shared(gallery, runs, short):
    assert short_names([gallery[name] for name in runs]) == dict(zip(runs, short, strict=True))


@pytest.mark.full
def test_any_two_runs_of_the_gallery_have_different_short_names_in_their_order(gallery):
    assert len(gallery) > 40
    some = list(gallery.values())[::12]
    for pair in combinations(some, 2):
        found = short_names(pair)
        assert list(found) == [run.name for run in pair]
        assert len(set(found.values())) == 2


def test_a_long_name_leaves_out_what_its_other_words_imply(gallery):
    parent = gallery["small-gl-en.prenorm-fixnorm-scalenorm.s1"]
    continued = [run for run in gallery.values() if run.recipe.transfer.parent == parent.name]
    critical = next(run for run in continued if run.recipe.training.risk_form == "self-critical")
    assert names(parent, *(run for run in continued if run is not critical), critical)[-1] == "continued, risk gleu"


def test_a_teacher_is_named_without_its_seed_and_the_text_of_its_student(gallery):
    student = "small-gl-en.prenorm-fixnorm-scalenorm.encoder_layers-4.decoder_layers-1"
    shown = [run for name, run in gallery.items() if name.startswith(f"{student}.")]
    assert any("teacher prenorm-fixnorm-scalenorm" in name for name in names(*shown))


def test_a_system_of_several_seeds_is_named_without_the_seed_of_the_teacher_that_made_its_text(gallery):
    taught, teacher = (
        next(run for run in gallery.values() if run.recipe.corpus.name.startswith("small-gl-en.by-")),
        gallery["small-gl-en.prenorm.s1"],
    )
    found = short_names([taught, teacher], seedless=[taught.name])[taught.name]
    assert found.startswith("small-gl-en.by-prenorm-fixnorm-scalenorm.nearest, ")


@pytest.mark.full
def test_all_runs_of_the_gallery_together_have_different_short_names(gallery):
    found = short_names(list(gallery.values()))
    assert len(set(found.values())) == len(gallery)
    assert max(map(len, found.values())) < 120


def test_texts_made_by_a_run_are_named_by_the_words_of_the_runs_name_and_others_by_theirs(gallery):
    beside = [gallery[f"monolingual-qaa-en.500.{text}.fixnorm-small.s1"] for text in ("sampled-4", "copied-4")]
    assert names(*beside) == ["and sampled-4", "and copied-4"]
    many = gallery["iberian.many-to-one.many-shared.lr_scale-0.35.s1"]
    assert names(many, beside[0])[0].startswith("many-pt-en, and many-es-en, many-gl-en, many-shared")


def test_runs_of_one_recipe_are_told_apart_by_their_seeds(made):
    runs = [made(f"small-de-en.prenorm.s{seed}", training__seed=seed) for seed in (1, 2, 10)]
    assert names(*runs) == ["seed 1", "seed 2", "seed 10"]


def test_a_change_to_one_of_two_runs_is_in_its_name_and_both_say_their_seeds(made):
    smoothed = made("a.prenorm", training__label_smoothing=0.0)
    assert names(smoothed, made("b.prenorm", training__seed=2)) == ["label smoothing 0, seed 1", "seed 2"]


def test_fields_of_the_search_count_only_where_runs_are_alike_otherwise(made):
    wide = made("a.prenorm", search__beam_size=9)
    assert names(wide, made("b.prenorm")) == ["beam size 9", "prenorm"]
    assert names(wide, made("c.prenorm", model__dropout=0.4)) == ["prenorm", "dropout 0.4"]


def test_runs_with_nothing_to_tell_them_apart_keep_their_names(made):
    assert names(made("a.prenorm"), made("b.prenorm"), made("c.prenorm", training__seed=2)) == [
        "a.prenorm", "b.prenorm", "seed 2",
    ]  # fmt: skip


def test_names_without_a_recipe_lose_what_they_share(made):
    assert names(made("mine.first"), made("mine.second")) == ["first", "second"]
    assert system_name(made("small-de-en.own.s1")) == "own"


def test_the_seed_of_a_run_that_stands_for_several_is_left_out(made):
    one, other = made("a.prenorm"), made("b.prenorm", training__seed=2, model__dropout=0.4)
    assert short_names([one, other], {"a.prenorm"}) == {"a.prenorm": "prenorm", "b.prenorm": "dropout 0.4"}


def test_a_label_is_seen_in_tables_and_stays_in_another_direction(made):
    run, _ = labelled([made("a.prenorm"), made("b.prenorm", training__seed=2)])
    assert (run.label, run.name) == ("seed 1", "a.prenorm")
    assert run.directed("de", "en").label == "seed 1"
    assert Run(run.folder).label == "a.prenorm"


def test_settings_are_written_as_words():
    assert in_words("model.fixnorm", True) == "fixnorm"
    assert in_words("model.fixnorm", False) == "no fixnorm"
    assert in_words("training.label_smoothing", 0.0) == "label smoothing 0"
    assert in_words("model.norm", "scale") == "norm scale"


def test_layers_of_encoder_and_decoder_are_one_number_if_they_agree():
    assert layers(Recipe().with_changes({"model.encoder_layers": 6, "model.decoder_layers": 2})) == "6+2"
    assert layers(Recipe().with_changes({"model.encoder_layers": 4, "model.decoder_layers": 4})) == "4"
    assert layers(named_recipe("tied")) == "1"
    assert layers(named_recipe("moses")) == ""


def test_the_changes_that_a_name_states_are_those_of_the_recipe(gallery):
    assert stated_changes(gallery[f"small-de-en.postnorm.init-xavier.{SIX}.s1"]) == "init xavier"
    assert stated_changes(gallery["child-gl-en.4000.transfer-bpe.related-parent.s1"]) == "from parent-pt-en"
    assert stated_changes(gallery["small-tr-en.tied.s1"]) == ""


def test_layers_are_named_only_where_runs_differ_in_them(made):
    one = {"model__encoder_layers": 1, "model__decoder_layers": 1}
    assert names(made("a.prenorm", **one), made("mine", **one)) == ["prenorm", "mine"]
    assert names(made("b.prenorm", **one), made("c.prenorm")) == ["1 layer", "prenorm"]


def test_a_parent_that_was_trained_on_the_same_text_is_not_named(gallery):
    found = short_names(list(gallery.values()))
    frozen = [label for name, label in found.items() if "many-adapters-frozen" in name]
    assert frozen
    assert not any("from" in label for label in frozen)
    assert "from parent-pt-en" in found["child-gl-en.4000.transfer-bpe.related-parent.s1"]


def test_parts_of_a_parent_with_the_same_use_are_named_together(made):
    parts = ("source_embedding", "encoder", "decoder", "target_embedding", "output")
    reset = {f"transfer__{part}": "reset" for part in parts}
    assert names(made("a.prenorm", **reset), made("b.prenorm")) == ["all parts reset", "prenorm"]
    two = made("c.prenorm", transfer__encoder="freeze", transfer__decoder="freeze")
    one = made("d.prenorm", transfer__output="reset")
    assert names(two, one) == ["encoder and decoder freeze", "output reset"]
