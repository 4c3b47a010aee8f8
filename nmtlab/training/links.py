"""The word links that guide a run's attention, learned from its training text."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from safetensors.numpy import load, save

from nmtlab.files import replacing
from nmtlab.reading import MAX_BYTES, read_bytes, reading
from nmtlab.runs.run import Run
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.batching.token_links import TokenLinks

LINKS = "links.safetensors"
"""File of a run, with the links of its training text."""


def learn_links(run: Run, mixture: Mixture) -> None:
    """Align the tokens of a run's training text, and keep their links with the run."""
    vocabulary = run.pipeline.source.vocabulary
    links = learned_links(mixture, vocabulary.tag_ids(vocabulary.tags))
    with replacing(run.folder / LINKS) as temporary:
        temporary.write_bytes(save(vars(links)))


def with_links(run: Run, mixture: Mixture) -> Mixture:
    """Return the training text of a run with its links, if they guide its attention.

    Raises:
        RunError: the file of the links is missing or damaged.
    """
    if not run.recipe.training.guided_attention:
        return mixture
    return replace(mixture, links=_loaded(run.folder / LINKS))


def _loaded(path: Path) -> TokenLinks:
    with reading(path, "remove it, and continue the training with --resume: its text is then aligned again"):
        links = TokenLinks(**load(read_bytes(path, 16 * MAX_BYTES)))
        if links.offsets[[0, -1]].tolist() != [0, len(links.source)] or len(links.source) != len(links.target):
            raise ValueError("offsets do not match the links")
        return links


def learned_links(mixture: Mixture, tags: Collection[int] = ()) -> TokenLinks:
    """Return the links of every pair of a mixture, of the texts of a direction together (eflomal, symmetrised).

    EOS and the source's `tags` are linked to nothing.
    """
    from nmtlab.alignment.aligner import WordAligner  # its library takes a second to load

    found: dict[int, list[set[tuple[int, int]]]] = {}
    for direction in dict.fromkeys(text.direction for text in mixture.texts):
        places = [place for place, text in enumerate(mixture.texts) if text.direction == direction]
        pairs = [pair for place in places for pair in _pairs(mixture.texts[place])]
        links = iter(WordAligner.train(pairs).align(pairs))
        for place in places:
            found[place] = [next(links) for _ in range(len(mixture.texts[place]))]
    every = [
        {(s, t) for s, t in links if int(text.source(number)[s]) not in tags}
        for place, text in enumerate(mixture.texts)
        for number, links in enumerate(found[place])
    ]
    return TokenLinks.of_pairs(every)


def _pairs(text: EncodedCorpus) -> list[tuple[list[int], list[int]]]:
    return [(text.source(number)[:-1].tolist(), text.target(number)[:-1].tolist()) for number in range(len(text))]
