"""Meanings of sentences, independent of any language.

A sentence is one row of a fixed frame of slots: two clauses, each with noun phrases, relative clauses and a verb. A
slot has a concept (0: empty) and the features marked on its word. Each language reads the same frame in a different
order, so a block of sentences is a few integer arrays, without any loop over sentences.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from nmtlab.text.artificial.concepts import PEOPLE, Chances, Concepts, Flags, Ids
from nmtlab.text.artificial.words import NOUN_GROUPS

BLOCK = 4096
"""Number of sentences drawn together; sentence i is always row i % BLOCK of block i // BLOCK."""

PHRASE = ("det", "adj", "title", "first", "head")
CLAUSE = (
    *(f"subject.{slot}" for slot in (*PHRASE, "who", "verb", *(f"object.{slot}" for slot in PHRASE))),
    *("aux", "not", "verb", "pred"),
    *(f"object.{slot}" for slot in (*PHRASE, "who", "verb", *(f"object.{slot}" for slot in PHRASE))),
    *(f"place.{slot}" for slot in ("adposition", *PHRASE)),
    *("manner", "time"),
)
SLOTS = ("nothing", *(f"{clause}.{slot}" for clause in "ab" for slot in CLAUSE), "comma", "conn", "that", "stop")
SLOT = {name: number for number, name in enumerate(SLOTS)}

SIMPLE, COORDINATE, SUBORDINATE, REPORT = range(4)

CASES = ("", "object", "to", "in", "from", "of")
POSSESSORS = ("", "my", "your", "our")
NUMBERS = ("", "plural")
POLARITIES = ("", "not")
TENSES = ("past", "present", "future")
PERSONS = ("I", "you", "he", "we", "they")

NOMINAL = tuple(product(NUMBERS, POSSESSORS, CASES))
VERBAL = tuple(product(POLARITIES, TENSES, PERSONS))
PARTICIPLE = ("participle",)
FEATURES = (*NOMINAL, *VERBAL, *(("be", *marks) for marks in VERBAL), PARTICIPLE)
"""Features of an agglutinative word, one suffix each; number 0 has none."""
UNSAID = -1
"""Value instead of a feature: the slot has a word only in English."""

_SUBJECTS = {
    "absent": "pronoun .15 person .33 animal .09 thing .05 place .02 topic .02 policy .02 text .01 food .01 "
    "scientist .08 politician .08 writer .07 artist .07",
    "say": "pronoun .24 person .36 scientist .1 politician .1 writer .1 artist .1",
}
_ANYONE = (
    "see .15 meet .12 feed .03 eat .08 buy .13 read .07 study .04 govern .03 visit .08 give .08 go .08 act .08 be .03"
)
_VERBS = {
    "pronoun": _ANYONE,
    "person": _ANYONE,
    "animal": "see .25 eat .25 go .2 act .2 be .1",
    "thing": "happen .5 be .5",
    "place": "happen .2 be .8",
    **dict.fromkeys(("topic", "policy", "text", "food"), "be 1"),
    "scientist": "study .5 meet .1 see .05 read .12 go .08 give .07 be .08",
    "politician": "govern .5 meet .12 visit .12 go .08 give .08 be .1",
    "writer": "read .5 meet .1 see .12 visit .06 act .06 give .08 be .08",
    "artist": "act .25 see .25 read .15 buy .1 meet .1 go .07 be .08",
}
_RELATIVE_VERBS = {
    "person": "see .3 meet .2 buy .2 eat .1 visit .1 read .1",
    "animal": "see .5 eat .5",
}
_SOMEONE = "person .4 pronoun .12 scientist .12 politician .12 writer .12 artist .12"
_OBJECTS = {
    "see": "person .28 animal .2 thing .2 place .08 pronoun .06 scientist .03 politician .03 writer .03 artist .04 "
    "city .03 river .02",
    "meet": _SOMEONE,
    "feed": "animal 1",
    "eat": "food 1",
    "buy": "thing .85 food .1 text .05",
    "read": "text 1",
    "study": "topic 1",
    "govern": "policy 1",
    "visit": "place .6 city .4",
    "give": "thing .6 text .25 food .15",
}
_ADPOSITIONS = {
    "go": "to .55 from .3 near .05",
    "act": "in .45 near .15 behind .08 with .12",
    "see": "in .2 near .06",
    "meet": "in .25 near .04",
    "buy": "in .15 from .05",
    "read": "in .12 with .08",
    "eat": "in .15 with .15",
    "study": "in .08 with .15",
    "happen": "in .25 behind .1",
    "visit": "with .25",
    "govern": "in .08 with .06",
    "feed": "in .2",
    "give": "to 1",
}
_PLACES = {
    **dict.fromkeys(("in", "from", "to"), "place .6 city .4"),
    "near": "place .4 city .25 river .35",
    "behind": "place 1",
    "with": _SOMEONE,
}
_RECIPIENTS = {"give": _SOMEONE}
_MANNERS = {
    **dict.fromkeys(("go", "act", "eat", "read"), "manner .25"),
    **dict.fromkeys(("buy", "study", "feed", "give"), "manner .18"),
    **dict.fromkeys(("govern", "happen", "say"), "manner .08"),
}
_ADJECTIVES = {
    **dict.fromkeys(("pronoun", "person", "animal", *PEOPLE), "living .6 adjective .4"),
    **dict.fromkeys(("food", "thing", "place"), "material .5 adjective .5"),
    **dict.fromkeys(("text", "topic", "policy"), "idea .6 adjective .4"),
}
_POSSESSOR = np.array([1, 2, 0, 3, 0])  # of I, you, he, we, they; his and their are separate words
_FORM_OF_BE = np.array([0, 2, 1, 2, 2])  # am, are, is, are, are
_NOMINAL_SHAPE = (len(NUMBERS), len(POSSESSORS), len(CASES))
_VERBAL_SHAPE = (len(POLARITIES), len(TENSES), len(PERSONS))


