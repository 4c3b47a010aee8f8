"""The learned lexicon of a lexical module (thesis Table 3.9)."""

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, WEIGHTS, WORD_TRANSLATIONS
from nmtlab.analysis.access.texts import Text, by_title, sentences, texts
from nmtlab.analysis.lexical.gold import has_gold
from nmtlab.analysis.lexical.lexicon import (
    ALIGNED,
    GOLD,
    LEARNED,
    agreement,
    agreement_by_frequency,
    agreement_finding,
    gold_translations,
    lexicon_figure,
    lexicon_finding,
    precision,
    precision_finding,
    system_translations,
    table_translations,
    telling_word,
)
from nmtlab.analysis.lexical.rare_words import RAREST
from nmtlab.analysis.lexical.suggestions import SUGGESTIONS
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.systems import described_runs, system_of
from nmtlab.dashboards.parts.suggested import Suggested
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import readable, with_subtitle
from nmtlab.runs.index import RunIndex
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

PAGE = About(
    place=60,
    group="Why",
    title="Lexicon",
    question="Which word translations has the lexical module learned, and are they correct? (thesis Table 3.9)",
    name="lexicon",
    needs=(NEURAL, WORD_TRANSLATIONS, WEIGHTS),
    most_runs=1,
    tokens={
        ("source", True): "Which translations has the lexical module learned?",
        ("source", False): "Which translations has the lexical module learned?",
    },
    illustrates=("lexicon-precision", SUGGESTIONS, RAREST),
)

FIRST = ("small-tr-en.fixnorm-lex.s1",)
_K = 5


