"""What verbs print with `--json` is what the classes that describe it say."""

import math
import shutil

import numpy as np
import pytest
import torch
from support.foreign_models import marian
from support.packed import link_packed

from nmtlab.cli.answer import Answer, declared_answers
from nmtlab.cli.corpus import CorporaListed, CorpusStatistics
from nmtlab.cli.corpus_seen import CorpusSeen
from nmtlab.cli.runs import RunShown
from nmtlab.cli.runs_list import RunsListed
from nmtlab.cli.translated import TranslatedLine
from nmtlab.interchange.huggingface import import_model
from nmtlab.runs.log import write_log
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.vocabulary import EOS, UNK
from nmtlab.workspace import Workspace

TEXT = "ein Hund singt\n\nein Kind sieht einen Hund\n"


def valid(said, kind: type[Answer]) -> Answer:
    """Return the answer that a verb has printed; its class refuses unknown and missing fields."""
    assert (said.code, said.err) == (0, "")
    return kind.model_validate_json(said.out, strict=True)


def valid_lines(said) -> list[TranslatedLine]:
    assert (said.code, said.err) == (0, "")
    return [TranslatedLine.model_validate_json(line, strict=True) for line in said.out.splitlines()]


@pytest.fixture
def diverged(data, learned) -> Run:
    """A run without an evaluation, whose loss was not finite."""
    folder = shutil.copytree(learned.folder, data / "runs/diverged", ignore=shutil.ignore_patterns("checkpoints"))
    nothing = {"loss": math.nan, "terms": {"cross_entropy": math.nan}, "perplexity": math.nan, "seconds": 1.0}
    end = {"kind": "end", "step": 10, "status": "diverged", "seconds": 1.0}
    write_log(folder / "metrics.jsonl", [{"kind": "train", "step": 10, **nothing}, end])
    return Run(folder)


def test_every_field_of_an_answer_is_explained():
    assert {RunsListed, RunShown, CorporaListed, CorpusStatistics, CorpusSeen, TranslatedLine} <= {*declared_answers()}
    for kind in declared_answers():
        assert kind.__doc__, kind
        for name, field in kind.model_fields.items():
            assert field.description, f"{kind.__name__}.{name}"


def test_an_empty_workspace_is_empty_lists(nmtlab, data, monkeypatch):
    shutil.rmtree(data)
    monkeypatch.delenv("NMTLAB_CORPORA")
    assert valid(nmtlab("runs", "list", "--json"), RunsListed) == RunsListed(runs=[], packed_runs=0, damaged={})
    assert valid(nmtlab("corpus", "list", "--json"), CorporaListed) == CorporaListed(corpora=[])


def test_runs_are_listed_with_their_scores_or_why_they_have_none(nmtlab, data, learned, diverged):
    link_packed("small-tr-en.tied.s1", Workspace(data))
    (data / "runs/damaged").mkdir()
    found = valid(nmtlab("runs", "list", "--packed", "--json"), RunsListed)
    own = valid(nmtlab("runs", "list", "--json"), RunsListed)
    assert (own.packed_runs, own.runs, own.damaged) == (found.packed_runs, found.runs[:2], found.damaged)
    assert found.packed_runs == 1
    assert {run.name: (run.status, run.packed) for run in found.runs} == {
        "whole": ("finished", False), "diverged": ("diverged", False), "small-tr-en.tied.s1": ("finished", True),
    }  # fmt: skip
    whole, unscored = (next(run for run in found.runs if run.name == name) for name in ("whole", "diverged"))
    assert whole.dev_bleu == learned.checkpoints.best_bleu
    assert whole.updates == learned.log.last_step
    assert [(text.name, text.source, text.target) for text in whole.texts] == [("tiny", "de", "en")]
    assert (unscored.dev_bleu, unscored.missing) == (None, {"dev_bleu": "not evaluated on dev"})
    assert list(found.damaged) == ["damaged"]
    assert "nmtlab runs remove damaged" in found.damaged["damaged"]


