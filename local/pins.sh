#!/usr/bin/env bash
# Compiles requirements/*.txt, with hashes and without the address of any index.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.13 "$@"; }
for name in aws bootstrap clients-agents clients-langchain clients-mcp1 emulator sam; do
    compile "requirements/$name.in" -o "requirements/$name.txt"
done
compile pyproject.toml -o requirements/layer.txt
# What the peers of the bench share with the layer has the layer's version, so these come after it.
for name in awslabs fastmcp mcp-kernel mcp-mangum; do
    compile "requirements/bench-$name.in" -o "requirements/bench-$name.txt"
done
compile requirements/executor_core.in -o requirements/executor_core.txt
compile pyproject.toml --group dev -c requirements/layer.txt -c requirements/executor_core.txt -o requirements/dev.txt