class LexiconPage(Page):
    """The searchable lexicon of a run; translations of the selected word beside the aligner's and the gold ones.

    Of a run that annotates or copies, it has what is suggested, used and copied.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        none = (
            "No run here has a lexical module, suggestions or copies: train one with the recipe fixnorm-lex or "
            "annotate-copy-bpe."
        )
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, many=False, none=none)
        self.words = Table("Source words: select one", pick="one", height="32em")
        self.answer, self.chart, self.hint = Answer(), Chart(), Note()
        self.agreed, self.agreement = Answer(), Table("Agreement with the aligner, by training frequency")
        self.right, self.precision = Answer(), Table("Precision against the gold lexicon, by training frequency")
        self.sentences = Table("Sentences with the word: select one", pick="one", height="20em")
        self._tables: dict[str, pd.DataFrame] = {}
        self._lines, self._pieces, self._texts = pd.DataFrame(), list[set[str]](), dict[str, Text]()
        self.text, self.line, self.typed = widgets.Text(), widgets.Text(), widgets.Text()
        self.suggested = Suggested(workspace, self.runs)
        self.selection = Selection(PAGE, (self.chart,), (self.words, self.sentences))
        self.sentences.observe(lambda change: self._go_to(change["new"]), "value")
        sentence = {"text": self.text, "line": self.line, "sentence": self.typed}
        state = {"runs": self.runs.table, "word": self.words, **sentence, "selected": self.selection}
        state["suggestion"] = self.suggested.words
        sections = [
            Section(("word",), (), self._select_word),  # before others change it: if a person did
            Section(("runs",), (self.words, self.hint), self._read),
            Section(("selected",), (), self._choose_selected),
            Section(("runs", "word"), (self.answer, self.chart), self._show_word),
            Section(("runs", "word"), (self.sentences,), self._show_sentences),
            Section(("runs", *sentence), (self.selection,), self._offer_tokens),
        ]
        body = [
            self.answer, self.chart, self.hint,
            Fold("sentences", "In which sentences does the word stand?", self.sentences, self.selection),
            Fold("agreement", "How often do lexicon and aligner agree?",
                 Section(("runs",), (self.agreed, self.agreement), self._show_agreement)),
            Fold("precision", "How often is the lexicon right?",
                 Section(("runs",), (self.right, self.precision), self._show_precision)),
            self.suggested.fold,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.words], self.runs.refresh)

    def _read(self) -> None:
        """Read the lexicon of a run, and list its words."""
        self._tables, run = {}, self.runs.first
        self._lines, self._pieces = pd.DataFrame(), []
        if run is None:
            return
        if not run.recipe.model.lexical_module:
            self.hint.say("The run has no lexical module. What is suggested to it, and what it copies, is below.")
            return
        self._tables = _tables(run, self._workspace)
        self.words.show(_words(self._tables), pieces=("word",))
        if not self.words.chosen:
            self.words.choose([telling_word(self._tables[LEARNED], self._tables.get(ALIGNED))])
        self.hint.say(_legend(self._tables))

    def _show_word(self) -> None:
        """Show the translations of the word."""
        word, run = self.words.value, self.runs.first
        if word is None or run is None or not self._tables:
            return
        shown = pd.concat([table[table["source"] == word].assign(by=by) for by, table in self._tables.items()])
        self.answer.say(lexicon_finding(word, shown))
        self.chart.show(with_subtitle(lexicon_figure(word, shown), f"{run.label}: {described_runs([run])}"))

    def _show_agreement(self) -> None:
        if ALIGNED in self._tables:
            agreed = agreement(self._tables[LEARNED], self._tables[ALIGNED])
            self.agreed.say(agreement_finding(agreed))
            self.agreement.show(agreement_by_frequency(agreed).round(2))
        elif self._tables:
            self.agreed.say("There is no aligner's lexicon to compare with: train the recipe arthur on the same text.")

    def _show_precision(self) -> None:
        if GOLD in self._tables:
            judged = precision(self._tables[LEARNED], self._tables[GOLD])
            self.right.say(precision_finding(judged))
            self.precision.show(judged.round(2))
        elif self._tables:
            self.right.say("No true lexicon is here: only artificial languages have one.")

    def _show_sentences(self) -> None:
        """Show the sentences with the word."""
        word = self.words.value
        if word is None or (run := self.runs.first) is None or not self._tables:
            return
        self._read_lines(run)
        self.sentences.title = f"Sentences with {readable([word])[0]}: select one"
        found = self._lines[[word in pieces for pieces in self._pieces]]
        self.sentences.show(found, why="No sentence that is here has this word.")

    def _read_lines(self, run: Run) -> None:
        """Read the sentences of a run's texts, if they have not been read."""
        if not self._pieces:
            self._texts = by_title(texts(run, self._workspace))
            self._lines = _lines(run, self._texts)
            self._pieces = [set(run.pipeline.source_pieces(source)) for source in self._lines["source"]]

    def _select_word(self) -> None:
        token, word = self.selection.token, self.words.value
        if word is not None and (token is None or (token.side, token.word) != ("source", word)):
            self.selection.select(Token("source", None, word))

    def _choose_selected(self) -> None:
        token = self.selection.token
        if token and token.side == "source":
            self.words.choose([token.word])

    def _offer_tokens(self) -> None:
        """Offer the tokens of the sentence that was chosen here or on another page."""
        run = self.runs.first
        if run is None:
            return
        self._read_lines(run)
        typed = self.typed.value.strip()
        same = self._lines["source"] == typed if typed else self._lines.index == _key(self.text.value, self.line.value)
        found = next(self._lines[same].itertuples(), None)
        source = typed or (found.source if found else "")
        lines = [Line("source", "source", run.pipeline.source_pieces(source))] if source else []
        where = Sentence(source, direction=run.direction)
        if found:
            lines.append(Line("reference", "target", run.pipeline.target.tokenizer.split(found.reference)))
            where = Sentence(source, found.text, int(found.line), self._texts[found.text], run.direction)
        self.selection.offer([run], where, lines)

    def _go_to(self, key: str | None) -> None:
        """Choose a sentence with the word, and the word in it."""
        if key is None:
            return
        row, word = self._lines.loc[key], self.words.value
        with self.guarded(), self._together():
            self.typed.value, self.text.value, self.line.value = "", row["text"], str(row["line"])
        place = self.runs.chosen[0].pipeline.source_pieces(row["source"]).index(word)
        self.selection.select(Token("source", place + 1, word))


