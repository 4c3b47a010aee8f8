"""Files of translations and references, scored without a workspace; scores and labels from elsewhere."""

import csv
import io
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Said

from nmtlab.cli.compare import Comparison
from nmtlab.cli.evaluate import Evaluation
from nmtlab.evaluation import scores

WORDS = "the a cat dog sat ran on under mat tree big red house now here".split()
GENERATOR = random.Random(3)
REFERENCE = [" ".join(GENERATOR.choices(WORDS, k=GENERATOR.randint(4, 9))) + "." for _ in range(40)]


def corrupted(lines: list[str], share: float) -> list[str]:
    return [
        " ".join(GENERATOR.choice(WORDS) if GENERATOR.random() < share else word for word in line.split())
        for line in lines
    ]


OTHER, WORSE, BETTER = (corrupted(REFERENCE, share) for share in (0.3, 0.6, 0.1))
FILES = {"ref.en": REFERENCE, "other.en": OTHER, "a.txt": WORSE, "b.txt": BETTER}
NUMBERS = ["line\ta.txt\tb.txt", *(f"{line}\t{line % 3 / 10}\t{line % 5 / 10}" for line in range(1, 41))]
COMPARE = ("compare", "--reference", "ref.en", "a.txt", "b.txt", "--samples", 100)


def write(**files: list[str]) -> None:
    for name, lines in files.items():
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def call(tmp_path, monkeypatch, called) -> Callable[..., Said]:
    """Call the command in a folder with the files alone, where nothing names a workspace."""
    for name in ("NMTLAB_DATA", "NMTLAB_CORPORA"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    write(**FILES)
    return called


def compared(said: Said) -> Comparison:
    assert said.code == 0, said.err
    return Comparison.model_validate_json(said.out)


def evaluated(said: Said) -> Evaluation:
    assert said.code == 0, said.err
    return Evaluation.model_validate_json(said.out)


def test_files_and_a_reference_are_compared_and_nothing_is_left_behind(call):
    said = call(*COMPARE, "--html", "../compared.html")
    assert said.code == 0, said.err
    assert sorted(path.name for path in Path().iterdir()) == sorted(FILES)
    assert "BLEU on ref.en, into en" in said.out
    assert "b.txt against a.txt: better in BLEU, chrF, chrF++, tokenized BLEU" in said.out
    page = Path("../compared.html").read_text(encoding="utf-8")
    assert "<title>b.txt against a.txt · nmtlab</title>" in page
    assert "Words are counted in the reference." in page
    assert "Which words are right, by frequency in the reference" in page
    assert "<th>source</th>" not in page
    assert "src=" not in page.split("<script>")[0]  # it stands alone


def test_the_page_shows_a_source_and_counts_words_in_a_given_text(call):
    write(**{"src.tr": [f"kaynak {number}" for number in range(40)], "mono.en": ["the cat"] * 5})
    words = ("--source-text", "src.tr", "--frequency-text", "mono.en", "--html", "out.html", "--json")
    found = compared(call(*COMPARE, *words))
    assert (found.source, found.target, found.text, found.sentences) == ("tr", "en", "ref.en", 40)
    page = Path("out.html").read_text(encoding="utf-8")
    assert "kaynak 7" in page
    assert "Words are counted in mono.en." in page


def test_intervals_are_those_of_sacrebleus_command_with_several_references(call):
    found = evaluated(call("evaluate", "a.txt", "--reference", "ref.en", "--reference", "other.en", "--ter", "--json"))
    words = ("ref.en", "other.en", "-i", "a.txt", "-m", "bleu", "chrf", "ter", "--confidence", "--format", "json")
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *words, "-w", "6"], capture_output=True, text=True, check=True
    )
    for theirs, ours in zip(json.loads(done.stdout), (found.bleu, found.chrf, found.ter), strict=True):
        assert ours.signature == theirs["signature"]
        numbers = (theirs["score"], theirs["confidence_mean"], theirs["confidence_var"])
        assert (ours.score, ours.mean, ours.margin) == pytest.approx(numbers, abs=2e-6)
    assert found.text == "ref.en and other.en"
    assert found.ter.better == "lower"
    assert set(found.missing) == {"source", "spbleu", "perplexity", "unknown_tokens", "word_ceiling"}


