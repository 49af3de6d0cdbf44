#!/usr/bin/env bash
# Makes .venv. `scripts/setup.sh` installs requirements.lock, all that a run needs (`make run`); `scripts/setup.sh dev`
# installs requirements-dev.lock, all that tests need (`make setup`). The Makefile calls it only when a lock has changed.
# Once set up, running it again needs no network: every pinned version is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=requirements.lock kernels=
if [ "${1:-}" = dev ]; then lock=requirements-dev.lock kernels=--all; fi

supported() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; }

find_python() {
    local name
    for name in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        if supported "$name"; then command -v "$name"; return; fi
    done
    echo "setup: no Python from 3.11 to 3.14 found (tried: ${PYTHON:-python3, python3.14 to python3.11, python})." >&2
    echo "       Install one, or say where it is: make setup PYTHON=path/to/python3" >&2
    return 1
}

make_venv() {
    local python="$1"
    echo "setup: creating .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv && return
    if command -v uv >/dev/null; then uv venv --quiet --seed --clear --python "$python" .venv && return; fi
    rm -rf .venv
    echo "setup: '$python -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2
    return 1
}

# uv takes seconds where pip takes most of a minute. But uv does not read pip's configuration, so where only pip knows
# the package index, uv fails and pip does the work.
install_lock() {
    local options=(--quiet --require-hashes --only-binary :all: --requirement "$lock") uv
    uv=$(command -v .venv/bin/uv || command -v uv || true)
    if [ -z "$uv" ] && "${pip[@]}" --quiet --retries 1 uv 2>/dev/null; then uv=.venv/bin/uv; fi
    if [ -n "$uv" ]; then
        UV_HTTP_TIMEOUT=${UV_HTTP_TIMEOUT:-30} "$uv" pip install --python .venv/bin/python "${options[@]}" && return
        echo "setup: uv could not install the lock; trying pip" >&2
    fi
    "${pip[@]}" "${options[@]}"
}

if ! [ -x .venv/bin/python ] || ! supported .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    make_venv "$python"
fi
pip=(.venv/bin/python -m pip --disable-pip-version-check install)
echo "setup: installing $lock"
install_lock
"${pip[@]}" --quiet --no-index --no-deps --no-build-isolation --editable .
# Kernels compiled from other sources may name classes that are gone, which Numba cannot read.
find src -name '*.nb[ic]' -delete
# Bytecode once here instead of at every start: uv leaves it out, and some environments forbid writing it later.
# One processor writes it while another compiles kernels. Left out is what runs do not import: tests of other packages,
# installers, and what draws exported figures.
.venv/bin/python -m compileall -q -x '/(tests?|pip|setuptools|pkg_resources|pygments|fontTools|matplotlib|mpl_toolkits)/' .venv/lib src >/dev/null 2>&1 &
bytecode=$!
.venv/bin/python -m townsquare.cli.warm $kernels || echo "setup: compiling failed; kernels compile when first used" >&2
wait "$bytecode" || true
touch .venv/.ready
if [ "$lock" = requirements-dev.lock ]; then touch .venv/.ready-dev; fi
echo "setup: ready"
