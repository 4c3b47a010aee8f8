"""The lexicon of a run: p(target | source) of its types, by word alignment of its training text."""

from collections.abc import Iterable

from nmtlab.alignment.table import LexicalTable
from nmtlab.runs.run import TABLE, Run
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
    texts = text_of(run, workspace, "word alignment", "choose a run whose text is here")
    pipeline = run.pipeline.learned or run.pipeline
    encoded = [EncodedCorpus.open(workspace.cache, pipeline.directed(*one.direction), one) for one in texts]
    table = learned_lexicon(encoded, run.pipeline.source.size)
    table.save(run.notes.folder / TABLE)
    return table


def learned_lexicon(texts: Iterable[EncodedCorpus], source_types: int) -> LexicalTable:
    """Return p(target | source) of the types of encoded texts, given the size of the source vocabulary."""
    from nmtlab.alignment.aligner import translation_table  # its library takes a second to load

    pairs = ((text.source(n)[:-1].tolist(), text.target(n)[:-1].tolist()) for text in texts for n in range(len(text)))
    return translation_table(pairs, source_types)