def test_lower_ter_wins(call):
    found = compared(call(*COMPARE, "--ter", "--json"))
    worse, better = found.ter
    assert (worse.difference, worse.missing["p"]) == (None, "it is the first system")
    assert better.difference < 0
    assert better.p < 0.05
    said = call(*COMPARE, "--ter")
    assert "TER (lower is better)" in said.out
    assert "b.txt against a.txt: better in BLEU, chrF, chrF++, TER, tokenized BLEU" in said.out


@pytest.mark.parametrize(
    ("ending", "line", "missing"),
    [
        ("zho_Hans", "他有一只黑色的猫，很好。", {"tokenized_bleu"}),
        ("ja", "彼は英語を話します。", {"tokenized_bleu"}),
        ("th", "เขามีแมวสีดำตัวหนึ่งซึ่งดีมาก", {"tokenized_bleu", "ter"}),
    ],
)
def test_text_without_spaces_between_words_lacks_what_needs_words(call, ending, line, missing):
    write(**{f"ref.{ending}": [line] * 5, "c.txt": [line[1:]] * 5})
    words = ("evaluate", "c.txt", "--reference", f"ref.{ending}", "--ter")
    found = evaluated(call(*words, "--json"))
    reason = f"the text in {ending} has no spaces between words"
    assert {name for name, why in found.missing.items() if why == reason} == missing
    assert found.ter is None or 0 < found.ter.score < 40
    assert "tokenized BLEU     n/a  " + reason in call(*words).out


def test_blank_lines_are_scored_and_marks_and_carriage_returns_are_not(call):
    lines = ["", *REFERENCE[1:-1], ""]
    write(**{"ref.en": lines, "b.txt": ["", *BETTER[1:]]})
    plain = compared(call(*COMPARE, "--json"))
    for name in ("ref.en", "a.txt", "b.txt"):
        Path(name).write_bytes(b"\xef\xbb\xbf" + Path(name).read_bytes().replace(b"\n", b"\r\n"))
    assert compared(call(*COMPARE, "--json")) == plain
    assert plain.bleu[1].score < 100


def test_scores_of_sentences_from_a_table_are_compared_like_our_own(call):
    write(**{"comet.tsv": NUMBERS})
    words = (
        *COMPARE,
        "--segment-scores",
        "comet.tsv",
        "--segment-scores",
        "Marks=comet.tsv",
        "--lower-is-better",
        "Marks",
    )
    found = compared(call(*words, "--json", "--html", "out.html"))
    first, second = found.segment_scores["comet"]
    assert first.score == pytest.approx(sum(line % 3 / 10 for line in range(1, 41)) / 40)
    assert second.difference == pytest.approx(sum(line % 5 / 10 for line in range(1, 41)) / 40 - first.score)
    assert second.p < 0.05
    assert found.segment_scores["Marks"][1].better == "lower"
    page = Path("out.html").read_text(encoding="utf-8")
    won = sum(line % 5 > line % 3 for line in range(1, 41))
    lost = sum(line % 5 < line % 3 for line in range(1, 41))
    assert f"b.txt against a.txt: {won} sentences won, {40 - won - lost} ties (equal comet), {lost} lost." in page
    assert f"b.txt against a.txt: {lost} sentences won, {40 - won - lost} ties (equal Marks), {won} lost." in page
    assert "<h3>Sentences by comet</h3>" in page
    said = call(*words)
    assert "better in BLEU, chrF, chrF++, tokenized BLEU, comet; worse in Marks" in said.out
    alone = evaluated(call("evaluate", "a.txt", "--reference", "ref.en", *words[7:], "--json"))
    assert alone.segment_scores["comet"].score == first.score
    assert alone.segment_scores["comet"].margin == pytest.approx(first.margin, rel=0.3)  # of more samples


