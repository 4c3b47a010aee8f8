"""Claims at two budgets."""

import pandas as pd

from nmtlab.experiments.claims.budgets import at_two_budgets


def line(evidence: str, effect: float, verdict: str, pair: str = "de-en", system: str = "b") -> dict:
    return {
        "claim": f"{system} is better than a ({evidence}).", "source": "thesis", "direction": f"{system} − a",
        "pair": pair, "text": f"{pair}, captions", "metric": "test BLEU", "seeds": 3, "effect": effect,
        "low": effect - 1, "high": effect + 1, "verdict": verdict, "budget": evidence, "evidence": evidence,
    }  # fmt: skip


def test_a_claim_stands_beside_itself_trained_out_and_says_whether_its_verdict_changed():
    measured = pd.DataFrame(
        [
            line("table-3.13.small.csv", 2.8, "reproduced here"),
            line("table-3.13.small.csv", 0.9, "inconclusive", system="c"),
            line("table-3.13.small.csv", 3.0, "reproduced here", pair="gl-en"),  # not trained out
            line("table-3.17.small.csv", 9.0, "reproduced here"),  # another table
            line("table-3.13-trained-out.small.csv", 0.4, "inconclusive"),
            line("table-3.13-trained-out.small.csv", 0.8, "inconclusive", system="c"),
        ]
    )
    both = at_two_budgets(measured)
    assert both["effect_short"].tolist() == [2.8, 0.9]
    assert both["effect_long"].tolist() == [0.4, 0.8]
    assert both["claim"].str.contains("3.13.small").all()
    assert both["changed"].tolist() == [True, False]


def test_without_a_second_budget_there_are_no_lines():
    assert at_two_budgets(pd.DataFrame([line("table-3.13.small.csv", 1.0, "inconclusive")])).empty