@dataclass(frozen=True)
class Block:
    """Meanings of `BLOCK` sentences.

    Attributes:
        kind: (sentences,), SIMPLE, COORDINATE, SUBORDINATE or REPORT.
        concept: (sentences, slots), concept of each slot.
        form: (sentences, slots), which of the three forms the English-like word takes.
        feature: (sentences, slots), features marked on a source word, or UNSAID.
    """

    kind: Ids
    concept: Ids
    form: Ids
    feature: Ids


class Grammar:
    """Draws sentence meanings over the concepts of a vocabulary."""

    def __init__(self, concepts: Concepts) -> None:
        self.concepts = concepts
        group = concepts.group
        self.subjects = _Table(group, _SUBJECTS)
        self.verbs = _Table(group, _VERBS)
        self.relative_verbs = _Table(group, _RELATIVE_VERBS)
        self.objects = _Table(group, _OBJECTS)
        self.adpositions = _Table(group, _ADPOSITIONS)
        self.recipients = _Table(group, _RECIPIENTS)
        self.places = _Table(group, _PLACES)
        self.manners = _Table(group, _MANNERS)
        self.adjectives = _Table(group, _ADJECTIVES)
        self.title = _lookup(group, {**{name: f"{name} title" for name in PEOPLE}, "river": "river title"})
        self.common = np.isin(np.arange(len(group)), [group[name] for name in NOUN_GROUPS])
        self.people = np.isin(np.arange(len(group)), [group[name] for name in PEOPLE])
        self.case = np.zeros(len(group), dtype=np.int64)
        for name in ("to", "in", "from"):
            self.case[group[name]] = CASES.index(name)
        self.person = np.full(len(concepts.concepts), PERSONS.index("he"))
        for pronoun in concepts.members("pronoun"):
            word = concepts.concepts[pronoun].words[0][0]
            self.person[pronoun] = PERSONS.index("he" if word == "she" else word)

    def draw(self, seed: int, number: int) -> Block:
        """Return the meanings of block `number`, which depend only on the seed and the number."""
        draft = _Draft(self, seed, number)
        kind = draft.pick(0.6, 0.17, 0.1, 0.13)
        tense = draft.pick(0.6, 0.28, 0.12)
        draft.clause("a", tense, kind == REPORT)
        draft.clause("b", tense, np.zeros(BLOCK, dtype=bool))
        draft.concept[kind == SIMPLE, SLOT["b.subject.det"] : SLOT["b.time"] + 1] = 0
        group = self.concepts.group
        conn = np.array([0, group["coordinator"], group["subordinator"], 0])[kind]
        draft.put("conn", draft.draw(conn))
        draft.put("comma", np.where(conn, self.concepts.only(","), 0))
        draft.put("that", np.where(kind == REPORT, self.concepts.only("that"), 0))
        draft.put("stop", self.concepts.only("."))
        return Block(kind, draft.concept, draft.form, draft.feature)


