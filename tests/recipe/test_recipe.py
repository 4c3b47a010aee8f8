"""Recipes: named, read, written, changed, and explained."""

import json
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from support.packed import packed_folders

from nmtlab.errors import RecipeError
from nmtlab.recipe import Recipe, RnnSettings, TransformerSettings, find_recipe, load_recipe, named_recipe, recipe_names
from nmtlab.recipe.migrate import SCHEMA, new_name

SECTIONS = {name: type(section) for name, section in Recipe() if isinstance(section, BaseModel)}
THESIS = [name for name in recipe_names() if name.startswith("thesis")]
TABLE_3_13 = {
    "postnorm": ("post", "layer", False),
    "prenorm": ("pre", "layer", False),
    "prenorm-fixnorm": ("pre", "layer", True),
    "prenorm-fixnorm-scalenorm": ("pre", "scale", True),
}
TABLE_3_17 = {
    "prenorm-fixnorm-rmsnorm": ("pre", "rms", True),
    "prenorm-fixnorm-scalenorm-fixed-g": ("pre", "scale", True),
}


@pytest.fixture
def written(tmp_path):
    """Write a TOML file and return its path."""

    def write(text: str):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def problem(call, *arguments) -> str:
    with pytest.raises(RecipeError) as caught:
        call(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


# Named recipes


@pytest.mark.parametrize("name", recipe_names())
def test_a_named_recipe_loads_and_says_in_a_line_what_it_is_for(name):
    recipe = named_recipe(name)
    assert recipe.about.endswith(".")
    assert "\n" not in recipe.about
    assert find_recipe(name) == recipe


@pytest.mark.parametrize("name", [name for name in recipe_names() if named_recipe(name).model.family == "transformer"])
def test_a_named_transformer_keeps_the_ratio_of_the_thesis(name):
    model = named_recipe(name).model
    assert model.d_ff == 4 * model.d_model


TABLE_3_6 = {
    "untied": {"tied": False},
    "tied": {},
    "fixnorm": {"fixnorm": True, "radius": 5.0},
    "fixnorm-free": {"fixnorm": True, "radius": 5.0, "fix_hidden": False},
    "fixnorm-lex": {"fixnorm": True, "radius": 3.5, "lexicon": "module"},
    "arthur": {"lexicon": "table"},
}


@pytest.mark.parametrize(("name", "choices"), TABLE_3_6.items())
def test_the_recurrent_systems_differ_in_what_thesis_3_2_compares_and_are_trained_as_it_says(name, choices):
    recipe, base, subwords = named_recipe(name), named_recipe("tied"), named_recipe(f"{name}-bpe")
    changes = {f"model.{field}": value for field, value in choices.items()}
    assert recipe == base.with_changes({**changes, "about": recipe.about})
    assert subwords.model == recipe.model
    training = recipe.training
    assert (training.optimiser, training.learning_rate, training.schedule) == ("adadelta", 1.0, "constant")
    assert (training.loss_reduction, training.clip_norm, training.batch_sentences, training.label_smoothing) == (
        "sum",
        5.0,
        32,
        0.0,
    )
    assert training.validate_every == 0  # dev BLEU after every pass over the text
    assert (recipe.search.beam_size, recipe.search.alpha, recipe.search.replace_unknown) == (12, 0.8, True)
    assert (recipe.text.segmentation, recipe.text.min_frequency, recipe.text.max_words) == ("word", 5, 50)
    assert (subwords.text.segmentation, subwords.text.unk_copy_threshold) == ("bpe", 2)
    assert 2 * subwords.training.max_evaluations == training.max_evaluations  # the copy halves the passes


def test_a_recipe_of_another_family_takes_nothing_of_its_bases_model(written):
    path = written('base = "prenorm"\n[model]\nfamily = "rnn"\nd_model = 64\n')
    assert load_recipe(path).model == RnnSettings(d_model=64)
    assert named_recipe("prenorm").with_changes({"model.family": "rnn", "model.d_model": 64}).model.d_model == 64


def test_a_family_that_there_is_not_is_named_with_those_there_are(written):
    path = written('[model]\nfamily = "lstm"\n')
    message = problem(load_recipe, path)
    assert str(path) in message
    assert "transformer, rnn, conv, bytenet, phrase" in message


@pytest.mark.parametrize(("name", "choices"), [*TABLE_3_13.items(), *TABLE_3_17.items()])
def test_the_systems_of_a_table_differ_in_what_the_table_compares_and_in_nothing_else(name, choices):
    recipe, base = named_recipe(name), named_recipe("transformer-small")
    assert (recipe.model.placement, recipe.model.norm, recipe.model.fixnorm) == choices
    assert recipe.model.g == ("fixed" if name.endswith("fixed-g") else "learned")
    compared = {f"model.{field}": getattr(base.model, field) for field in ("placement", "norm", "fixnorm", "g")}
    assert recipe.with_changes({**compared, "about": base.about}) == base


def test_the_recipes_of_the_thesis_have_its_sizes():
    assert set(THESIS) == {"thesis-ted", "thesis-ted-gl"}
    large, galician = named_recipe("thesis-ted"), named_recipe("thesis-ted-gl")
    for recipe in (large, galician):
        assert (recipe.model.d_model, recipe.model.d_ff) == (512, 2048)
        assert (recipe.model.placement, recipe.model.norm, recipe.model.fixnorm) == ("pre", "scale", True)
        assert recipe.model.init == "small"
        training = recipe.training
        assert (training.batch_tokens, training.warmup_updates, training.lr_scale) == (4096, 8000, 1.0)
        assert (training.label_smoothing, training.clip_norm) == (0.1, 1.0)
        assert (recipe.search.beam_size, recipe.search.alpha) == (4, 0.6)
        assert recipe.text.joint
        assert recipe.text.target_vocabulary_mask
    shapes = [(m.encoder_layers, m.decoder_layers, m.heads, m.dropout) for m in (large.model, galician.model)]
    assert shapes == [(6, 6, 8, 0.3), (4, 4, 4, 0.4)]
    assert [r.text.vocabulary_size for r in (large, galician)] == [8000, 3000]
    stopping = [(r.training.validate_every, r.training.max_evaluations, r.training.patience) for r in (large, galician)]
    assert stopping == [(1500, 200, 20), (100, 1000, 50)]


# Every field is explained


@pytest.mark.parametrize("section", SECTIONS)
def test_every_field_has_a_line_of_explanation(section):
    assert SECTIONS[section].__doc__
    for name, field in SECTIONS[section].model_fields.items():
        assert field.description, f"{section}.{name}"
        assert "\n" not in field.description, f"{section}.{name}"
        assert field.description.endswith("."), f"{section}.{name}"


def test_a_described_recipe_explains_every_field_above_it():
    lines = named_recipe("thesis-ted").described().splitlines()
    for section in SECTIONS.values():
        for name, field in section.model_fields.items():
            place = next(i for i, line in enumerate(lines) if line == f"# {field.description}")
            assert lines[place + 1].startswith(f"{name} = ")
    assert set(tomllib.loads("\n".join(lines))) == {"schema", "about", "more_corpora", *SECTIONS}


# Round trips


@pytest.mark.parametrize("name", recipe_names())
def test_a_recipe_comes_back_from_its_file_and_from_its_description(name, written, tmp_path):
    recipe = named_recipe(name)
    recipe.save(tmp_path / "saved.toml")
    assert load_recipe(tmp_path / "saved.toml") == recipe
    assert load_recipe(written(recipe.described())) == recipe


@given(about=st.text(), rate=st.floats(1e-9, 1e9), gamma=st.floats(-1e9, 1e9), joint=st.booleans(), size=st.integers(0))
def test_any_value_comes_back(tmp_path_factory, about, rate, gamma, joint, size):
    folder = tmp_path_factory.mktemp("recipe")
    changes = {
        "about": about, "training.lr_scale": rate, "search.gamma": gamma,
        "text.joint": joint, "training.seed": size % 2**64,
    }  # fmt: skip
    recipe = Recipe().with_changes(changes)
    recipe.save(folder / "a.toml")
    (folder / "b.toml").write_text(recipe.described(), encoding="utf-8", newline="")
    assert load_recipe(folder / "a.toml") == load_recipe(folder / "b.toml") == recipe


def test_a_recipe_names_several_corpora(written, tmp_path):
    text = '[corpus]\nname = "a"\n\n[[more_corpora]]\nname = "b"\nweight = 0.5\norigin = "web"\n'
    recipe = load_recipe(written(text))
    assert [(corpus.name, corpus.weight, corpus.origin) for corpus in recipe.corpora] == [
        ("a", 1, ""),
        ("b", 0.5, "web"),
    ]
    assert recipe == Recipe().with_settings(
        ["corpus.name=a", 'more_corpora=[{name = "b", weight = 0.5, origin = "web"}]']
    )
    recipe.save(tmp_path / "saved.toml")
    assert load_recipe(tmp_path / "saved.toml") == load_recipe(written(recipe.described())) == recipe
    assert recipe.fields()["more_corpora"][0]["origin"] == "web"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("weight = 0", "more_corpora.weight = 0 is not allowed; input should be greater than 0"),
        ("wieght = 1", "more_corpora.wieght: no such field; did you mean more_corpora.weight?"),
        ('origin = "<s>"', "more_corpora.origin = '<s>' is not allowed; string should match pattern '^[a-z0-9-]*$'"),
    ],
)
def test_a_bad_field_of_a_further_corpus_is_named(written, field, expected):
    path = written(f'[[more_corpora]]\nname = "b"\n{field}\n')
    assert problem(load_recipe, path) == f"{path}: {expected}"


