"""`nmtlab evaluate`."""

import math
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.analysis.access.needs import DECODING, check_needs, overlap_warning, unfinished_warning
from nmtlab.analysis.comparison.compared import Given
from nmtlab.analysis.comparison.files import ScoredText, read_translations, text_of_split
from nmtlab.cli.answer import Answer, Json, print_answer
from nmtlab.cli.options import (
    UNFORCED,
    Beam,
    Set,
    Source,
    Split,
    Target,
    Threads,
    check_belongs,
    check_unread,
    open_text,
    run_recipe,
    sentence_bar,
)
from nmtlab.cli.scored import (
    FIELDS,
    Asked,
    LowerIsBetter,
    References,
    Score,
    Segments,
    SpBleu,
    Ter,
    text_of,
    warn,
)
from nmtlab.errors import CorpusError, NmtlabError, error_of_the_machine
from nmtlab.evaluation.resampling import counted_scores
from nmtlab.recipe import Recipe
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.analysis.access.scoring import TextMetrics


class Evaluation(Answer):
    """The answer of `nmtlab evaluate`."""

    system: str
    """The run, or the file of its translations."""
    text: str
    """The corpus and its split, or the files of references."""
    source: str | None
    """Language of the source."""
    target: str
    """Language of the translations."""
    sentences: int
    """How many are scored."""
    bleu: Score
    """By sacrebleu, of detokenized text."""
    chrf: Score
    """By sacrebleu: chrF2."""
    chrf_plus_plus: Score
    """By sacrebleu: chrF2++."""
    ter: Score | None
    """By sacrebleu, with `--ter`."""
    spbleu: Score | None
    """By sacrebleu on the subwords of FLORES-200, with `--spbleu`."""
    tokenized_bleu: Score | None
    """As multi-bleu computes it, of Moses tokens."""
    segment_scores: dict[str, Score]
    """By the metrics of `--segment-scores`: their names -> the mean of the sentences."""
    word_ceiling: float | None
    """BLEU of the reference, split into words and joined again."""
    perplexity: float | None
    """Of the reference, per token."""
    unknown_tokens: int | None
    """How many tokens of the reference are scored as unknown."""
    warnings: list[str]
    """What to know before the scores are believed."""


_ON_REQUEST = ("ter", "spbleu")
_MOST_LINES = 20


class Evaluations(Answer):
    """The answer of `nmtlab evaluate --all-directions`."""

    directions: list[Evaluation]
    """One for each direction."""
    bleu: float
    """Mean over directions."""
    chrf: float
    """Mean over directions."""


class Contrast(Answer):
    """The answer of `nmtlab evaluate --contrast`."""

    system: str
    """The run."""
    file: str
    """The contrastive pairs."""
    pairs: int
    """How many there are."""
    correct: int
    """In how many the right translation has the higher probability."""
    accuracy: float
    """Their share, 0 to 1."""
    low: float
    """Lower end of Wilson's 95 % interval of the accuracy."""
    high: float
    """Its upper end."""
    wrong_lines: list[int]
    """The lines of the other pairs, from 1."""


