"""Blind judgements: people say which of two translations is better, without knowing whose they are.

sheet = Sheet(run.notes.path("judgements"), compared, "fixnorm-lex", "tied")
item = sheet.next_item("Ana")
sheet.judge("Ana", item.line, "left")
print(preference(sheet.judgements()), agreement(sheet.judgements()))
"""

import hashlib
import json
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.errors import NmtlabError
from nmtlab.files import write_text
from nmtlab.reading import read_json

Choice = Literal["left", "right", "equal"]

COLUMNS = ["person", "line", "better"]
"""`better` is `system`, `than` or `equal`."""


class Item(NamedTuple):
    """A sentence to judge: two translations in random order."""

    line: int
    source: str
    reference: str
    left: str
    right: str


class _Judgement(BaseModel):
    line: int
    better: Literal["system", "than", "equal"]


class _OfPerson(BaseModel):
    person: str
    system: str
    than: str
    judgements: list[_Judgement] = []


class Sheet:
    """The sentences that two systems translate differently, in an order drawn by lot, and what people said of them.

    Each person has a file, written after every judgement. Order and sides are the same for everybody, and follow from
    the translations: other translations are another sheet.

    Args:
        folder: where the judgements of all sheets are kept, such as in the folder of the system's run.
        compared: with both systems; of several seeds, the first translations are judged.
        system: the one.
    """

    def __init__(self, folder: Path, compared: Compared, system: str, than: str) -> None:
        self.system, self.than = system, than
        one, other = compared.systems[system][0], compared.systems[than][0]
        text = json.dumps([list(compared.source), list(one), list(other)], ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).digest()
        self._folder = folder / digest.hex()[:10]
        generator = np.random.default_rng(list(digest))
        different = [line for line, (a, b) in enumerate(zip(one, other, strict=True), start=1) if a != b]
        self._swapped = dict(zip(different, generator.random(len(different)) < 0.5, strict=True))
        self._items = {
            line: self._item(compared, one[line - 1], other[line - 1], line)
            for line in generator.permutation(different).tolist()
        }

    def __len__(self) -> int:
        return len(self._items)

    def next_item(self, person: str) -> Item | None:
        """Return the first sentence that a person has not judged yet; None after the last.

        Raises:
            RunError: the person's file is damaged.
        """
        judged = {one.line for one in self._of(person).judgements}
        return next((item for line, item in self._items.items() if line not in judged), None)

    def judge(self, person: str, line: int, choice: Choice) -> None:
        """Keep what a person says of a sentence; a second judgement replaces the first.

        Args:
            person: a name, not empty.
            choice: the better side, or `equal`.

        Raises:
            NmtlabError: no name is given.
            RunError: the person's file is damaged.
        """
        if not person.strip():
            raise NmtlabError("no name: whose judgement is it?", "give the name of the person who judges")
        better = "equal" if choice == "equal" else "than" if (choice == "left") == self._swapped[line] else "system"
        found = self._of(person)
        found.judgements = [
            *(one for one in found.judgements if one.line != line),
            _Judgement(line=line, better=better),
        ]
        write_text(self._file(person), found.model_dump_json(indent=1) + "\n")

    def judgements(self) -> pd.DataFrame:
        """Return all judgements of this sheet: a row for each `person` and `line`, with `better` (see `COLUMNS`).

        Raises:
            RunError: a file is damaged.
        """
        people = [self._read(path) for path in sorted(self._folder.glob("*.json"))]
        rows = [(one.person, given.line, given.better) for one in people for given in one.judgements]
        return pd.DataFrame(rows, columns=COLUMNS)

    def _item(self, compared: Compared, one: str, other: str, line: int) -> Item:
        left, right = (other, one) if self._swapped[line] else (one, other)
        return Item(line, compared.source[line - 1], compared.references[0][line - 1], left, right)

    def _of(self, person: str) -> _OfPerson:
        path = self._file(person)
        if path.exists():
            return self._read(path)
        return _OfPerson(person=person.strip(), system=self.system, than=self.than)

    def _read(self, path: Path) -> _OfPerson:
        remedy = "remove it; that person's judgements of these translations are lost"
        return _OfPerson(**read_json(path, _OfPerson, remedy))

    def _file(self, person: str) -> Path:
        return self._folder / f"{hashlib.sha256(person.strip().encode()).hexdigest()[:10]}.json"


def preference(judgements: pd.DataFrame) -> dict[str, float]:
    """Return how often people prefer the one system to the other.

    Every sentence counts once, by the majority of those who judged it; a tie counts as equal.

    Args:
        judgements: of `Sheet.judgements`.

    Returns:
        `people`; `sentences`; `system`, `than` and `equal`, sentences for each; `share` of `system` among those with a
        preference, with its 95 % interval (Wilson) from `low` to `high`, NaN without any.
    """
    votes = judgements["better"].map({"system": 1, "than": -1, "equal": 0}).groupby(judgements["line"]).sum()
    system, than = int((votes > 0).sum()), int((votes < 0).sum())
    decided = system + than
    low, high = proportion_confint(system, decided, method="wilson") if decided else (np.nan, np.nan)
    return {
        "people": judgements["person"].nunique(), "sentences": len(votes), "system": system, "than": than,
        "equal": len(votes) - decided, "share": system / decided if decided else np.nan, "low": low, "high": high,
    }  # fmt: skip


def agreement(judgements: pd.DataFrame) -> pd.DataFrame:
    """Return how far each two people agree on the sentences that both have judged.

    Args:
        judgements: of `Sheet.judgements`.

    Returns:
        A row for each pair with a sentence in common: `one`, `other`; `sentences`; `agreement`, the share of equal
        judgements; `kappa` (Cohen 1960), NaN if both always say the same.
    """
    wide = judgements.pivot(index="line", columns="person", values="better")
    rows = []
    for one, other in combinations(wide.columns, 2):
        both = wide[[one, other]].dropna()
        if len(both):
            several = len(pd.unique(both.to_numpy().ravel())) > 1
            kappa = float(cohen_kappa_score(both[one], both[other])) if several else np.nan
            rows.append((one, other, len(both), float((both[one] == both[other]).mean()), kappa))
    return pd.DataFrame(rows, columns=["one", "other", "sentences", "agreement", "kappa"])
