"""How the scores of a table were computed."""

from nmtlab.analysis.metrics import find_metric
from nmtlab.grids.results.schemas import SIGNATURES
from nmtlab.grids.results.signatures import printed_signatures, signatures
from nmtlab.thesis.tables.listing import find_table


def of(table: str) -> dict[tuple[str, str], str]:
    found = signatures(find_table(table), "small")
    assert list(found.columns) == [*SIGNATURES.columns]
    return found.set_index(["row", "metric"])["signature"].to_dict()


def test_a_score_has_the_signature_of_its_measure_and_language():
    found = of("table-3.6")
    assert "|tok:13a|smooth:exp|" in found["tu-en", "test-bleu"]
    assert "|tok:none|smooth:none|" in found["en-ja (Tanaka)", "test-bleu"]  # multi-bleu
    assert all(signature.startswith("nrefs:1|") for signature in found.values())
    assert ("en-vi", "test-bleu") not in found  # not run at this scale
    assert "|nc:6|" in of("many-languages")["gl-en", "test-chrf"]


def test_bleu_by_another_search_has_a_signature_and_what_is_no_score_has_none():
    found = of("length-planning")
    assert "|tok:13a|" in found["de-en", "bleu-log-prob-4"]
    assert {find_metric(key).unit for _, key in found} == {"BLEU"}
    assert of("gradients") == {}


def test_measures_and_languages_with_one_signature_are_one_line():
    english, japanese = printed_signatures(signatures(find_table("table-3.6"), "small"))
    assert english.startswith("test BLEU into en: nrefs:1|")
    assert japanese.startswith("test BLEU into ja: nrefs:1|")
    (line,) = printed_signatures(signatures(find_table("length-planning"), "small"))
    assert " measures into en: " in line