def test_what_comet_score_writes_is_read(call):
    made = {f"out/{name}": [{"mt": "x", "COMET": score}] * 40 for name, score in (("a.txt", 0.5), ("b.txt", 0.75))}
    Path("comet.json").write_text(json.dumps(made, indent=4))
    found = compared(call(*COMPARE, "--segment-scores", "comet.json", "--json"))
    assert [one.score for one in found.segment_scores["comet"]] == [0.5, 0.75]


def test_sentences_are_scored_by_their_labels(call):
    write(labels=["news", "chat", "chat", "chat"] * 10, **{"comet.tsv": NUMBERS})
    words = (*COMPARE, "--labels", "labels", "--segment-scores", "comet.tsv")
    found = compared(call(*words, "--json", "--html", "out.html"))
    assert [(one.label, one.sentences) for one in found.labels] == [("chat", 30), ("news", 10)]
    write(**{name: FILES[name][::4] for name in ("ref.en", "a.txt", "b.txt")})
    news = compared(call(*COMPARE, "--json"))
    assert found.labels[1].scores["chrF"] == news.chrf
    assert found.labels[1].scores["comet"][1].score == pytest.approx(sum(line % 5 for line in range(1, 41, 4)) / 100)
    assert "Scores by label" in (page := Path("out.html").read_text(encoding="utf-8"))
    assert "Which words are right, by label" in page
    write(**FILES)
    assert "chrF by label on ref.en, into en" in call(*words).out
    table = list(csv.DictReader(io.StringIO(call(*words, "--csv").out)))
    assert {row["label"] for row in table} == {"", "chat", "news"}


