"""`nmtlab rerank`."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nmtlab.analysis.access.needs import ALONE, DECODING, check_needs, overlap_warning
from nmtlab.analysis.access.texts import corpus_of
from nmtlab.analysis.comparison.files import ScoredText, code_of_file, text_of_split
from nmtlab.cli.answer import Answer, Json, Part, print_answer
from nmtlab.cli.options import Beam, Set, Source, Split, Target, Threads, open_text, run_recipe, sentence_bar
from nmtlab.cli.scored import Score
from nmtlab.cli.tables import print_table
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.resampling import compared
from nmtlab.languages import language_of
from nmtlab.recipe import Recipe
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import read_lines, write_lines
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.analysis.search.n_best import LanguageModel, Lists

_TRAINING_TEXT = "train"
"""What --language-model calls the target side of the run's training text."""


class RerankedScores(Part):
    """The scores of one choice from each n-best list, in `Reranking`."""

    bleu: Score
    """By sacrebleu, of detokenized text."""
    chrf: Score
    """By sacrebleu: chrF2."""


class Reranking(Answer):
    """The answer of `nmtlab rerank`."""

    system: str
    """The run."""
    text: str
    """The corpus and its split."""
    sentences: int
    """How many are translated."""
    n_best: int
    """Most candidates of a sentence."""
    weights: dict[str, float]
    """Feature -> its weight in the sum that chooses the candidate."""
    tuned_on: str | None
    """The split whose score the weights maximise."""
    changed: int
    """Sentences whose translation is not the search's best."""
    search: RerankedScores
    """Of the candidates that the search ranks first."""
    reranked: RerankedScores
    """Of the candidates with the highest weighted sum."""
    oracle: RerankedScores
    """Of the candidates with the highest chrF, for which the reference must be known: how much there is to gain."""
    p_bleu: float
    """Of the difference in BLEU between `reranked` and `search`, by paired bootstrap resampling."""
    p_chrf: float
    """The same of chrF."""
    alone: dict[str, RerankedScores]
    """With --each: feature -> scores with log-prob and this one, whose weight is tuned in the same way."""
    without: dict[str, RerankedScores]
    """With --each: feature -> scores with all others, whose weights are tuned in the same way."""
    warnings: list[str]
    """What to know before the scores are believed."""


