#!/bin/sh
# Installs nmtlab into an environment of its own, .venv beside this file, and runs it there.
#
#   ./nmtlab.sh demo        install, then `nmtlab demo`
#   ./nmtlab.sh test        install, then lint and tests
#   ./nmtlab.sh docs        install, then build the book: build/book/index.html
#   ./nmtlab.sh ANY WORDS   install, then `nmtlab ANY WORDS`
#
# PYTHON names the Python to build the environment with (3.11 or newer). The versions are those of environment.yml.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv="$here/.venv"
python=${PYTHON:-python3}

fail() {
    echo "nmtlab.sh: $1" >&2
    exit 2
}

install() {
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
        fail "Python 3.11 or newer is needed; install it, or name one as in PYTHON=python3.12 ./nmtlab.sh demo"
    rm -rf "$venv"
    "$python" -m venv "$venv" ||
        fail "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"
    echo "installing into .venv; this takes a minute or two and about 2 GB"
    sed -n 's/^      - //p' "$here/environment.yml" >"$venv/requirements.txt"
    (cd "$here" && "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$venv/requirements.txt") ||
        fail "the installation failed; mend what pip says above, and run this again"
    cp "$here/environment.yml" "$venv/installed.yml"
}

cmp -s "$here/environment.yml" "$venv/installed.yml" || install

if [ "${1:-}" = test ]; then
    cd "$here"
    "$venv/bin/ruff" check .
    "$venv/bin/ruff" format --check .
    # Two processes of one thread each: two contended threads are slower than one.
    OMP_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE exec "$venv/bin/python" -m pytest -n 2 --dist loadfile
fi
if [ "${1:-}" = docs ]; then
    cd "$here"
    "$venv/bin/python" -m sphinx --nitpicky --fail-on-warning --keep-going --quiet -c docs . build/book
    echo "the book is in build/book/index.html"
    exit
fi
exec "$venv/bin/nmtlab" "$@"
