"""Controlled languages: parallel corpora of any size whose truth is known.

These are not natural languages. They are grown from a seed to ask questions that natural corpora cannot answer: which
word is the translation of which, what a rare name should have become, how many translations a sentence has. Plain text
comes out, one sentence a line, every word and mark between spaces, so that white-space words are what the gold links
count and the Moses tokenizer changes nothing.

The target language, `en`, is English-like: some 400 English concepts (more are invented), Zipf's law in each of their
groups, articles, agreement, tenses, negation, relative clauses, coordination, subordination, reported speech; 3 to
about 30 words in a sentence, 10.7 on average. The source languages are a family (ISO 639 keeps qaa to qtz for private
use). They have the same roots and borrow the same names, but differ by regular sound laws and in their suffixes, so
that sisters share many pieces of words and few words:

| code | name | order of words | writing | of its own |
| --- | --- | --- | --- | --- |
| `qaa` | Nara | subject object verb, postpositions, adjective before noun | Latin | no vowel harmony |
| `qab` | Nari | as Nara | Latin, ş ç c | vowel harmony; I, you and we are left out as subjects |
| `qac` | Nuru | subject object verb, postpositions, adjective after noun | Uyghur Arabic letters | vowel harmony |
| `qad` | Neru | subject verb object, prepositions, adjective after noun | Latin | relative pronouns, no vowel harmony |

All glue suffixes to their stems: number, possessor and case to nouns; negation, tense and person to verbs. The Latin
reading of Nuru is `nmtlab.text.transliteration.UYGHUR_LATIN`. Names have classes (scientists, cities ...): those of a
class stand in the same sentences and differ in frequency alone, as Fauci and Chan in thesis 3.2.1.

The knobs (`SeedlingSettings`): `seed` grows another family and other sentences; `vocabulary` and `names` lengthen the
tail of rare words; `ambiguity` lets the English side choose freely between synonyms, between two orders of time and of
subordinate clauses, and between saying and leaving out 'that', which nothing in the source tells.

    language = SeedlingLanguage("qaa")
    for pair in language.pairs(3):
        print(pair.source, pair.target, pair.links)
    write_corpus(Path("data/corpora/nara"), ["qaa"], train=8000)
"""

from nmtlab.text.seedlings.corpus import write_corpus
from nmtlab.text.seedlings.family import FAMILY
from nmtlab.text.seedlings.language import LexiconEntry, Name, SeedlingLanguage, SeedlingPair
from nmtlab.text.seedlings.settings import SeedlingSettings

__all__ = [
    "FAMILY",
    "LexiconEntry",
    "Name",
    "SeedlingLanguage",
    "SeedlingPair",
    "SeedlingSettings",
    "write_corpus",
]
