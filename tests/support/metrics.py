"""Metrics that only tests declare."""

import pytest

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.metrics import declared_metrics


def declare(monkeypatch: pytest.MonkeyPatch, analysis: Analysis, *metrics: Metric) -> None:
    """Declare metrics of an analysis until the test ends."""
    for metric in metrics:
        monkeypatch.setitem(declared_metrics(), metric.key, (metric, analysis))