def test_a_recipe_builds_on_a_named_one(written):
    path = written('base = "postnorm"\nabout = "mine"\n[model]\ndropout = 0.25\n[corpus]\nsource = "uz"\n')
    expected = named_recipe("postnorm").with_changes({"about": "mine", "model.dropout": 0.25, "corpus.source": "uz"})
    assert load_recipe(path) == expected
    assert find_recipe(str(path)) == expected


def test_without_a_base_what_is_not_said_is_the_default(written):
    assert load_recipe(written("[model]\ndropout = 0.25\n")) == Recipe().with_changes({"model.dropout": 0.25})


@pytest.mark.parametrize("name", ["/etc", "../x", "a/b", ".", "..", "a\\b", "a\nb", "a\0b", "a\x85b"])
def test_a_corpus_is_named_and_never_a_path(name, written):
    expected = f"corpus.name: {name!r} is not a folder name; give a name without slashes, not a path"
    assert problem(Recipe().with_changes, {"corpus.name": name}) == f"recipe: {expected}"
    path = written(Recipe().described().replace('name = ""', f"name = {json.dumps(name)}"))
    assert problem(load_recipe, path) == f"{path}: {expected}"


@pytest.mark.parametrize("name", ["", "a b", "...", "..a", "Größe (1)", "كتاب", "x" * 255])
def test_a_corpus_has_any_name_that_a_folder_can_have(name):
    assert Recipe().with_changes({"corpus.name": name}).corpus.name == name


