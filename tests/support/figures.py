"""What every figure has."""

import plotly.graph_objects as go


def assert_dressed(figure: go.Figure) -> None:
    assert figure.layout.title.text
    axes = [axis for axis in (*figure.select_xaxes(), *figure.select_yaxes()) if not axis.matches]
    assert any(axis.title.text for axis in axes)
    figure.to_json()