def lexicon_page(workspace: Workspace | None = None) -> LexiconPage:
    """Return the page."""
    return LexiconPage(workspace or Workspace.find())


def _tables(run: Run, workspace: Workspace) -> dict[str, pd.DataFrame]:
    """Return tables of word translations by their origin, as returned by `analysis.lexical.lexicon`."""
    tables = {LEARNED: system_translations(system_of(run), k=_K)}
    aligner = _aligner(run, workspace)
    if aligner and (table := aligner.translation_table) is not None:
        tables[ALIGNED] = table_translations(aligner.pipeline, table, k=_K)
    try:
        languages = run.recipe.corpus
        corpus = ParallelCorpus.open(workspace.corpus_folder(languages.name), languages.source, languages.target)
    except NmtlabError:
        return tables
    if has_gold(corpus):
        gold = gold_translations(corpus, run.pipeline)
        share = 1 / gold.groupby("source")["target"].transform("size")
        tables[GOLD] = gold.assign(probability=share)
    return tables


def _aligner(run: Run, workspace: Workspace) -> Run | None:
    """Return a run on the same text that has an aligner's table."""
    index = RunIndex(workspace)
    corpora = index.read(lambda name: index.fact(name, "corpus of its table", _corpus_of_table))
    index.save()
    wanted = run.recipe.corpus.model_dump(mode="json")
    name = next((name for name, corpus in corpora.items() if corpus == wanted), None)
    return open_run(name, workspace) if name else None


def _corpus_of_table(run: Run) -> dict[str, Any] | None:
    has_table = run.recipe.model.lexical_table and run.translation_table is not None
    return run.recipe.corpus.model_dump(mode="json") if has_table else None


def _lines(run: Run, offered: Mapping[str, Text]) -> pd.DataFrame:
    """Return the sentences of a run's texts, with its stored translations, if any."""
    tables = [sentences([run], text).reset_index().assign(text=title) for title, text in offered.items()]
    if not tables:
        return pd.DataFrame(columns=["line", "source", "reference", "text"])
    lines = pd.concat(tables, ignore_index=True)
    lines = lines.rename(columns={run.name: "translation", f"{run.name} chrF": "chrF"})
    return lines.set_index(pd.Index([_key(*place) for place in zip(lines["text"], lines["line"], strict=True)]))


def _key(text: str, line: object) -> str:
    return f"{text}: {line}"


def _words(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return a row for each source word, with its translations by each origin."""
    learned = tables[LEARNED]
    shown = learned["target"] + " " + learned["probability"].map("{:.2f}".format)
    frame = learned.groupby("source", sort=False).agg(times=("count", "first"))
    frame["learned"] = _joined(learned["source"], shown)
    for by in (ALIGNED, GOLD):
        if by in tables:
            frame[by] = _joined(tables[by]["source"], tables[by]["target"])
    return frame.reset_index(names="word").set_index("word", drop=False)


def _joined(sources: pd.Series, texts: pd.Series) -> pd.Series:
    """Return the texts of each source word in one; pandas takes half a second for it."""
    found: dict[str, list[str]] = {}
    for source, text in zip(sources, texts, strict=True):
        found.setdefault(source, []).append(text)
    return pd.Series({source: ", ".join(all_of_it) for source, all_of_it in found.items()}, dtype=object)


def _legend(tables: dict[str, pd.DataFrame]) -> str:
    parts = ["Learned: the lexicon of the lexical module, trained with the system and without word alignment."]
    if ALIGNED in tables:
        parts.append("Aligner: p(target | source) from word alignment, taken from the arthur run on the same text.")
    else:
        parts.append("To compare with an aligner's lexicon, train the recipe arthur on the same text.")
    if GOLD in tables:
        parts.append("Gold: the true lexicon of the artificial language, with equal probability for each form.")
    return " ".join(parts)