def test_a_run_is_shown_as_its_log_has_it(nmtlab, learned):
    shown = valid(nmtlab("runs", "show", "whole", "--json"), RunShown)
    logged = learned.log.metrics("validation")
    assert [(one.step, one.bleu, one.perplexity, one.seconds) for one in shown.evaluations] == list(
        logged[["step", "bleu", "perplexity", "seconds"]].itertuples(index=False, name=None)
    )
    assert [(one.direction, one.dev_bleu) for one in shown.directions] == [("de-en", learned.checkpoints.best_bleu)]
    loss = shown.loss_terms.pop("loss")
    assert sum(shown.loss_terms.values()) == pytest.approx(loss, abs=1e-4)
    assert shown.recipe == learned.recipe.model_dump(mode="json")
    assert shown.environment == learned.environment
    assert shown.missing == {"inheritance": "trained without a parent"}


def test_a_run_that_diverged_has_reasons_for_what_is_not_finite(nmtlab, diverged):
    shown = valid(nmtlab("runs", "show", "diverged", "--json"), RunShown)
    assert (shown.status, shown.updates, shown.evaluations, shown.loss_terms) == ("diverged", 10, [], None)
    assert shown.missing.keys() == {"dev_bleu", "loss_terms", "inheritance"}
    assert "not finite" in shown.missing["loss_terms"]


def test_a_packed_run_says_what_it_cannot_do(nmtlab, data):
    link_packed("small-tr-en.tied.s1", Workspace(data))
    shown = valid(nmtlab("runs", "show", "small-tr-en.tied.s1", "--json"), RunShown)
    assert shown.limitations.startswith("packed with")
    assert shown.dev_bleu > 0


@pytest.mark.full
def test_an_imported_run_has_no_scores_and_translates(nmtlab, data, tiny_corpus, tmp_path):
    pytest.importorskip("transformers", reason="it makes the folder")
    marian(tmp_path / "opus", [list(tiny_corpus.lines("train", code)) for code in ("de", "en")])
    import_model(tmp_path / "opus", "opus", Workspace(data), ["de"], ["en"])
    shown = valid(nmtlab("runs", "show", "opus", "--json"), RunShown)
    assert (shown.status, shown.updates, shown.dev_bleu, shown.evaluations) == ("imported", 0, None, [])
    assert shown.limitations.startswith("imported from opus")
    listed = valid(nmtlab("runs", "list", "--json"), RunsListed)
    assert next(run.status for run in listed.runs if run.name == "opus") == "imported"
    for line in valid_lines(nmtlab("translate", "opus", "--json", "--token-scores", "--top", 2, stdin=TEXT)):
        for one in line.translations if line.source else []:
            assert sum(one.tokens.log_probs) == pytest.approx(one.log_prob, abs=1e-4)
    said = nmtlab("translate", "opus", "--alignments", "aligner", stdin=TEXT)
    assert "run 'opus' has no training text from de to en; use --alignments attention" in said.err


def test_the_statistics_of_a_corpus_are_those_of_its_table(nmtlab):
    found = valid(nmtlab("corpus", "stats", "tiny", "--json"), CorpusStatistics)
    header, *rows = nmtlab("corpus", "stats", "tiny", "--csv").out.splitlines()
    assert (found.name, found.source, found.target, len(found.sides)) == ("tiny", "de", "en", len(rows))
    for side, row in zip(found.sides, rows, strict=True):
        for name, text in zip(header.split(","), row.split(","), strict=True):
            value = getattr(side, name)
            assert str(value) == text if text else value is None and side.missing[name]