def evaluate(
    run: Annotated[str, typer.Argument(help="Name of a run, or a text file with translations made elsewhere.")],
    corpus: Annotated[str, typer.Option(help="Corpus to score on. (default: that of the run)")] = "",
    split: Split = "test",
    source: Source = "",
    target: Target = "",
    reference: References = None,
    all_directions: Annotated[
        bool, typer.Option("--all-directions", help="Score on the text of every direction that the run was trained in.")
    ] = False,
    contrast: Annotated[
        Path | None,
        typer.Option(
            help="Instead, say how often the right one of two translations is likelier: a file of source, right and "
            "wrong translation on each line, separated by tabs.",
            show_default=False,
        ),
    ] = None,
    ter: Ter = False,
    spbleu: SpBleu = False,
    segment_scores: Segments = None,
    lower_is_better: LowerIsBetter = None,
    beam: Beam = None,
    set_: Set = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Translate a test set and score it: BLEU, chrF, chrF++ with intervals and signatures, tokenized BLEU, perplexity.

    BLEU is sacrebleu on detokenized text; tokenized BLEU is multi-bleu on Moses tokens, omitted for text without spaces
    between words. Intervals are sacrebleu's (--confidence). Translations are stored with the run, and reused if nothing
    has changed. A run of several directions is scored in that of its first corpus, unless --source and --target choose
    another one, or --all-directions all of them, with their mean.
    """
    if all_directions and (corpus or source or target or reference or segment_scores or Path(run).is_file()):
        remedy = "leave out file, corpus, references, scores of sentences and languages"
        raise NmtlabError("--all-directions: scores a run on all its corpora", remedy)
    if contrast:
        others = corpus, reference, segment_scores, lower_is_better, all_directions, beam, ter, spbleu
        if any(others) or split != "test" or Path(run).is_file():
            remedy = "leave out file, corpus, split, references, scores, beam and --all-directions"
            raise NmtlabError("--contrast: scores a run on the pairs of its file", remedy)
        check_unread("--contrast", "given translations are scored without a search", UNFORCED, set_)
        _print_contrast(run, contrast, source, target, set_, threads, json)
        return
    asked = Asked(ter, spbleu, segment_scores or [], lower_is_better or [])
    if reference or Path(run).is_file():
        check_belongs("a run", None, {"--beam": beam, "--set": set_, "--threads": threads})
        text, _ = text_of([run], reference, corpus, split, source, target)
        _print(_of_file(Path(run), text, asked), json)
        return
    workspace = Workspace.find()
    opened = open_run(run, workspace)
    recipe = run_recipe(opened.recipe, set_, threads, beam)
    if not all_directions:
        _print(_evaluated(*open_text(opened, workspace, corpus, source, target), split, recipe, asked), json)
        return
    found = []
    for one in _every_text(opened, workspace, split):
        found.append(_evaluated(opened, one, split, recipe, asked))
        if not json:
            _print(found[-1])
    means = {name: fmean(getattr(one, name).score for one in found) for name in ("bleu", "chrf")}
    if json:
        print_answer(Evaluations(directions=found, **means))
    else:
        number = f"{len(found)} direction{'s' * (len(found) > 1)}"
        print(f"mean of {number}: BLEU {means['bleu']:.2f}, chrF {means['chrf']:.2f}")


def _print_contrast(
    name: str, path: Path, source: str, target: str, settings: list[str] | None, threads: int | None, json: bool
) -> None:
    run = open_run(name, Workspace.find())
    run = run.directed(source, target) if source or target else run
    recipe = run_recipe(run.recipe, settings, threads, None)

    from nmtlab.analysis.comparison.contrasts import contrasts, read_contrasts  # after the names are checked: torch
    from nmtlab.grids.results.shares import wilson
    from nmtlab.systems import open_system

    check_needs(run, DECODING)
    pairs = read_contrasts(path)
    found = contrasts(open_system(run, recipe.search, machine=recipe.machine), pairs)
    correct, accuracy = int(found["correct"].sum()), float(found["correct"].mean())
    low, high = wilson(accuracy, len(found))
    wrong = found.loc[~found["correct"], "line"].tolist()
    if json:
        print_answer(
            Contrast(
                system=run.name, file=str(path), pairs=len(found), correct=correct, accuracy=accuracy, low=low,
                high=high, wrong_lines=wrong,
            )
        )  # fmt: skip
        return
    interval = f"{100 * low:.1f} to {100 * high:.1f}"
    print(f"{run.name} on {path}: the right translation is likelier in {correct:,} of {len(found):,} pairs")
    print(f"accuracy        {100 * accuracy:6.2f}  % ({interval}, Wilson's 95 % interval)")
    if wrong:
        print(
            f"wrong in lines  {', '.join(map(str, wrong[:_MOST_LINES]))}{', ...' if len(wrong) > _MOST_LINES else ''}"
        )


def _every_text(run: Run, workspace: Workspace, split: str) -> list[ParallelCorpus]:
    """Return the first corpus with a split in each direction that a run was trained in."""
    found: dict[tuple[str, str], ParallelCorpus] = {}
    for named in run.recipe.trained_corpora:
        if named.name and (named.source, named.target) not in found:
            text = open_corpus(named.name, workspace, named.source, named.target)
            if split in text.splits:
                found[text.direction] = text
    if not found:
        raise CorpusError(f"run {run.name!r}: none of its corpora has {split} text", "choose another --split")
    return [found[direction] for direction in run.directions if direction in found]


def _of_file(path: Path, text: ScoredText, asked: Asked) -> Evaluation:
    """Score translations made elsewhere."""
    lines = read_translations(path, text, warn)
    missing = dict.fromkeys(("perplexity", "unknown_tokens"), "only a run's model has one")
    missing["word_ceiling"] = "only of runs on words"
    return _scored(str(path), text, lines, asked.metrics(text), asked.given([str(path)], text), [], missing)


def _evaluated(run: Run, corpus: ParallelCorpus, split: str, recipe: Recipe, asked: Asked) -> Evaluation:
    """Translate a text, and score it."""
    text = text_of_split(corpus, split)
    metrics, given = asked.metrics(text), asked.given([run.name], text)  # which may refuse, before the translation

    from nmtlab.analysis.access.scoring import run_perplexity
    from nmtlab.analysis.access.translations import translations

    unkept = list[OSError]()
    with sentence_bar(len(text.source)) as bar:
        lines = translations(run, corpus, split, recipe.search, recipe.machine, bar.update, unkept.append)
    numbers: dict[str, float] = {}
    if recipe.model.neural:
        perplexity, unknown = run_perplexity(run, corpus, split, recipe.machine)
        numbers |= {"perplexity": perplexity, "unknown_tokens": unknown}
    if run.recipe.text.segmentation == "word":
        numbers["word_ceiling"] = word_ceiling(text.references[0], text.languages[1], run.recipe.text.word_rules)
    missing = dict.fromkeys(("perplexity", "unknown_tokens"), "the system is not neural") | {
        "word_ceiling": "only of runs on words"
    }
    warnings = [overlap_warning(run, corpus, split), unfinished_warning(run)]
    warnings += [f"the translations could not be stored: {error_of_the_machine(error)}" for error in unkept]
    return _scored(run.name, text, lines, metrics, given, [one for one in warnings if one], missing, **numbers)


def _scored(
    system: str,
    text: ScoredText,
    lines: list[str],
    metrics: "TextMetrics",
    given: list[Given],
    warnings: list[str],
    missing: dict[str, str],
    **numbers: float,
) -> Evaluation:
    """Return the scores of translations; `numbers` are those of a run."""
    from nmtlab.analysis.access.scoring import compared_counts, counted_texts

    counts = counted_texts([lines], text.references, metrics.of)
    counts += [counted_scores(one.name, one.of[system], one.better) for one in given]
    rows = compared_counts([system], counts)
    scores = {row.metric: Score.of_row(row) for row in rows.itertuples()}
    reasons = {FIELDS[title]: reason for title, reason in metrics.missing.items()} | missing
    if "perplexity" in numbers:
        reasons["perplexity"] = "it is too large for a number"
    known = {FIELDS[title]: scores[title] for title in metrics.of} | numbers
    return Evaluation.of(
        reasons | {"source": "the text has references alone"},
        system=system, text=text.name, source=text.languages[0] or None, target=text.languages[1],
        sentences=len(text.source), segment_scores={one.name: scores[one.name] for one in given},
        warnings=warnings,
        **{name: known.get(name) for name in (*FIELDS.values(), "word_ceiling", "perplexity", "unknown_tokens")},
    )  # fmt: skip


def _print(found: Evaluation, json: bool = False) -> None:
    """Print an evaluation."""
    if json:
        print_answer(found)
        return
    direction = f"{found.source} to {found.target}" if found.source else f"into {found.target}"
    print(f"{found.system} on {found.text} ({direction}, {found.sentences:,} sentences)")
    for title, name in FIELDS.items():
        score = getattr(found, name)
        if score:
            print(_line(title, score, 2))
        elif name not in _ON_REQUEST:
            print(f"{title:14}     n/a  {found.missing[name]}")
    for title, score in found.segment_scores.items():
        print(_line(title, score, 4))
    if found.word_ceiling is not None:
        print(f"word ceiling    {found.word_ceiling:6.2f}  BLEU of the reference, split into words and joined again")
    if found.unknown_tokens is not None:
        unknown = "1 token" if found.unknown_tokens == 1 else f"{found.unknown_tokens:,} tokens"
        perplexity = math.inf if found.perplexity is None else found.perplexity
        print(f"perplexity      {perplexity:6.2f}  per token; {unknown} scored as unknown")
    print("".join(f"{warning}\n" for warning in found.warnings), end="")


def _line(title: str, score: Score, decimals: int) -> str:
    lower = "lower is better, " * (score.better == "lower")
    interval = f"{score.mean:.{decimals}f} ± {score.margin:.{decimals}f}"
    return f"{title:14}  {score.score:6.{decimals}f}  {interval}  {lower}{score.signature}"
