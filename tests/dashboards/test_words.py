"""The pages on words open at what they are about, and say it in numbers that hold."""

import pytest
from dashboards.conftest import workspace_of
from dashboards.test_pages import make, told

from nmtlab.analysis.access.texts import texts
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.analysis.lexical.lexicon import agreement, system_translations, table_translations
from nmtlab.analysis.lexical.logits import decompose, with_radius
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages import logits, norms
from nmtlab.figures.words import number
from nmtlab.runs.listing import open_run

TIED, LEX, ARTHUR = (f"small-tr-en.{name}.s1" for name in ("tied", "fixnorm-lex", "arthur"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return workspace_of(tmp_path_factory.mktemp("words") / "data", (TIED, LEX, ARTHUR, *norms.FIRST))


def test_norms_open_with_a_system_whose_norms_grow_and_one_whose_norms_are_fixed(workspace):
    page = make("norms", workspace)
    assert page.runs.table.value == norms.FIRST
    words = word_norms(open_run(norms.FIRST[0], workspace))
    rho = words["count"].rank().corr(words["used_norm"].rank())
    assert rho > 0.5
    assert f"tied: the norm grows with frequency (ρ {number(rho)}); fixnorm: constant" in page.norms.answer.value
    assert "small-qaa-en (qaa → en), seed 1" in page.norms.chart.figure.layout.title.text
    assert not any(fold.opened for fold in page.folds)


def test_a_word_is_explained_where_length_makes_a_frequent_word_win_over_the_right_rare_one(workspace):
    page = make("logits", workspace)
    assert page.runs.table.value == (TIED,)
    assert ((page.sentences.text.value, page.sentences.line), page.position.value) == (logits.SENTENCE, logits.POSITION)
    run = open_run(TIED, workspace)
    (text,) = texts(run, workspace)
    found = rare_choices(system_of(run), text.corpus, "dev")
    (choice,) = found[(found["line"] == 84) & (found["position"] == logits.POSITION - 1)].to_dict("records")
    assert not choice["right"]
    assert choice["gold_count"] < 10 < choice["preferred_count"]
    assert choice["word_cos_effect"] < 0 < choice["word_norm_effect"]
    assert (choice["largest"], choice["alone"]) == ("word_norm", True)
    answer = page.answer.value.replace("&#x27;", "'")
    assert f"“{choice['preferred']}” wins by length ({number(choice['word_norm_effect'], sign=True)})" in answer
    assert f"although the angle favours “{choice['gold']}” ({number(choice['word_cos_effect'], sign=True)})" in answer
    assert page.selection.value == f"target:{logits.POSITION}:{choice['gold']}"
    subtitle = "small-tr-en (tr → en), line 84 of dev, word 2, seed 1"
    assert subtitle in page.waterfall.figure.layout.title.text


def test_with_all_vectors_at_one_norm_the_right_word_wins_there(workspace):
    page = make("logits", workspace)
    page.fixed.value = True
    source, reference = page.sentences.source, page.sentences.reference
    frame = decompose(system_of(open_run(TIED, workspace)), source, reference, logits.POSITION - 1, top=12)
    best, second = with_radius(frame, 5.0).iloc[:2].itertuples()
    assert best.wanted
    assert f"Target word “{best.word}” is at rank 1, ahead of “{second.word}”" in page.answer.value.replace(
        "&#x27;", "'"
    )
    assert "; all vectors at norm 5" in page.waterfall.figure.layout.title.text
    page.radius.value = 3.0
    assert "; all vectors at norm 3" in page.waterfall.figure.layout.title.text


def test_an_error_that_is_found_leads_to_its_sentence_and_position(workspace):
    page = make("logits", workspace)
    page._opened("?open=errors")
    page.find.click()
    assert "the largest effect is" in page.finding.value
    frame = page.wrong.frame
    row = frame[frame["line"] != 84].iloc[0]
    page.wrong.choose([row.name])
    assert (page.sentences.line, page.position.value) == (row["line"], row["position"])
    assert page.selection.value == f"target:{row['position']}:{row['right word']}"
    assert told(page) == ""


def test_the_lexicon_opens_at_a_content_word_on_which_it_and_the_aligner_differ(workspace):
    page = make("lexicon", workspace)
    word, run, aligner = page.words.value, open_run(LEX, workspace), open_run(ARTHUR, workspace)
    assert word.isalpha()
    learned = system_translations(system_of(run), [word]).iloc[0]
    aligned = table_translations(aligner.pipeline, aligner.translation_table, [word]).iloc[0]
    assert learned["target"] != aligned["target"]
    both = (
        f"learned “{learned['target']}” ({number(learned['probability'])}), "
        f"aligner “{aligned['target']}” ({number(aligned['probability'])})"
    )
    assert page.answer.value == f"Learned and aligner disagree on “{word}”: {both}."
    assert "small-tr-en (tr → en), seed 1" in page.chart.figure.layout.title.text
    page._opened("?open=agreement,precision")
    agreed = agreement(page._tables["learned"], page._tables["aligner"])
    assert f"for {100 * agreed['agree'].mean():.0f} % of {len(agreed):,} words" in page.agreed.value
    assert "No true lexicon is here" in page.right.value


def test_the_table_of_source_words_has_the_translations_of_each_origin(workspace):
    page = make("lexicon", workspace)
    learned = system_translations(system_of(open_run(LEX, workspace)), ["kitap"])
    shown = ", ".join(f"{row.target} {row.probability:.2f}" for row in learned.itertuples())
    assert page.words.frame.loc["kitap", "learned"] == shown
    assert page.words.frame.loc["kitap", "times"] == learned["count"].iloc[0]
    aligner = open_run(ARTHUR, workspace)
    aligned = table_translations(aligner.pipeline, aligner.translation_table, ["kitap"])
    assert page.words.frame.loc["kitap", "aligner"] == ", ".join(aligned["target"])


def test_without_an_aligner_the_lexicon_says_what_to_train(tmp_path):
    page = make("lexicon", workspace_of(tmp_path / "data", (LEX,)))
    page._opened("?open=agreement")
    assert told(page) == ""
    assert "train the recipe arthur" in page.agreed.value
    assert page.words.value.isalpha()