def test_how_a_run_sees_a_text_is_counted(nmtlab, data, tiny_corpus):
    folder = data / "corpora/odd"
    folder.mkdir(parents=True)
    lines = [*tiny_corpus.lines("train", "de")]
    write_lines(folder / "train.de", [f"{line} ѫѫ ǂ" for line in lines])
    write_lines(folder / "train.xx", lines)
    run = Run(data / "runs/whole")
    found = valid(nmtlab("corpus", "stats", "odd", "--with", "whole", "--target", "xx", "--json"), CorpusSeen)
    source, target = found.sides
    ids = run.pipeline.encode_source([*(folder / "train.de").read_text(encoding="utf-8").splitlines()])
    tokens = [number for row in ids for number in row[:-1]]
    assert (source.tokens, source.words) == (len(tokens), sum(len(line.split()) + 2 for line in lines))
    assert source.unknown == pytest.approx(tokens.count(UNK) / len(tokens))
    assert {word: source.unknown_words[word] for word in ("ѫѫ", "ǂ")} == {"ѫѫ": len(lines), "ǂ": len(lines)}
    assert source.letters == ({} if run.recipe.text.segmentation == "word" else {"ѫ": 2 * len(lines), "ǂ": len(lines)})
    assert (source.language_known, target.language_known) == (True, False)
    written = np.flatnonzero(run.pipeline.target_allowed)
    read = [number for row in run.pipeline.encode_target(lines) for number in row[:-1]]
    assert target.unwritten == pytest.approx(1 - np.isin(read, written).mean())
    said = nmtlab("corpus", "stats", "odd", "--with", "whole", "--target", "xx").out
    assert "xx: not a language that whole writes" in said
    assert "de: words that become UNK: " in said
    assert "mutually exclusive" in nmtlab("corpus", "stats", "odd", "--with", "whole", "--csv").err


def test_corpora_are_listed_with_what_they_lack(nmtlab, data):
    write_lines(data / "corpora/bit/train.xx", ["a", "b"])
    bit, tiny = valid(nmtlab("corpus", "list", "--json"), CorporaListed).corpora
    assert (bit.name, bit.languages, bit.train, bit.dev) == ("bit", ["xx"], 2, None)
    assert bit.missing == {"dev": "no such text", "test": "no such text"}
    assert (tiny.name, tiny.languages, tiny.train) == ("tiny", ["de", "en"], 300)


def test_translations_are_those_of_the_text_with_a_line_for_each_line(nmtlab):
    lines = valid_lines(nmtlab("translate", "whole", "--n-best", 2, "--json", stdin=TEXT))
    assert [(line.line, line.source) for line in lines] == list(enumerate(TEXT.splitlines(), start=1))
    rows = nmtlab("translate", "whole", "--n-best", 2, "--scores", stdin=TEXT).out.splitlines()
    assert rows == [
        f"{line.line}\t{one.score or 0:.4f}\t{one.log_prob or 0:.4f}\t{one.text}"
        for line in lines
        for one in line.translations
    ]
    assert {line.engine for line in lines} == {"nmtlab"}
    (blank,) = lines[1].translations
    assert (blank.text, blank.score, blank.finished) == ("", None, None)
    assert blank.missing["score"] == "the line is blank"


def test_the_engine_that_has_translated_is_a_field(nmtlab):
    lines = valid_lines(nmtlab("translate", "whole", "--beam", 1, "--json", stdin=TEXT))
    assert {line.engine for line in lines} == {"ctranslate2"}


def test_json_goes_to_a_file_too(nmtlab, tmp_path):
    nmtlab("translate", "whole", "--json", "--output", tmp_path / "found.jsonl", stdin=TEXT)
    written = (tmp_path / "found.jsonl").read_text(encoding="utf-8")
    assert written == nmtlab("translate", "whole", "--json", stdin=TEXT).out


@pytest.mark.parametrize(
    "how", [(), ("--n-best", 2), ("--samples", 3), ("--groups", 2), ("--with", "whole"), ("--beam", 1)]
)
def test_log_probabilities_of_tokens_add_up_to_that_of_the_translation(nmtlab, how):
    lines = valid_lines(nmtlab("translate", "whole", "--json", "--token-scores", *how, stdin=TEXT))
    found = [one for line in lines for one in line.translations if line.source]
    assert len(found) >= 2
    for one in found:
        assert len(one.tokens.pieces) == len(one.tokens.log_probs) == len(one.tokens.entropies)
        assert sum(one.tokens.log_probs) == pytest.approx(one.log_prob, abs=1e-4)
        assert one.tokens.missing == {"alternatives": "without --top"}


def test_tokens_of_a_given_beginning_are_scored_too(nmtlab, tmp_path):
    write_lines(tmp_path / "begun", ["child sees", "", ""])
    how = ("--prefix", tmp_path / "begun", "--json", "--top", 1)
    (first, *_) = valid_lines(nmtlab("translate", "whole", *how, stdin=TEXT))
    (found,) = first.translations
    assert found.tokens.pieces[:2] == ["child", "sees"]
    assert sum(found.tokens.log_probs) == pytest.approx(found.log_prob, abs=1e-4)
    assert found.tokens.pieces[0] not in found.tokens.alternatives[0]


