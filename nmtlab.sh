#!/bin/sh
# Installs nmtlab into .venv beside this file, and runs it there.
#
#   ./nmtlab.sh demo          install, then `nmtlab demo`
#   ./nmtlab.sh test          install, then linter, type checker and quick tests
#   ./nmtlab.sh test --full   install, then linter, type checker and all tests
#   ./nmtlab.sh docs          install, then build the book: build/book/index.html (the first time, 10 minutes)
#   ./nmtlab.sh ANY WORDS     install, then `nmtlab ANY WORDS`
#
# The versions are those of environment.yml; when they change, .venv is updated, or stays as it is if that fails.
# PYTHON names the Python that makes .venv: 3.11, 3.12 or 3.13.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv"
python=${PYTHON:-python3}
wanted=$(sed -n 's/^      - //p' "$here/environment.yml")

say() {
    echo "nmtlab.sh: $*" >&2
}

fail() {
    say "$@"
    exit 2
}

make_environment() {
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null ||
        fail "Python 3.11, 3.12 or 3.13 is needed, and $python is $("$python" -V 2>/dev/null || echo missing);" \
            "install one, or name it: PYTHON=python3.12 ./nmtlab.sh demo"
    case "$(uname -sm)" in
    "Darwin x86_64") fail "PyTorch no longer supports Macs with Intel processors; use Linux, or a newer Mac" ;;
    "Darwin arm64") say "on a Mac, PyTorch needs macOS 14 or newer" ;;
    "Linux aarch64") say "on ARM, sil-thot is compiled, which needs CMake and a C++ compiler" ;;
    esac
    [ ! -e "$venv" ] || say "the environment in .venv is incomplete, and is made anew"
    rm -rf "$venv"
    "$python" -m venv "$venv" ||
        fail "Python's venv module is missing or incomplete; on Debian and Ubuntu: apt-get install python3-venv"
}

# pip resolves and downloads everything before it changes anything: without a network, .venv stays as it was.
install() {
    echo "$wanted" >"$venv/wanted.txt"
    (cd "$here" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/wanted.txt") &&
        mv "$venv/wanted.txt" "$venv/installed.txt"
}

if [ ! -e "$venv/installed.txt" ] || [ ! -x "$venv/bin/python" ]; then
    make_environment
    echo "installing into .venv; this takes a minute or two and about 2 GB"
    install || fail "the installation failed; mend what pip says above ('from versions: none' means that it reaches no" \
        "package index), and run this again"
elif [ "$wanted" != "$(cat "$venv/installed.txt")" ]; then
    echo "updating .venv to the versions of environment.yml"
    install || say "the update failed; .venv is older than environment.yml, and is used as it is"
fi

if [ "${1:-}" = test ]; then
    cd "$here"
    "$venv/bin/python" -m ruff check .
    "$venv/bin/python" -m ruff format --check .
    "$venv/bin/python" -m mypy
    # Two processes of one thread each: two contended threads are slower than one. Each has whole files, in the order
    # of tests/conftest.py. What is compiled is kept: many tests start a process that imports nmtlab again.
    export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE
    unset PYTHONDONTWRITEBYTECODE
    run_tests() {
        "$venv/bin/python" -m pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=25 "$@"
    }
    case "${2:-}" in
    "") run_tests -p no:nbval -m "not full" ;;
    --full) run_tests --nbval --nbval-current-env --nbval-cell-timeout=300 tests notebooks ;;
    *) fail "test $2: unknown; use 'test', or 'test --full'" ;;
    esac
    exit
fi
if [ "${1:-}" = docs ]; then
    cd "$here"
    "$venv/bin/python" -m sphinx --nitpicky --fail-on-warning --keep-going --quiet -c docs . build/book
    echo "the book is in build/book/index.html"
    exit
fi
exec "$venv/bin/nmtlab" "$@"
