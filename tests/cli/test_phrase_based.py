"""A phrase-based system goes through the same commands as any other."""

import pytest

from nmtlab.text.corpora.lines import write_lines


@pytest.mark.full
def test_it_is_trained_listed_evaluated_compared_and_translated_with(nmtlab, data, tiny_corpus, tiny_recipe, tmp_path):
    corpus = str(tiny_corpus.folder)
    recipe = tmp_path / "quick.toml"
    recipe.write_text('base = "moses"\n[model]\ntuning_evaluations = 8\n', encoding="utf-8")
    trained = nmtlab("train", corpus, "--recipe", str(recipe), "--name", "phrases")
    assert trained.code == 0, trained.err
    assert "run phrases: finished" in trained.out
    assert "phrases" in nmtlab("runs", "list").out
    evaluated = nmtlab("evaluate", "phrases", "--corpus", corpus)
    assert evaluated.code == 0, evaluated.err
    bleu = float(next(line.split()[1] for line in evaluated.out.splitlines() if line.startswith("BLEU")))
    assert bleu > 80  # word for word, with a dictionary that is known
    assert "perplexity" not in evaluated.out
    (tmp_path / "unseen").mkdir()
    for language in ("de", "en"):
        write_lines(tmp_path / "unseen" / f"test.{language}", tiny_corpus.lines("test", language))
    triplets = nmtlab("corpus", "triplets", "edits", "--run", "phrases", "--corpus", str(tmp_path / "unseen"))
    assert triplets.code == 0, triplets.err
    tiny_recipe.save(tmp_path / "neural.toml")
    nmtlab("train", corpus, "--recipe", str(tmp_path / "neural.toml"), "--name", "neural")
    compared = nmtlab("compare", "phrases", "neural", "--corpus", corpus)
    assert compared.code == 0, compared.err
    assert "neural" in compared.out


def test_what_it_cannot_do_is_said_in_a_line(nmtlab, data, tiny_corpus):
    corpus = str(tiny_corpus.folder)
    for words in (("--estimate",), ("--resume", "--name", "phrases")):
        said = nmtlab("train", corpus, "--recipe", "moses", *words)
        assert said.code == 2
        assert said.err.startswith("nmtlab: ")
        assert said.err.count("\n") == 1
