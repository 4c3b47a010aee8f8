"""Texts, translations, labels and scores of sentences, read from files."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic import BaseModel, FiniteFloat

from nmtlab.analysis.comparison.compared import Frequency, Given
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.evaluation.order import out_of_order
from nmtlab.languages import code_of_ending
from nmtlab.reading import parsed, reading
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import COMPRESSIONS, lines_of, read_lines
from nmtlab.text.segmentation.tokenizers import Words

COMPUTED = ("BLEU", "chrF", "chrF++", "TER", "spBLEU", "tokenized BLEU")
"""Titles of the metrics that are computed here."""

LINE = "line"
"""Header of a column with the numbers of the sentences, from 1."""


class ScoredText(NamedTuple):
    """A text whose translations are scored.

    Args:
        name: such as `ha-news test`, or the names of its files.
        source: the lines that are translated; empty ones if they are not known.
        references: one or more sets, each with a line for each source line.
        languages: codes of the source and target language; that of the source is empty if it is not known.
    """

    name: str
    source: Sequence[str]
    references: Sequence[Sequence[str]]
    languages: tuple[str, str]

    @property
    def direction(self) -> str:
        """The direction in words."""
        source, target = self.languages
        return f"{source} to {target}" if source else f"into {target}"


def text_of_split(corpus: ParallelCorpus, split: str) -> ScoredText:
    """Return a split of a corpus as a text to score."""
    source, references = list(corpus.lines(split, corpus.source)), [list(set_) for set_ in corpus.references(split)]
    return ScoredText(f"{corpus.name} {split}", source, references, corpus.direction)


def text_of_files(
    references: Sequence[Path], source: Path | None = None, languages: tuple[str, str] = ("", "")
) -> ScoredText:
    """Return a text whose references are files, one for each set.

    Args:
        source: file of the source sentences, if they are known.
        languages: codes of source and target; where empty, the ending of the file's name, such as `ref.en`.

    Raises:
        CorpusError: a file cannot be read or is empty, files differ in their number of lines, or no language is known.
    """
    for option, code in zip(("--source", "--target"), languages, strict=True):
        if code and not code_of_ending(code):
            raise CorpusError(f"{option} {code}: no code of a language", "give one such as en, pt-BR or eng_Latn")
    target = languages[1] or code_of_file(references[0])
    if not target:
        problem = f"{references[0]}: its name does not end in a language, as ref.en does"
        raise CorpusError(problem, "give the language of the translations with --target")
    lines = [list(read_lines(path)) for path in references]
    if not lines[0]:
        raise CorpusError(f"{references[0]}: empty", "give one reference per line")
    sources = list(read_lines(source)) if source else [""] * len(lines[0])
    for path, found in zip([*references, source or references[0]], [*lines, sources], strict=True):
        _check_lines(str(path), len(found), str(references[0]), len(lines[0]))
    name = " and ".join(path.name for path in references)
    return ScoredText(name, sources, lines, (languages[0] or (code_of_file(source) if source else ""), target))


def read_translations(path: Path, text: ScoredText, warn: Callable[[str], object]) -> list[str]:
    """Return translations made elsewhere, one for each sentence of a text.

    Args:
        warn: called with a sentence if they seem to be in another order.

    Raises:
        CorpusError: there are more or fewer lines than sentences.
    """
    lines = list(read_lines(path))
    _check_lines(str(path), len(lines), text.name, len(text.source))
    if first := out_of_order(lines, text.references[0]):
        since = f"from about line {first:,}, " * (first > 1)
        problem = f"{since}most lines match references of other lines, not their own"
        warn(f"{path}: {problem}; check that the file is in the order of {text.name}")
    return lines


def labels_of(file: BinaryIO, where: str, sentences: int) -> list[str]:
    """Return the label of each sentence: the lines of an open file.

    Args:
        where: its name, as of messages.

    Raises:
        CorpusError: there are more or fewer labels than sentences, or a line is blank.
    """
    labels = [line.strip() for line in lines_of(file, where)]
    _check_lines(where, len(labels), "the text", sentences, "label")
    if "" in labels:
        raise CorpusError(f"{where}, line {labels.index('') + 1}: blank", "give each sentence a label, such as 'other'")
    return labels


def frequency_in(lines: Sequence[str], language: str, name: str) -> Frequency:
    """Return how often words are in a text that is not the training text.

    Args:
        name: of the text, as an axis names it.
    """
    split = Words(language).split
    counts = Counter(word for line in lines for word in split(line))
    return Frequency(f"frequency in {name}", lambda word: counts[word], f"Words are counted in {name}.")


def read_frequency(path: Path, language: str) -> Frequency:
    """Return how often words are in a file of text.

    Raises:
        CorpusError: the file cannot be read.
    """
    return frequency_in(list(read_lines(path)), language, path.name)


def read_segment_scores(
    named: str, systems: Sequence[str], sentences: int, lower_is_better: Sequence[str] = ()
) -> Given:
    """Return the scores of systems' sentences from a file, as `segment_scores` does.

    Args:
        named: path of the file, whose name is that of the metric, or NAME=FILE.
        lower_is_better: names of metrics whose lower scores are better.

    Raises:
        CorpusError: as of `segment_scores`.
        OSError: the file cannot be read.
    """
    name, equals, after = named.partition("=")
    path = Path(after) if equals and not Path(named).is_file() else Path(named)
    name = name if str(path) != named else path.name.split(".")[0]
    with path.open("rb") as file:
        found = segment_scores(name, file, str(path), systems, sentences)
    return found._replace(better="lower" if name in lower_is_better else "higher")


def segment_scores(name: str, file: BinaryIO, where: str, systems: Sequence[str], sentences: int) -> Given:
    """Return the scores of systems' sentences by a metric from elsewhere, as of one seed each.

    The file is a table, with tabs between its columns: its first line names the systems, and each line after it has
    their scores of a sentence. A column `line` may number the sentences, from 1. Or it is what `comet-score --to_json`
    writes. Columns of other systems are left out.

    Args:
        name: of the metric.
        file: open.
        where: its name, as of messages; that of `comet-score` ends in .json.
        systems: as they are called; of a path, its last part is enough.
        sentences: their number.

    Raises:
        CorpusError: the file lacks a system or a score, has more or fewer lines than sentences, or has the name of a
            metric that is computed here.
        RunError: what should be from `comet-score` is not.
    """
    if name in COMPUTED:
        raise CorpusError(f"{where}: {name} is computed here, too", "name it otherwise, by its file or as NAME=FILE")
    if where.endswith(".json"):
        columns, names = _from_comet(file, where), where
    else:
        columns, names = _from_table(list(lines_of(file, where)), where, sentences), f"{where}, line 1"
    chosen = {system: _column(names, system, list(columns)) for system in systems}
    if shared := next((column for column, count in Counter(chosen.values()).items() if count > 1), None):
        raise CorpusError(f"{names}: the column {shared!r} fits several systems", "name each column as its system")
    of = {system: [columns[column]] for system, column in chosen.items()}
    for (column,) in of.values():
        _check_lines(where, len(column), "the text", sentences, "score")
    return Given(name, of)


def check_directions(scores: Sequence[Given], lower_is_better: Sequence[str]) -> None:
    """Check that `--lower-is-better` names given metrics, and that no two have one name.

    Raises:
        NmtlabError: it does not, or two have.
    """
    names = [one.name for one in scores]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise NmtlabError(f"{twice!r} names two metrics", "name them: --segment-scores NAME=FILE")
    if unknown := next((name for name in lower_is_better if name not in names), None):
        remedy = f"name one of {', '.join(names)}" if names else "give --segment-scores, too"
        raise NmtlabError(f"--lower-is-better {unknown}: no such metric", remedy)


class _OfComet(BaseModel):
    COMET: FiniteFloat


def _from_comet(file: BinaryIO, where: str) -> dict[str, list[float]]:
    """Return the scores of each file of translations that `comet-score --to_json` has scored."""
    with reading(Path(where), "give what comet-score --to_json writes, or a table"):
        found: dict[str, list[Any]] = parsed(file.read(), dict[str, list[_OfComet]])
    return {name: [sentence["COMET"] for sentence in scored] for name, scored in found.items()}


def _from_table(lines: list[str], where: str, sentences: int) -> dict[str, list[float]]:
    """Return the columns of a table, by the names in its first line."""
    header, *rows = [line.split("\t") for line in lines] or [[""]]
    names = [name.strip() for name in header]
    if len(names) == 1 and any(sign in names[0] for sign in ",;"):
        raise CorpusError(f"{where}, line 1: a single column", "separate the columns by tabs")
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CorpusError(f"{where}, line 1: two columns {twice!r}", "name each column once")
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            problem = f"{where}, line {number}: {len(row)} column{'s' * (len(row) != 1)}, but {len(names)} in line 1"
            raise CorpusError(problem, "separate the columns by tabs, and give each system a score")
    _check_lines(where, len(rows), "the text", sentences, "score")
    columns = {
        name: [_number(where, line, name, row[place]) for line, row in enumerate(rows, start=2)]
        for place, name in enumerate(names)
    }
    for number, found in enumerate(columns.pop(LINE, []), start=1):
        if found != number:
            problem = f"{where}, line {number + 1}: numbered {found:g}, but it is sentence {number}"
            raise CorpusError(problem, "put the lines into the order of the text")
    return columns


def _number(where: str, line: int, column: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        problem = f"{where}, line {line}: the score of {column} is {text.strip()!r}, no number"
        raise CorpusError(problem, "give a score for each sentence, or leave the sentence out of all files")
    return number


def _column(where: str, system: str, columns: Sequence[str]) -> str:
    """Return the column of a system: that of its name, or else the only one of the same last part."""
    same = [column for column in columns if Path(column).name == Path(system).name]
    if system not in columns and len(same) != 1:
        problem = f"{where}: no column for {system!r}; there are {', '.join(map(repr, columns)) or 'none'}"
        raise CorpusError(problem, "name each column as its system")
    return system if system in columns else same[0]


def _check_lines(where: str, lines: int, name: str, sentences: int, what: str = "line") -> None:
    """Check that a file has a line for each sentence."""
    if lines != sentences:
        problem = f"{where}: {lines:,} {what}{'s' * (lines != 1)}, but {name} has {sentences:,} sentences"
        raise CorpusError(problem, f"give one {what} per sentence, in the same order")


def code_of_file(path: Path) -> str:
    """Return the language code at the end of a file's name; empty if there is none."""
    name = path.with_suffix("") if path.suffix in COMPRESSIONS else path
    return code_of_ending(name.suffix.removeprefix("."))