def test_a_recipe_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Recipe().model.dropout = 0.5


# Changes


def test_settings_of_the_command_line_are_read_as_toml_values_or_as_plain_words():
    settings = ["model.norm=layer", "model.dropout = 0.25", "text.joint=false", 'corpus.name="a b"', "about=b c"]
    changed = Recipe().with_settings([*settings, "training.warmup_updates=1_000"])
    assert (changed.model.norm, changed.model.dropout, changed.text.joint) == ("layer", 0.25, False)
    assert (changed.corpus.name, changed.about, changed.training.warmup_updates) == ("a b", "b c", 1000)


def test_changes_leave_the_recipe_as_it_was_and_the_last_one_counts():
    recipe = Recipe()
    changed = recipe.with_settings(["model.heads=2", "model.heads=8"])
    assert (recipe.model.heads, changed.model.heads) == (TransformerSettings().heads, 8)


def test_choices_are_checked_together_not_one_by_one():
    changed = Recipe().with_settings(["model.heads=6", "model.d_model=12"])  # 6 does not divide the default width
    assert (changed.model.heads, changed.model.d_model) == (6, 12)


def test_a_phrase_based_system_has_no_limit_on_target_tokens():
    message = problem(named_recipe("moses").with_changes, {"text.max_target_tokens": 9})
    assert message.endswith("text.max_target_tokens limits neural training alone; set it to 0, or use text.max_words")


def test_only_a_neural_model_with_learned_subwords_or_words_writes_from_right_to_left():
    message = problem(named_recipe("moses").with_changes, {"text.reversed_target": True})
    assert message.endswith("text.reversed_target is for neural models alone; leave it out")
    imported = {"text.segmentation": "imported", "text.reversed_target": True}
    assert "an imported model writes from left to right" in problem(Recipe().with_changes, imported)