ONE_LESS, WORD = NUMBERS[:-1], [*NUMBERS[:7], "7\tgood\t0.4", *NUMBERS[8:]]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            ONE_LESS,
            "given.tsv: 39 scores, but the text has 40 sentences; give one score per sentence, in the same order",
        ),
        (WORD, "given.tsv, line 8: the score of a.txt is 'good', no number; give a score for each sentence"),
        ([*NUMBERS[:-1], "40\t\t0.4"], "given.tsv, line 41: the score of a.txt is '', no number"),
        ([*NUMBERS[:-1], "40\t0.4"], "given.tsv, line 41: 2 columns, but 3 in line 1; separate the columns by tabs"),
        ([*NUMBERS[:-1], "40\tnan\t0.4"], "given.tsv, line 41: the score of a.txt is 'nan', no number"),
        ([NUMBERS[0], *NUMBERS[:0:-1]], "given.tsv, line 2: numbered 40, but it is sentence 1; put the lines into"),
        (["line\ta.txt\tc.txt", *NUMBERS[1:]], "given.tsv, line 1: no column for 'b.txt'; there are 'a.txt', 'c.txt'"),
        (["a.txt\ta.txt\tb.txt", *NUMBERS[1:]], "given.tsv, line 1: two columns 'a.txt'; name each column once"),
        ([], "given.tsv: 0 scores, but the text has 40 sentences"),
        ([line.replace("\t", ",") for line in NUMBERS], "given.tsv, line 1: a single column; separate the columns by"),
    ],
)
def test_scores_of_sentences_that_do_not_fit_are_refused(call, lines, problem):
    Path("given.tsv").write_text("".join(f"{line}\n" for line in lines))
    said = call(*COMPARE, "--segment-scores", "given.tsv")
    assert said.code == 2
    assert said.err.startswith(f"nmtlab: {problem}")
    assert (said.out, said.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("compare", "a.txt", "b.txt"), "a.txt, b.txt: no reference; name its file with --reference, or the corpus"),
        (("compare", "a.txt", "whole", "--reference", "ref.en"), "'whole': no such file; with --reference, name "),
        (("compare", "a.txt", "b.txt", "--reference", "ref.en", "--corpus", "x"), "--reference and --corpus: two"),
        (("compare", "a.txt", "b.txt", "--reference", "none.en"), "none.en: not found; check the name"),
        (("evaluate", "a.txt", "--reference", "b.txt"), "b.txt: its name does not end in a language, as ref.en does; "),
        (("evaluate", "a.txt", "--reference", "void.en"), "void.en: empty; give one reference per line"),
        (("evaluate", "short", "--reference", "ref.en"), "short: 39 lines, but ref.en has 40 sentences; give one "),
        (("evaluate", "a.txt", "--reference", "ref.en", "--reference", "short"), "short: 39 lines, but ref.en has 40 "),
        ((*COMPARE, "--labels", "short"), "short: 39 labels, but the text has 40 sentences; give one label "),
        ((*COMPARE, "--labels", "blank"), "blank, line 3: blank; give each sentence a label, such as 'other'"),
        ((*COMPARE, "--labels", "none"), "none: No such file or directory; check the path"),
        ((*COMPARE, "--segment-scores", "none.tsv"), "none.tsv: No such file or directory; check the path"),
        ((*COMPARE, "--segment-scores", "bad.json"), "bad.json: damaged or truncated (a.txt.0.COMET: Input should "),
        ((*COMPARE, "--segment-scores", "x=t.tsv", "--segment-scores", "x=t.tsv"), "'x' names two metrics; name "),
        ((*COMPARE, "--lower-is-better", "TER"), "--lower-is-better TER: no such metric; give --segment-scores, too"),
        ((*COMPARE, "--frequency-text", "none", "--html", "p.html"), "none: not found; check the name"),
        ((*COMPARE, "--frequency-text", "t.tsv"), "--frequency-text: belongs to --html; add --html, or leave it out"),
        ((*COMPARE, "--beam", 8), "--beam: belongs to a run; add a run, or leave it out"),
        (("evaluate", "a.txt", "--reference", "ref.en", "--beam", 8), "--beam: belongs to a run"),
        ((*COMPARE, "--segment-scores", "chrF=t.tsv"), "t.tsv: chrF is computed here, too; name it otherwise"),
        ((*COMPARE, "--target", "english"), "--target english: no code of a language; give one such as en"),
        (
            ("compare", "--reference", "ref.en", "x/a.txt", "y/a.txt", "--segment-scores", "t.tsv"),
            "t.tsv, line 1: the column 'a.txt' fits several systems; name each column as its system",
        ),
    ],
    ids=lambda words: " ".join(map(str, words)) if isinstance(words, tuple) else "",
)  # fmt: skip
def test_bad_input_is_one_line_that_says_what_to_do(call, words, problem):
    write(short=REFERENCE[:-1], blank=["x", "x", "", *["x"] * 37], **{"void.en": [], "t.tsv": NUMBERS})
    Path("void.en").write_text("")
    for folder in ("x", "y"):
        Path(folder).mkdir()
        shutil.copy("a.txt", folder)
    Path("bad.json").write_text('{"a.txt": [{"COMET": "high"}]}')
    said = call(*words)
    assert said.code == 2
    assert said.err.startswith(f"nmtlab: {problem}")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(("sentences", "decided"), [(1, False), (2, False), (5, False), (6, True)])
def test_of_a_few_sentences_nothing_is_said_to_be_better(call, sentences, decided):
    few = REFERENCE[:sentences]
    write(**{"few.en": few, "good.txt": few, "bad.txt": ["a dog"] * sentences})
    found = compared(call("compare", "--reference", "few.en", "bad.txt", "good.txt", "--json"))
    assert (found.chrf[1].p < 0.05) == decided


def test_spbleu_says_how_to_get_its_model_and_downloads_nothing(call, monkeypatch, tmp_path):
    monkeypatch.setattr(scores, "SACREBLEU_DIR", str(tmp_path / "sacrebleu"))
    said = call(*COMPARE, "--spbleu")
    assert said.code == 2
    assert "sacrebleu's model is not here" in said.err
    assert "sacrebleu REFERENCE -i TRANSLATIONS --tokenize flores200" in said.err
    assert not (tmp_path / "sacrebleu").exists()
