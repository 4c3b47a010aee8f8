"""`nmtlab dashboards` and what it refuses."""

import sys

import pytest


@pytest.mark.parametrize("ip", ["0.0.0.0", "192.168.0.7", "::"])
def test_others_are_let_in_with_a_token_alone(nmtlab, ip):
    said = nmtlab("dashboards", "--ip", ip)
    assert said.code == 2
    assert said.err.splitlines() == [
        f"nmtlab: --ip {ip}: other machines could connect, read the workspace and start trainings; "
        "set a token with --token"
    ]
    assert said.out == ""


@pytest.mark.parametrize("token", ["", "  ", "\t"])
@pytest.mark.parametrize("ip", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_is_none_is_refused(nmtlab, ip, token):
    said = nmtlab("dashboards", "--ip", ip, "--token", token)
    assert said.code == 2
    assert said.err == "nmtlab: --token: empty, which would let everyone in; give a token, or leave --token out\n"
    assert said.out == ""


@pytest.mark.parametrize("port", ["0", "70000", "x"])
def test_a_port_that_is_none_is_refused(nmtlab, port):
    said = nmtlab("dashboards", "--port", port)
    assert said.code == 2
    assert "--port" in said.err


@pytest.mark.parametrize(("command", "package"), [("dashboards", "voila"), ("lab", "jupyterlab")])
def test_without_the_workbench_the_command_that_installs_it_is_named(nmtlab, monkeypatch, command, package):
    for module in list(sys.modules):
        if module.split(".")[0] == package or module == "nmtlab.dashboards.serving.server":
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    said = nmtlab(command)
    assert said.code == 2
    assert said.err.startswith(f"nmtlab: the workbench needs {package}")
    assert "; pip install 'jupyterlab" in said.err
    assert " 'voila" in said.err


def test_help_says_what_it_shows_and_how_it_ends(nmtlab):
    said = nmtlab("dashboards", "--help")
    assert said.code == 0
    for word in ("--token", "--port", "--warm", "Ctrl-C"):
        assert word in said.out
