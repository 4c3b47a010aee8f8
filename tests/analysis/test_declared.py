"""Every question is declared once, in a module of its room."""

from collections import Counter

from nmtlab.analysis.declared import declared_analyses

ANALYSES = declared_analyses()


def test_every_question_is_asked_once():
    asked = Counter(analysis.question for analysis in ANALYSES)
    assert [question for question, times in asked.items() if times > 1] == []
    assert [question for question in asked if not question.endswith("?")] == []


def test_no_two_analyses_store_their_answers_under_one_name():
    keys = Counter(analysis.key for analysis in ANALYSES if analysis.version)
    assert [key for key, times in keys.items() if times > 1] == []
