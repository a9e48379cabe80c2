#!/usr/bin/env bash
# Compiles requirements/*.txt, with hashes and without the address of any index.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.13 "$@"; }
for name in aws bootstrap emulator sam; do compile "requirements/$name.in" -o "requirements/$name.txt"; done
compile pyproject.toml -o requirements/layer.txt
compile pyproject.toml --group dev -c requirements/layer.txt -o requirements/dev.txt