def rerank(
    run: Annotated[str, typer.Argument(help="Name of a run.")],
    corpus: Annotated[str, typer.Option(help="Corpus to translate. (default: that of the run)")] = "",
    split: Split = "test",
    n_best: Annotated[int, typer.Option(min=1, help="Candidates per sentence; the beam is at least as wide.")] = 50,
    channel: Annotated[
        str, typer.Option(metavar="RUN", help="Run that translates back: adds log p(source | candidate).")
    ] = "",
    with_: Annotated[
        str, typer.Option("--with", metavar="RUN", help="Second run: adds its log p(candidate | source).")
    ] = "",
    language_model: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Text in the target language, or 'train' for that side of the run's training text: adds "
            "log p(candidate) of an n-gram model of it.",
        ),
    ] = "",
    blank: Annotated[
        str,
        typer.Option(metavar="RUN", help="Run trained with corpus.blank_source: adds its log p(candidate)."),
    ] = "",
    lexicon: Annotated[
        bool,
        typer.Option("--lexicon", help="Add log p(candidate | source) by the run's lexicon ('nmtlab runs align')."),
    ] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Add how much of the source is attended to, in three ways.")
    ] = False,
    tune: Annotated[str, typer.Option(metavar="SPLIT", help="Split to tune the weights on. (default: dev)")] = "",
    metric: Annotated[
        Literal["bleu", "chrf"] | None, typer.Option(help="Corpus score that tuning maximises. (default: bleu)")
    ] = None,
    weights: Annotated[
        str,
        typer.Option(
            metavar="FEATURE=NUMBER,...",
            help="Weights of the features, by their names, instead of tuning; 0 if left out, log-prob 1.",
        ),
    ] = "",
    each: Annotated[
        bool, typer.Option("--each", help="Show what each feature is worth: alone beside log-prob, and left out.")
    ] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write the translations to.")] = None,
    source: Source = "",
    target: Target = "",
    beam: Beam = None,
    set_: Set = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Choose from n-best lists by a weighted sum of features, and compare the choice with the search's.

    The features of a candidate: log-prob, its log-probability; length, in tokens with the end; chrf, the expected chrF
    in the list; channel and second, log-probabilities by other runs; blank and language-model, those of the translation
    alone, by a run that has learned from blank sources and by an n-gram model; lexicon, its log-probability by the
    lexicon of the run; coverage-wu and coverage-li, coverage of the source as in a search's score, and covered, the
    number of source tokens to which some token attends most. The oracle takes the candidate with the highest chrF with
    the reference: it shows how much there is to gain. N-best lists are stored with the run, so that other weights take
    no decoding.
    """
    workspace = Workspace.find()
    opened = open_run(run, workspace)
    back, second, alone = (open_run(name, workspace) if name else None for name in (channel, with_, blank))
    opened, text = open_text(opened, workspace, corpus, source, target)
    check_needs(opened, (*DECODING, ALONE))
    recipe = run_recipe(opened.recipe, set_, threads, beam)
    scored = text_of_split(text, split)
    more = {
        "channel": channel, "second": with_, "blank": blank, "lexicon": lexicon, "language-model": language_model,
        **dict.fromkeys(("coverage-wu", "coverage-li", "covered"), coverage),
    }  # fmt: skip
    given = _weights(weights, [name for name, asked in more.items() if asked])
    if given and (tune or metric or each):
        option = "--tune" if tune else "--metric" if metric else "--each"
        raise NmtlabError(f"{option} and --weights: weights that are given are not tuned", "leave one of them out")
    tuned_on = "" if given else tune or "dev"
    if tuned_on:
        text_of_split(text, tuned_on)  # which may refuse, before the translation

    learned = _learned(language_model, opened, workspace)
    asked = opened, text, n_best, recipe, back, second, alone, lexicon, coverage, learned
    lists = _lists(split, *asked)
    tunable, by = _lists(tuned_on, *asked) if tuned_on else lists, metric or "bleu"
    used, others = given or tunable.tuned(by), _each(tunable, by) if each else {}
    warnings = [overlap_warning(opened, text, split)]
    warnings += ["the weights were tuned on the text that is scored"] if tuned_on == split else []
    warnings += ["lists of one candidate: nothing can change; raise --n-best"] if n_best == 1 else []
    found = _answer(opened.name, scored, lists, n_best, used, others, tuned_on, [one for one in warnings if one])
    if output:
        write_lines(output, lists.texts(lists.reranked(used)))
    if json:
        print_answer(found)
    else:
        _print(found)


_ADDED_BY = {
    "channel": "--channel RUN",
    "second": "--with RUN",
    "blank": "--blank RUN",
    "lexicon": "--lexicon",
    **dict.fromkeys(("coverage-wu", "coverage-li", "covered"), "--coverage"),
    "language-model": "--language-model FILE",
}


def _weights(given: str, more: list[str]) -> dict[str, float]:
    """Return the weights of an option, empty if it is.

    Args:
        more: features that options add.
    """
    if not given:
        return {}
    from nmtlab.analysis.search.n_best import FEATURES  # it loads torch

    found = {"log-prob": 1.0}
    for part in given.split(","):
        name, _, value = part.partition("=")
        if name not in FEATURES:
            raise NmtlabError(f"--weights {part}: no such feature", f"choose from {', '.join(FEATURES)}")
        if name in _ADDED_BY and name not in more:
            raise NmtlabError(f"--weights {part}: the candidates lack it", f"add {_ADDED_BY[name]}")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise NmtlabError(f"--weights {part}: not a finite number", f"write {name}=0.5")
    return found


def _learned(text: str, run: Run, workspace: Workspace) -> "LanguageModel | None":
    """Return the model of a text that an option names; the ending of a file, as in news.en, is its language.

    Raises:
        NmtlabError: the text cannot be read, has no line, or is in another language.
    """
    if not text:
        return None
    from nmtlab.analysis.search.n_best import LanguageModel  # it loads torch

    target = run.direction[1]
    if text == _TRAINING_TEXT:
        return LanguageModel(run, corpus_of(run, workspace).lines("train", target))
    code = code_of_file(Path(text))
    if code and language_of(code) != language_of(target):
        raise NmtlabError(f"--language-model {text}: is in {code}, the candidates in {target}", "give another text")
    return LanguageModel(run, read_lines(text))


def _lists(
    split: str,
    run: Run,
    text: ParallelCorpus,
    size: int,
    recipe: Recipe,
    back: Run | None,
    second: Run | None,
    blank: Run | None,
    lexicon: bool,
    coverage: bool,
    language_model: "LanguageModel | None",
) -> "Lists":
    from nmtlab.analysis.search.n_best import n_best_lists  # after the names are checked: it loads torch

    with sentence_bar(text.count(split), split) as bar:
        return n_best_lists(
            run, text, split, size, recipe.search, back, second, bar.update, recipe.machine,
            language_model=language_model, blank=blank, lexicon=lexicon, coverage=coverage,
        )  # fmt: skip


def _each(lists: "Lists", metric: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return tuned weights of log p and each other feature, and of all but each, by a field of `Reranking` and it."""
    first, *more = lists.features
    alone = {("alone", name): lists.tuned(metric, (first, name)) for name in more}
    return alone | {
        ("without", name): lists.tuned(metric, [one for one in lists.features if one != name]) for name in more
    }