# Recipes of earlier versions


def test_a_recipe_without_a_schema_is_of_the_first_and_gets_the_names_of_today(written):
    text = "[text]\nmask_target = false\n\n[training]\nclip = 5.0\nloss = 'sum'\nwarmup = 7\n\n[search]\nlengths = 2\n"
    recipe = load_recipe(written(text))
    training = recipe.training
    assert (training.clip_norm, training.loss_reduction, training.warmup_updates) == (5.0, "sum", 7)
    assert (recipe.text.target_vocabulary_mask, recipe.search.length_candidates) == (False, 2)
    assert load_recipe(written(text.replace("warmup", "warmup_updates"))) == recipe


@pytest.mark.parametrize("folder", packed_folders(), ids=lambda folder: folder.name)
def test_every_recipe_of_the_gallery_means_what_it_meant(folder):
    then = tomllib.loads((folder / "recipe.toml").read_text(encoding="utf-8"))
    schema = then.pop("schema", 1)
    recipe = load_recipe(folder / "recipe.toml")
    for section in ("text", "training", "model", "search"):
        for name, value in then[section].items():
            now = (new_name(section, name) or name) if schema == 1 else name
            assert getattr(getattr(recipe, section), now) == value


def test_a_recipe_is_written_with_its_schema_in_which_old_names_are_mistakes(written, tmp_path):
    Recipe().save(tmp_path / "saved.toml")
    assert tomllib.loads((tmp_path / "saved.toml").read_text())["schema"] == SCHEMA
    message = problem(load_recipe, written(f"schema = {SCHEMA}\n[training]\nclip = 5.0\n"))
    assert message.endswith("training.clip: no such field; it is now called training.clip_norm")
    message = problem(load_recipe, written("[training]\nclip = 5.0\nclip_norm = 1.0\n"))
    assert message.endswith("training.clip: no such field; it is now called training.clip_norm")
    assert problem(Recipe().with_settings, ["training.rate_scale=2"]).endswith("it is now called training.lr_scale")


@pytest.mark.parametrize("schema", ["", "schema = 1\n", "schema = 2\n"])
def test_a_recipe_that_planned_lengths_before_the_third_version_keeps_its_length_model(schema, written):
    model = load_recipe(written(f"{schema}[model]\nplan_length = true\nd_model = 64\n")).model
    assert (model.length_input, model.length_output, model.d_model) == ("mean", "classifier", 64)
    model = load_recipe(written(f"{schema}[model]\nplan_length = true\nlength_output = 'mixture'\n")).model
    assert (model.length_input, model.length_output) == ("mean", "mixture")
    today = TransformerSettings()
    for text in (
        f"schema = {SCHEMA}\n[model]\nplan_length = true\n",
        f"{schema}base = 'planned'\n[model]\nd_model = 64\n",
        f"{schema}base = 'prenorm'\n[model]\nplan_length = true\n",
        f"{schema}[model]\nplan_length = false\n",
        f"{schema}[model]\nfamily = 'rnn'\n\n[text]\njoint = false\n",
    ):
        model = load_recipe(written(text)).model
        if model.family == "transformer":
            assert (model.length_input, model.length_output) == (today.length_input, today.length_output)
    assert (today.length_input, today.length_output) == ("counted-mean", "mixture")


@pytest.mark.parametrize("schema", ["99", "0", "true", "'2'", "1.5", "[]"])
def test_a_schema_that_is_not_known_is_an_error(schema, written):
    message = problem(load_recipe, written(f"schema = {schema}\n"))
    assert "update nmtlab" in message if schema == "99" else f"; write schema = {SCHEMA}" in message


# What is wrong is named, and what is right


