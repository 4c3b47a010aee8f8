"""Five readings of the cross-entropy of a pair: one number, and that of forced decoding."""

import pytest

from nmtlab.analysis.search.readings import readings
from nmtlab.errors import CorpusError
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model


def test_all_five_are_one_number_which_forced_decoding_has_too(zoo, tiny_corpus):
    run = zoo("learned")
    source, target = next(tiny_corpus.pairs("test"))
    found = readings(run, source, target)
    assert len(found) == 5
    assert found["nats"].tolist() == pytest.approx([found["nats"][0]] * 5, rel=1e-10)
    system = open_model(run)
    ids = [system.pipeline.source_ids(source)], system.pipeline.encode_target([target])
    ((_, forced),) = forced_decode_all(system.model, *ids)
    assert found["nats"][0] == pytest.approx(-forced.log_prob, rel=1e-5)
    assert next(system.model.parameters()).dtype.itemsize == 4  # as it was


def test_the_probability_of_a_long_sentence_is_too_small_for_a_float_but_has_a_logarithm(zoo, tiny_corpus):
    source, target = next(tiny_corpus.pairs("test"))
    found = readings(zoo("learned"), source, " ".join([target] * 80))
    assert found["nats"][0] > 800
    assert found["nats"].tolist() == pytest.approx([found["nats"][0]] * 5, rel=1e-10)


@pytest.mark.parametrize("pair", [("", "a dog"), ("ein hund", " ")])
def test_a_blank_sentence_is_refused(zoo, pair):
    with pytest.raises(CorpusError, match="blank"):
        readings(zoo("learned"), *pair)