def _answer(
    system: str, text: ScoredText, lists: "Lists", size: int, weights: dict[str, float],
    others: Mapping[tuple[str, str], dict[str, float]], tuned_on: str, warnings: list[str],
) -> Reranking:  # fmt: skip
    """Return the scores of the search's choice, of the weights', of the best possible one, and by other weights."""
    chosen = {"search": lists.first(), "reranked": lists.reranked(weights), "oracle": lists.oracle()}
    chosen |= {" ".join(which): lists.reranked(used) for which, used in others.items()}
    scores: dict[str, dict[str, Score]] = {name: {} for name in chosen}
    p = {}
    for name in ("bleu", "chrf"):
        rows = compared(list(chosen), lists.counted(name, chosen.values()))
        for row in rows:
            scores[row.system][name] = Score.of_row(row)
        p[f"p_{name}"] = rows[1].p
    pairs = zip(lists.texts(chosen["search"]), lists.texts(chosen["reranked"]), strict=True)
    return Reranking.of(
        {"tuned_on": "the weights were given with --weights"},
        system=system, text=text.name, sentences=len(text.source), n_best=size, weights=weights,
        tuned_on=tuned_on or None, changed=sum(before != after for before, after in pairs), warnings=warnings,
        **{name: RerankedScores(**scores[name]) for name in ("search", "reranked", "oracle")}, **p,
        **{field: {name: RerankedScores(**scores[f"{field} {name}"]) for of, name in others if of == field}
           for field in ("alone", "without")},
    )  # fmt: skip


def _print(found: Reranking) -> None:
    listed = {"search": found.search, "reranked": found.reranked}
    listed |= {f"log-prob + {name}": scores for name, scores in found.alone.items()}
    listed |= {f"all but {name}": scores for name, scores in found.without.items()} | {"oracle": found.oracle}
    rows = [
        [name, *(f"{one.score:.2f} ± {one.margin:.2f}" for one in (scores.bleu, scores.chrf))]
        for name, scores in listed.items()
    ]
    title = f"{found.system} on {found.text}: {found.sentences:,} sentences, up to {found.n_best} candidates each"
    print_table(title, ["chosen by", "BLEU", "chrF"], rows, {"BLEU", "chrF"})
    sum_ = " + ".join(f"{weight:.4g} {name}" for name, weight in found.weights.items()).replace("+ -", "- ")
    print(f"  reranked by {sum_}" + (f", tuned on {found.tuned_on}" if found.tuned_on else ""))
    print(f"  {found.changed:,} sentences changed; p {found.p_bleu:.3f} by BLEU, {found.p_chrf:.3f} by chrF")
    print("".join(f"{warning}\n" for warning in found.warnings), end="")
