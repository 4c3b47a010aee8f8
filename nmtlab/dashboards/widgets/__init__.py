"""Widgets that know nothing of runs: charts, tables, the browser, work in progress."""