SETTING_ERRORS = {
    "model.norm": "setting 'model.norm': no value; write it as section.field=value",
    "training.norm=scale": "recipe: training.norm: no such field; it belongs at model.norm",
    "norm=scale": "recipe: norm: no such field; it belongs at model.norm",
    "optimiser.clip_norm=1": "recipe: optimiser.clip_norm: no such field; it belongs at training.clip_norm",
    "model.drop_out=0.1": "recipe: model.drop_out: no such field; did you mean model.dropout?",
    "modle.dropout=0.1": "recipe: modle.dropout: no such field; it belongs at model.dropout",
    "machine.zzzzzzzzzzzzzzzzzzzz=1": "recipe: machine.zzzzzzzzzzzzzzzzzzzz: no such field; choose one of "
    "machine.device, machine.threads, machine.precision, machine.compile",
    "zzzzzzzzzz=1": "recipe: zzzzzzzzzz: no such field; choose one of about, corpus, more_corpora, text, model, "
    "transfer, training, search, machine",
    "zzzzzzzzzz.z=1": "recipe: zzzzzzzzzz.z: no such field; choose one of about, corpus, more_corpora, text",
    "model.norm=batch": "recipe: model.norm = 'batch' is not allowed; input should be 'layer', 'scale' or 'rms'",
    "model.dropout=1.0": "recipe: model.dropout = 1.0 is not allowed; input should be less than 1",
    "model.encoder_layers=0": "recipe: model.encoder_layers = 0 is not allowed; input should be greater than or equal "
    "to 1",
    "model.heads=two": "recipe: model.heads = 'two' is not allowed; input should be a valid integer",
    "model.heads=3": "recipe: model: heads is 3, which does not divide d_model 256; choose a divisor",
    "model.d_model=7": "recipe: model: d_model is 7 but must be even; choose 8",
    "training.lr_scale=inf": "recipe: training.lr_scale = inf is not allowed; input should be a finite number",
    "search.gamma=nan": "recipe: search.gamma = nan is not allowed; input should be a finite number",
    "model.encoder_layers=1000000": "recipe: model.encoder_layers = 1000000 is not allowed; input should be less "
    "than or equal to 1000",
    "model.d_model=100000000": "recipe: model.d_model = 100000000 is not allowed; input should be less than or",
    "search.beam_size=100000000": "recipe: search.beam_size = 100000000 is not allowed; input should be less than or",
    "machine.threads=100000": "recipe: machine.threads = 100000 is not allowed; input should be less than or equal to",
    "training.seed=999999999999999999999999999999": "recipe: training.seed = 999999999999999999999999999999 is not",
    "training.select_by=ter": "recipe: training.select_by = 'ter' is not allowed; input should be 'bleu', 'chrf' or "
    "'perplexity'",
    "training.optimiser=lion": "recipe: training.optimiser = 'lion' is not allowed; input should be 'adam', 'adamw', "
    "'adadelta', 'sgd' or 'nesterov'",
    "training.weight_decay=0.1": "recipe: training: weight_decay is of adamw, not of optimiser 'adam'; leave it out",
    "training.weight_decay=-1": "recipe: training.weight_decay = -1 is not allowed; input should be greater than or",
    "training.adam_beta1=1": "recipe: training.adam_beta1 = 1 is not allowed; input should be less than 1",
    "training.adam_beta2=nan": "recipe: training.adam_beta2 = nan is not allowed; input should be",
    "training.average=1.5": "recipe: training.average = 1.5 is not allowed; input should be less than 1",
    "training.keep_checkpoints=2.5": "recipe: training.keep_checkpoints = 2.5 is not allowed; input should be a valid",
    "text.vocabulary_size=3000000000": "recipe: text.vocabulary_size = 3000000000 is not allowed; input should be less",
    "model=3": "recipe: model = 3 is not allowed; input should be a valid dictionary",
}  # fmt: skip


@pytest.mark.parametrize("setting", SETTING_ERRORS)
def test_a_bad_setting_is_named_with_its_remedy(setting):
    assert problem(Recipe().with_settings, [setting]).startswith(SETTING_ERRORS[setting])


def test_what_only_some_optimisers_have_is_refused_with_others():
    message = problem(Recipe().with_settings, ["training.optimiser=sgd", "training.adam_beta1=0.8"])
    assert message == "recipe: training: adam_beta1 is of adam and adamw, not of optimiser 'sgd'; leave it out"
    adamw = Recipe().with_settings(["training.optimiser=adamw", "training.adam_beta1=0.8", "training.weight_decay=0.1"])
    assert adamw.training.weight_decay == 0.1


def test_a_fixed_g_needs_a_scale_norm():
    message = problem(Recipe().with_settings, ["model.g=fixed", "model.norm=layer"])
    assert message == "recipe: model: g is 'fixed' but norm is 'layer'; only norm 'scale' has a g to fix"