class _Table:
    """Probabilities of groups given a group; the remainder to 1 goes to the absent group."""

    def __init__(self, group: dict[str, int], rows: dict[str, str]) -> None:
        shares = np.zeros((len(group), len(group)))
        for row, text in rows.items():
            parts = text.split()
            for choice, share in zip(parts[::2], parts[1::2], strict=True):
                shares[group[row], group[choice]] = float(share)
        shares[:, 0] = 1 - shares.sum(axis=1)
        self._choices = np.flatnonzero(shares.any(axis=0))
        self._cumulative = np.cumsum(shares[:, self._choices], axis=1)
        self._cumulative[self._cumulative > 1 - 1e-9] = 1

    def choose(self, row: Ids, chances: Chances) -> Ids:
        """Return a group for each row's group."""
        return self._choices[(chances[:, None] >= self._cumulative[row]).sum(axis=1)]


def _lookup(group: dict[str, int], names: dict[str, str]) -> Ids:
    table = np.zeros(len(group), dtype=np.int64)
    for name, found in names.items():
        table[group[name]] = group[found]
    return table


class _Draft:
    """A block under construction, with its random generator."""

    def __init__(self, grammar: Grammar, seed: int, number: int) -> None:
        self._grammar = grammar
        self._concepts = grammar.concepts
        self._random = np.random.default_rng([seed, number])
        self.concept, self.form, self.feature = (np.zeros((BLOCK, len(SLOTS)), dtype=np.int64) for _ in range(3))

    def put(self, slot: str, concept: Ids | int, form: Ids | int = 0, feature: Ids | int = 0) -> None:
        column = SLOT[slot]
        self.concept[:, column] = concept
        self.form[:, column] = form
        self.feature[:, column] = feature

    def happens(self, chance: float) -> Flags:
        return self._random.random(BLOCK) < chance

    def pick(self, *shares: float) -> Ids:
        """Return an index into `shares` for each row, drawn with these probabilities."""
        return np.searchsorted(np.cumsum(shares)[:-1], self._random.random(BLOCK), side="right")

    def choose(self, table: _Table, row: Ids) -> Ids:
        return table.choose(row, self._random.random(BLOCK))

    def draw(self, group: Ids | int) -> Ids:
        return self._concepts.draw(group, self._random.random(BLOCK))

    def clause(self, c: str, tense: Ids, speech: Flags) -> None:
        """Fill clause `c`: who does what to whom, where, how and when."""
        grammar, group = self._grammar, self._concepts.group
        doer = self.choose(grammar.subjects, np.where(speech, group["say"], 0))
        person = self.noun_phrase(f"{c}.subject", doer, CASES.index(""))
        self.relative(f"{c}.subject", doer)
        deed = np.where(speech, group["say"], self.choose(grammar.verbs, doer))
        self.verb(c, deed, doer, tense, person, self.happens(0.12) & ~speech)
        thing = self.choose(grammar.objects, deed)
        self.noun_phrase(f"{c}.object", thing, CASES.index("object"))
        self.relative(f"{c}.object", thing)
        adposition = self.choose(grammar.adpositions, deed)
        recipient = self.choose(grammar.recipients, deed)
        place = np.where(recipient, recipient, self.choose(grammar.places, adposition))
        self.put(f"{c}.place.adposition", self.draw(adposition), feature=np.where(grammar.case[adposition], UNSAID, 0))
        self.noun_phrase(f"{c}.place", place, grammar.case[adposition])
        self.put(f"{c}.manner", self.draw(self.choose(grammar.manners, deed)))
        times = np.array([group[name] for name in TENSES])[tense]
        self.put(f"{c}.time", self.draw(np.where(self.happens(0.22), times, 0)))

    def noun_phrase(self, x: str, kind: Ids, case: Ids | int) -> Ids:
        """Fill noun phrase `x` with a concept of group `kind` and return its person, for verb agreement."""
        grammar, group = self._grammar, self._concepts.group
        people = grammar.people[kind]
        plural = grammar.common[kind] & self.happens(0.28)
        head = self.draw(kind)
        titled = (people & self.happens(0.35)) | (kind == group["river"])
        named_in_full = people & np.where(titled, self.happens(0.8), self.happens(0.5))
        described = self.happens(0.3) & (grammar.common[kind] | (titled & people))
        adjective = np.where(people, group["nationality"], self.choose(grammar.adjectives, kind))
        possessor = self.determiner(x, grammar.common[kind], plural, titled)
        self.put(f"{x}.adj", self.draw(np.where(described, adjective, 0)))
        self.put(f"{x}.title", self.draw(np.where(titled, grammar.title[kind], 0)))
        self.put(f"{x}.first", np.where(named_in_full, self._concepts.first_name[head], 0))
        pronoun_as_object = (kind == group["pronoun"]) & (not x.endswith("subject"))
        marks = np.ravel_multi_index(np.broadcast_arrays(plural, possessor, case), _NOMINAL_SHAPE)
        self.put(f"{x}.head", head, np.where(pronoun_as_object, 1, plural), marks)
        return np.where(plural, PERSONS.index("they"), grammar.person[head])

    def determiner(self, x: str, common: Flags, plural: Flags, titled: Flags) -> Ids:
        """Fill the determiner and return the possessor marked on the noun."""
        group = self._concepts.group
        quantifier = np.where(plural, group["many"], group["each"])
        some = [group["the"], group["a"], group["demonstrative"], group["pronoun"], 0]
        kind = np.array(some)[self.pick(0.44, 0.25, 0.08, 0.15, 0.08)]
        kind = np.where(common, np.where(kind, kind, quantifier), np.where(titled, group["the"], 0))
        det = self.draw(kind)
        possessive = kind == group["pronoun"]
        possessor = np.where(possessive, _POSSESSOR[self._grammar.person[det]], 0)
        genitive = np.where(possessive & (possessor == 0), CASES.index("of"), 0)
        unsaid = (kind == group["the"]) | (possessor > 0)
        self.put(f"{x}.det", det, np.where(possessive, 2, plural), np.where(unsaid, UNSAID, genitive))
        return possessor

    def relative(self, x: str, kind: Ids) -> None:
        """Fill a relative clause about `x`, at random and if its group has verbs."""
        grammar, group = self._grammar, self._concepts.group
        deed = np.where(self.happens(0.14), self.choose(grammar.relative_verbs, kind), 0)
        who = np.where(kind == group["person"], group["who"], group["which"])
        self.put(f"{x}.who", self.draw(np.where(deed, who, 0)))
        self.put(f"{x}.verb", self.draw(deed), form=2, feature=FEATURES.index(PARTICIPLE))
        self.noun_phrase(f"{x}.object", self.choose(grammar.objects, deed), CASES.index("object"))

    def verb(self, c: str, deed: Ids, doer: Ids, tense: Ids, person: Ids, negative: Flags) -> None:
        """Fill verb and auxiliaries, or the copula and its adjective."""
        grammar, concepts = self._grammar, self._concepts
        past, future = tense == TENSES.index("past"), tense == TENSES.index("future")
        copula = deed == concepts.group["be"]
        third = person == PERSONS.index("he")
        aux = np.select(
            [future, copula & past, copula, negative & past, negative],
            [concepts.only(word) for word in ("will", "was", "is", "did", "do")],
        )
        self.put(f"{c}.aux", aux, np.where(copula, _FORM_OF_BE[person], third), UNSAID)
        self.put(f"{c}.not", np.where(negative, concepts.only("not"), 0), feature=UNSAID)
        inflected = np.select([future | negative, past], [0, 2], third)
        verb = np.where(copula & ~future, 0, self.draw(deed))
        marks = np.ravel_multi_index((negative, tense, person), _VERBAL_SHAPE)
        self.put(f"{c}.verb", verb, inflected, np.where(copula, UNSAID, len(NOMINAL) + marks))
        quality = np.where(copula, self.choose(grammar.adjectives, doer), 0)
        self.put(f"{c}.pred", self.draw(quality), feature=len(NOMINAL) + len(VERBAL) + marks)
