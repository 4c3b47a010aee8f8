"""The lexicon and the phrases of a run: translations of its types, by word alignment of its training text."""

from collections.abc import Iterable, Iterator

from nmtlab.alignment.phrases import PhraseTable
from nmtlab.alignment.table import LexicalTable
from nmtlab.runs.run import TABLE, Run
from nmtlab.systems import PHRASES, phrases_of
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.training.earlier_texts import text_of
from nmtlab.workspace import Workspace


def align_run(run: Run, workspace: Workspace) -> LexicalTable:
    """Return the lexicon of a run, which is learned from its training text and kept with the run the first time.

    Raises:
        RunError: its training text is not here, or it was imported.
    """
    if (known := run.translation_table) is not None:
        return known
    table = learned_lexicon(_encoded(run, workspace), run.pipeline.source.size)
    table.save(run.notes.folder / TABLE)
    return table


def align_phrases(run: Run, workspace: Workspace) -> PhraseTable:
    """Return the phrases of a run, which are learned from its training text and kept with the run the first time.

    Raises:
        RunError: as of `align_run`; or the file of the phrases is damaged.
    """
    if run.notes.path(PHRASES).exists():
        return phrases_of(run)
    from nmtlab.alignment.aligner import WordAligner  # its library takes a second to load

    pairs = list(_pairs(_encoded(run, workspace)))
    table = PhraseTable.learned(pairs, WordAligner.train(pairs).align(pairs))
    table.save(run.notes.folder / PHRASES)
    return table


def _encoded(run: Run, workspace: Workspace) -> list[EncodedCorpus]:
    texts = text_of(run, workspace, "word alignment", "choose a run whose text is here")
    pipeline = run.pipeline.learned or run.pipeline
    return [EncodedCorpus.open(workspace.cache, pipeline.directed(*one.direction), one) for one in texts]


def learned_lexicon(texts: Iterable[EncodedCorpus], source_types: int) -> LexicalTable:
    """Return p(target | source) of the types of encoded texts, given the size of the source vocabulary."""
    from nmtlab.alignment.aligner import translation_table  # its library takes a second to load

    return translation_table(_pairs(texts), source_types)


def _pairs(texts: Iterable[EncodedCorpus]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the ids of the pairs of texts, without EOS."""
    return ((text.source(n)[:-1].tolist(), text.target(n)[:-1].tolist()) for text in texts for n in range(len(text)))
