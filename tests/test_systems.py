"""Any run opens as a translation system, and opening it changes nothing else."""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.packed import packed_folder

import nmtlab
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.baselines.translator import PhraseTranslator
from nmtlab.errors import RunError
from nmtlab.recipe import MachineSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_ensemble, open_model, open_system
from nmtlab.training.setup import train
from nmtlab.translation import System, Translator

PACKAGE = Path(nmtlab.__file__).parent


@pytest.fixture
def copied(trained, tmp_path) -> Run:
    return Run(shutil.copytree(trained[0].folder, tmp_path / "copied"))


def test_a_run_is_opened_with_the_readers_threads_and_not_its_own(copied):
    recipe = copied.recipe.with_changes({"machine.threads": 1})
    recipe.save(copied.folder / "recipe.toml")
    torch.set_num_threads(2)
    try:
        open_system(Run(copied.folder))
        assert torch.get_num_threads() == 2
        open_system(Run(copied.folder), machine=MachineSettings(threads=1))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_run_that_was_trained_on_a_gpu_opens_where_there_is_none(copied):
    recipe = copied.recipe.with_changes({"machine.device": "cuda"})
    recipe.save(copied.folder / "recipe.toml")
    assert open_system(Run(copied.folder)).translate(["ein hund"])[0].text


# What a system can do


def test_a_neural_run_opens_as_a_system_with_a_model_that_lacks_nothing(copied):
    system = open_system(copied)
    assert system.languages == ("de", "en")
    assert system.limitations == ""
    assert system.model.language_codes == (("de",), ("en",))
    assert not any(weight.requires_grad for weight in system.model.parameters())


@pytest.mark.full
def test_a_phrase_based_run_opens_as_a_system_that_says_what_it_lacks(tiny_corpus, workspace):
    recipe = named_recipe("moses").with_changes({"model.tuning_evaluations": 0})
    run = train("phrases", recipe, tiny_corpus, workspace)
    system = open_system(run)
    assert (system.languages, system.model) == (("de", "en"), None)
    assert system.translate(["ein hund"])[0].text == "one dog"
    assert system.limitations == "a phrase-based system has no decoder to inspect"
    for needs_a_model in (open_model, lambda run: open_ensemble([run]), NORMS_BY_FREQUENCY.of):
        with pytest.raises(RunError, match=f"run 'phrases': {system.limitations}; choose a transformer or an rnn"):
            needs_a_model(run)


def test_what_a_system_is_asked_for_is_a_protocol_that_both_kinds_keep():
    for kind in (Translator, PhraseTranslator):
        assert set(inspect.signature(System.translate).parameters) <= set(inspect.signature(kind.translate).parameters)
        assert isinstance(kind.languages, property)
        assert isinstance(kind.limitations, str | property)


def test_no_file_but_its_own_asks_for_the_name_of_a_family_without_a_model():
    asked = [path for path in PACKAGE.rglob("*.py") if re.search(r"""family\s*[!=]=\s*["']phrase""", path.read_text())]
    assert asked == []


@pytest.mark.full
def test_translation_loads_neither_training_nor_torchs_symbolic_algebra():
    """Torch imports the latter, which takes a second, to draw random numbers on the device `meta`."""
    program = (
        "import sys; from pathlib import Path; import nmtlab.cli.translate; from nmtlab.runs.run import Run; "
        "from nmtlab.systems import open_model; "
        f"system = open_model(Run(Path({str(packed_folder('multi30k-de-en.small'))!r})))\n"
        "print(system.translate(['Ein Hund.'])[0].text)\n"
        "print(sorted({'nmtlab.training', 'sympy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["A dog.", "[]"]