FILE_ERRORS = {
    "[trainning]\nseed = 2\n": "trainning: no such field; did you mean training?",
    "[model]\nheads = '2'\n": "model: heads = '2' is text; write it without quotation marks",
    "[model]\nnrom = 'layer'\n": "model.nrom: no such field; did you mean model.norm?",
    "[model]\nwarmup_updates = 3\n": "model.warmup_updates: no such field; it belongs at training.warmup_updates",
    "[network]\nnorm = 'layer'\n": "network: no such field",
    "[model]\nnorm = 'batch'\n": "model.norm = 'batch' is not allowed; input should be 'layer', 'scale' or 'rms'",
    "[model]\nheads = 3\n": "model: heads is 3, which does not divide d_model 256; choose a divisor",
    "model = 3\n": "model = 3 is not allowed; input should be a valid dictionary",
    "[about]\nwhat = 'x'\n": "about = {'what': 'x'} is not allowed; input should be a valid string",
    "[model\n": "not TOML (",
    "x = " + "[" * 50_000: "brackets or tables nested too deeply; a recipe needs no nesting",
}


@pytest.mark.parametrize("text", FILE_ERRORS)
@pytest.mark.parametrize("base", ["", 'base = "thesis-ted"\nmachine.threads = 1\n'], ids=["alone", "on a base"])
def test_a_mistake_in_a_file_is_named_with_the_file_and_a_remedy(text, base, written):
    text = base + text
    message = problem(load_recipe, written(text))
    expected = FILE_ERRORS[text.removeprefix(base)].replace("d_model 256", "d_model 512" if base else "d_model 256")
    assert message.startswith(str(written(text)))
    assert expected in message


def test_a_line_that_is_not_toml_is_named_by_its_number(written):
    message = problem(load_recipe, written("[model]\nnorm = \n"))
    assert "line 2" in message
    assert message.endswith("; fix that line")


@pytest.mark.parametrize("base", ["'no-such'", "3", "['postnorm']"])
def test_a_base_that_is_not_there_is_an_error(base, written):
    assert "'nmtlab recipes list' shows them all" in problem(load_recipe, written(f"base = {base}\n"))


def test_an_unknown_recipe_is_named_with_the_nearest_known_one():
    message = problem(named_recipe, "prenrom")
    assert message == "recipe 'prenrom': unknown; did you mean 'prenorm'? 'nmtlab recipes list' shows them all"
    assert problem(find_recipe, "zzzz") == "recipe 'zzzz': unknown; 'nmtlab recipes list' shows them all"
    assert "unknown" in problem(find_recipe, "../named/postnorm")


def test_a_file_that_cannot_be_read_is_an_error_with_a_remedy(tmp_path):
    missing, folder, latin = tmp_path / "a.toml", tmp_path / "b.toml", tmp_path / "c.toml"
    folder.mkdir()
    latin.write_bytes('about = "caf\xe9"'.encode("latin-1"))
    for path in (missing, folder, latin):
        message = problem(find_recipe, str(path))
        assert message.startswith(f"recipe {path}: cannot be read (")
        assert message.endswith("; give the path of a TOML file")


def test_numbers_that_are_no_numbers_are_refused_in_every_section():
    for section, settings in SECTIONS.items():
        for name, field in settings.model_fields.items():
            if field.annotation is float:
                for value in (math.nan, math.inf, -math.inf):
                    assert f"{section}.{name} = " in problem(Recipe().with_changes, {f"{section}.{name}": value})


@pytest.mark.parametrize("code", ["../x", "d/e", "de\n", "d", "de en", "0"])
def test_a_language_that_is_no_code_is_refused(code):
    with pytest.raises(RecipeError, match=r"corpus\.source"):
        Recipe().with_changes({"corpus.source": code})
    for allowed in ("", "uz", "pt-BR", "zh_CN", "uz-Cyrl"):
        assert Recipe().with_changes({"corpus.source": allowed}).corpus.source == allowed


def test_a_tag_for_the_decoder_needs_a_transformer():
    message = problem(named_recipe("tied-bpe").with_changes, {"text.target_tag": "decoder"})
    assert "choose 'source'" in message
    assert named_recipe("many-shared").with_changes({"text.target_tag": "decoder"}).text.target_tag == "decoder"