@torch.no_grad()
def test_entropies_and_alternatives_are_those_of_the_model_in_double_precision(nmtlab, learned):
    (line,) = valid_lines(nmtlab("translate", "whole", "--json", "--top", 3, stdin=TEXT.splitlines()[0]))
    (found,) = line.translations
    translator = open_model(learned)
    model, pipeline = translator.model.double(), translator.pipeline
    types = pipeline.target.vocabulary.types
    ids = [types.index(piece) for piece in found.tokens.pieces]
    assert ids == [*translator.translate([line.source])[0].hypotheses[0].tokens, EOS]
    state = model.start(model.encode(torch.tensor([pipeline.source_ids(line.source)])))
    before = torch.tensor([[1]])
    for place, token in enumerate(ids):
        step = model.step(state, before)
        p, state, before = step.log_probs[0, 0].exp(), step.state, torch.tensor([[token]])
        assert found.tokens.entropies[place] == pytest.approx(-(p * p.log()).sum().item(), abs=1e-4)
        best = [types[state.output_ids[column]] for column in p.sort(descending=True).indices[:3]]
        assert list(found.tokens.alternatives[place]) == best


def test_links_are_between_the_words_that_are_named(nmtlab):
    attended = valid_lines(nmtlab("translate", "whole", "--json", "--alignments", "attention", stdin=TEXT))
    for line in attended:
        (one,) = line.translations
        assert one.links.by == "attention"
        assert one.links.source_words == line.source.split()
        assert one.links.words == one.text.split()
        links = [tuple(map(int, link.split("-"))) for link in one.links.alignment.split()]
        assert sorted(target for _, target in links) == list(range(len(one.links.words)))
        assert all(source < len(one.links.source_words) for source, _ in links)


def test_an_aligner_links_the_words_of_a_dictionary(nmtlab):
    text = "hund katze berg\n\nfluss kind und haus\n"
    printed = nmtlab("translate", "whole", "--alignments", "aligner", stdin=text)
    assert printed.code == 0, printed.err
    first, blank, second = (line.split("\t") for line in printed.out.splitlines())
    assert blank == ["", ""]
    assert (first, second) == (["dog cat mountain", "0-0 1-1 2-2"], ["river child and house", "0-0 1-1 2-2 3-3"])
    lines = valid_lines(nmtlab("translate", "whole", "--alignments", "aligner", "--json", stdin=text))
    assert [line.translations[0].links.alignment for line in lines] == [first[1], "", second[1]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--token-scores"], "--token-scores: belongs to --json; add --json, or leave it out"),
        (["--top", "3"], "--top: belongs to --json"),
        (["--json", "--top", "3", "--engine", "ctranslate2"], "--top: CTranslate2 shows neither attention nor"),
        (["--alignments", "attention", "--engine", "ctranslate2"], "--alignments attention: CTranslate2 shows neither"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_line(nmtlab, options, said):
    found = nmtlab("translate", "whole", *options, stdin=TEXT)
    assert found.code == 2
    assert said in found.err
    assert len(found.err.strip().splitlines()) == 1


def test_a_run_without_attention_refuses_alignments_by_it_by_name(nmtlab, data):
    link_packed("toy-copy.no-attention.s1", Workspace(data))
    said = nmtlab("translate", "toy-copy.no-attention.s1", "--alignments", "attention", stdin=TEXT)
    assert said.code == 2
    assert said.err.startswith("nmtlab: run 'toy-copy.no-attention.s1': it has no attention; choose a run whose model")


@pytest.mark.parametrize("option", ["--token-scores", "--alignments attention"])
def test_a_phrase_based_run_refuses_what_it_cannot_show_by_name(nmtlab, data, option):
    link_packed("small-tr-en.moses", Workspace(data))
    said = nmtlab("translate", "small-tr-en.moses", "--json", *option.split(), stdin=TEXT)
    assert said.code == 2
    assert said.err.startswith(f"nmtlab: {option}: run 'small-tr-en.moses' is phrase-based, without attention")
