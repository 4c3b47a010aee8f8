"""Artificial languages: parallel corpora of any size with gold annotations.

These are not natural languages. They are generated from a seed to answer questions that natural corpora cannot: which
word translates which, what a rare name should have become, how many translations a sentence has. The output is plain
text, one sentence per line, with words and punctuation separated by spaces: gold links count white-space words, and
the Moses tokenizer changes nothing.

The target language, `en`, is English-like: about 400 English concepts (more are invented), Zipf's law in each group of
concepts, articles, agreement, tenses, negation, relative clauses, coordination, subordination, reported speech; 3 to
about 30 words in a sentence, 10.7 on average. The source languages are a family (ISO 639 keeps qaa to qtz for private
use). They have the same roots and borrow the same names, but differ by regular sound laws and in their suffixes, so
that related languages share many subwords but few words:

| code | name | word order | writing | peculiarities |
| --- | --- | --- | --- | --- |
| `qaa` | Nara | subject object verb, postpositions, adjective before noun | Latin | no vowel harmony |
| `qab` | Nari | as Nara | Latin, ş ç c | vowel harmony; subject pronouns I, you and we dropped |
| `qac` | Nuru | subject object verb, postpositions, adjective after noun | Uyghur Arabic letters | vowel harmony |
| `qad` | Neru | subject verb object, prepositions, adjective after noun | Latin | relative pronouns, no vowel harmony |

All are agglutinative: nouns take number, possessor and case; verbs take negation, tense and person. Nuru is romanised
by `nmtlab.text.segmentation.transliteration.UYGHUR_LATIN`. Names have classes (scientists, cities ...): those of a
class occur in the same contexts and differ only in frequency, like Fauci and Chan in thesis 3.2.1.

The settings (`ArtificialSettings`): `seed` selects another family and other sentences; `vocabulary` and `names`
lengthen the tail of rare words; `ambiguity` lets the English side choose freely between synonyms, between two positions
of time and of subordinate clauses, and between using and omitting 'that', none of which the source determines.

A relative's distance can be set: `cognates`, the share of stems and suffixes that go back to the family's roots (at 0,
a stranger); `sound_changes` in those that do; `order`, the word order of another language. The sentences mean the same.

    language = ArtificialLanguage("qaa")
    for pair in language.pairs(3):
        print(pair.source, pair.target, pair.links)
    write_corpus(Path("data/corpora/nara"), ["qaa"], train=8000)
"""

from nmtlab.text.artificial.family import FAMILY
from nmtlab.text.artificial.language import ArtificialLanguage, ArtificialPair, LexiconEntry, Name
from nmtlab.text.artificial.language_settings import ArtificialSettings
from nmtlab.text.artificial.writing import write_corpus

__all__ = [
    "FAMILY",
    "ArtificialLanguage",
    "ArtificialPair",
    "ArtificialSettings",
    "LexiconEntry",
    "Name",
    "write_corpus",
]
