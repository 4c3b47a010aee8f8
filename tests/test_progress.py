"""The progress of a training without a terminal."""

from nmtlab.progress import ProgressBar
from nmtlab.training.events import Ended, Prepared, Preparing, Progress, Validated


def test_every_evaluation_and_the_end_are_told_in_a_line_each(capsys):
    bar = ProgressBar()
    for event in (
        Preparing("encoding the corpus"),
        Prepared(parameters=1000, pairs=5, skipped={"too long": 3, "blank side": 0}, updates=200),
        Progress(100, 200, 1.2, 3.3, 5000.0, 0.5, 1e-3, 60.0, 60.0),
        Validated(100, 12.0, 3.0, 12.0, 61.0, 61.0, is_best=True),
        Validated(200, 11.0, 3.5, 12.0, 3725.0, 0.0, chrf=41.26),
        Ended("finished", 200, 12.0, 3725.0),
    ):
        bar(event)
    assert capsys.readouterr().out.splitlines() == [
        "encoding the corpus ...",
        "1,000 parameters; 5 training pairs (left out: 3 too long); at most 200 updates",
        "update    100  1:01  dev BLEU 12.00  perplexity     3.00 *",
        "update    200  1:02:05  dev BLEU 11.00  chrF 41.26  perplexity     3.50",
        "finished after 200 updates and 1:02:05; best dev BLEU 12.00",
    ]


def test_a_training_that_ends_before_its_first_evaluation_claims_no_score(capsys):
    ProgressBar("tiny")(Ended("diverged", 7, float("-inf"), 3.0))
    assert capsys.readouterr().out == "tiny: diverged after 7 updates and 0:03; no evaluation yet\n"
