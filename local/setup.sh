#!/usr/bin/env bash
# Installs the tools of the Makefile's targets inside the project: local/setup.sh dev|sam|emulator|node ...
# Each part is skipped when its pins have not changed since it was installed.
set -euo pipefail
cd "$(dirname "$0")/.."
export UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1 UV_COMPILE_BYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME

say() { printf '\033[2m·\033[0m %s\n' "$*"; }

is_python() { [ "$("$1" -c 'import sys; print(*sys.version_info[:2])' 2>/dev/null)" = "3 13" ]; }

# A pyenv shim named python3.13 may exist and fail, so a candidate counts only if it runs.
find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.13 "$(pyenv root 2>/dev/null || echo "$HOME/.pyenv")"/versions/3.13*/bin/python3.13 python3 python; do
        if [ -n "$candidate" ] && is_python "$candidate"; then echo "$candidate"; return; fi
    done
    echo "signpost needs Python 3.13, and found none. Install it, or say where it is: make PYTHON=/path/to/python3.13 ..." >&2
    exit 1
}

# installed STAMP PINS... : true if the stamp holds the digest of these files and of this script
digest() { cat "$@" "$0" | sha256sum | cut -d' ' -f1; }
installed() { local stamp=$1; shift; [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(digest "$@")" ]; }
remember() { local stamp=$1; shift; digest "$@" >"$stamp"; }

base() {
    installed .venv/.base requirements/bootstrap.txt && return
    local python; python=$(find_python)
    say "making .venv with $("$python" --version)"
    rm -rf .venv
    "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --require-hashes -r requirements/bootstrap.txt
    remember .venv/.base requirements/bootstrap.txt
}

dev() {
    installed .venv/.dev requirements/dev.txt pyproject.toml && return
    say "installing the project and its test tools into .venv"
    .venv/bin/uv pip install --quiet --python .venv/bin/python --require-hashes -r requirements/dev.txt
    # dev.txt pins the build dependencies, so the editable install downloads nothing.
    .venv/bin/uv pip install --quiet --python .venv/bin/python --no-build-isolation --no-deps --editable .
    remember .venv/.dev requirements/dev.txt pyproject.toml
}

# Makes a venv under .tools for a tool with pins that conflict with the project's.
tool() {
    local name=$1
    installed ".tools/$name/.stamp" "requirements/$name.txt" && return
    say "installing $name into .tools/$name"
    rm -rf ".tools/$name"
    .venv/bin/uv venv --quiet --python .venv/bin/python ".tools/$name"
    .venv/bin/uv pip install --quiet --python ".tools/$name/bin/python" --require-hashes -r "requirements/$name.txt"
    remember ".tools/$name/.stamp" "requirements/$name.txt"
}

# Installs Node packages under .tools from the pins of a folder of requirements/.
node() {
    local name=$1
    local pins=("requirements/$name/package.json" "requirements/$name/package-lock.json")
    installed ".tools/$name/.stamp" "${pins[@]}" && return
    say "installing the Node packages of requirements/$name into .tools/$name"
    mkdir -p ".tools/$name"
    cp "${pins[@]}" ".tools/$name/"
    (cd ".tools/$name" && npm ci --no-audit --no-fund --loglevel=error)
    remember ".tools/$name/.stamp" "${pins[@]}"
}

base
for part in "$@"; do
    case $part in
        dev) dev ;;
        node | clients-node) node "$part" ;;
        *) tool "$part" ;;
    esac
done
