"""Recipes of runs side by side."""

import shutil

from support.packed import packed_folder, packed_folders

from nmtlab.analysis.comparison.recipes import differing_settings
from nmtlab.runs.naming import labelled
from nmtlab.runs.run import Run


def differing(*names: str) -> dict[str, list[str]]:
    """Return the values of the settings in which runs of the gallery differ."""
    runs = labelled([Run(packed_folder(name)) for name in names])
    frame = differing_settings(runs)
    assert list(frame.columns) == ["setting", *(run.label for run in runs), "meaning"]
    return dict(zip(frame["setting"], frame[[run.label for run in runs]].values.tolist(), strict=True))


def test_only_settings_that_differ_are_listed_in_the_order_of_the_recipe():
    name = "small-de-en.prenorm-fixnorm-scalenorm.{}encoder_layers-6.decoder_layers-6.s1"
    assert differing(name.format("label_smoothing-0."), name.format("")) == {
        "training.label_smoothing": ["0", "0.1"],
    }  # fmt: skip
    found = differing("small-tr-en.tied.s1", "small-tr-en.fixnorm.s1")
    assert list(found) == ["model.fixnorm"]
    assert found["model.fixnorm"] == ["false", "true"]


def test_a_setting_that_only_one_family_has_is_empty_for_the_other():
    found = differing("small-tr-en.tied.s1", "small-de-en.prenorm.s1")
    assert found["model.tied"] == ["true", ""]
    assert found["model.norm"] == ["", "layer"]
    assert found["corpus.name"] == ["small-tr-en", "small-de-en"]


def test_settings_are_explained():
    frame = differing_settings([Run(packed_folder(f"small-tr-en.{name}.s1")) for name in ("tied", "arthur")])
    assert len(frame) > 0
    assert frame["meaning"].str.len().min() > 10


def test_other_corpora_are_named(tmp_path):
    parent = next(folder for folder in packed_folders() if folder.name.startswith("parent-pt-en"))
    alone = shutil.copytree(parent, tmp_path / "alone")
    run = Run(parent)
    run.recipe.with_changes({"more_corpora": ()}).save(alone / "recipe.toml")
    frame = differing_settings([run, Run(alone)]).set_index("setting")
    assert frame.loc["more_corpora", [run.name, "alone"]].tolist() == ["child-gl-en.10000", ""]


def test_further_sources_are_named(editor, zoo):
    frame = differing_settings(labelled([editor.run, zoo("trained")])).set_index("setting")
    assert frame.loc["corpus.also_sources"].tolist()[:2] == ["en-x-mt", ""]


def test_one_run_differs_in_nothing():
    assert differing_settings([Run(packed_folder("small-tr-en.tied.s1"))]).empty
