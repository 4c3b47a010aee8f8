"""What nbval leaves out when it compares a notebook's outputs: pictures; every figure has a table beside it."""


def pytest_collectstart(collector):
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += ("text/html", "application/vnd.plotly.v1+json")
