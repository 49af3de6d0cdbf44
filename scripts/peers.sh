#!/usr/bin/env bash
# Makes .venv-peers, the environments of what `make bench-peers` measures beside Townsquare. Skips those that are there.
# A peer that cannot be installed is left out, and the page says so.
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}

environment() {
    local folder=".venv-peers/$1"
    shift
    if [ -f "$folder/.ready" ]; then return; fi
    echo "peers: installing $*"
    rm -rf "$folder"
    if "$PYTHON" -m venv "$folder" && "$folder/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; then
        touch "$folder/.ready"
    else
        rm -rf "$folder"
        echo "peers: $folder could not be made; its rows stay empty" >&2
    fi
}

mapfile -t group < <("$PYTHON" -c "
import tomllib
print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['peers'], sep='\\n')")
environment models "${group[@]}"
environment mesa-frames --requirement benchmarks/peers/mesa-frames.txt
# PyPI's torch brings CUDA, 6 GB; where you have a build for the processor alone, name it: make peers TORCH=torch==2.13.0+cpu
if "$PYTHON" -c 'import sys; sys.exit(sys.version_info >= (3, 12))'; then
    environment camel-oasis --requirement benchmarks/peers/camel-oasis.txt "${TORCH:-torch}"
else
    echo "peers: camel-oasis needs Python 3.11 or older (its own limit); its rows stay empty" >&2
fi
