#!/usr/bin/env bash
# Compiles requirements/*.txt, with hashes and without the address of any index. Those of the layer and of an executor
# are files of their folders, to which requirements/ has links, because a build in a container sees no other folder.
set -euo pipefail
cd "$(dirname "$0")/.."
compile() { uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --python-version 3.13 "$@"; }
for pins in requirements/{aws,bootstrap,clients-*,emulator,sam}.in; do
    compile "$pins" -o "${pins%.in}.txt"
done
compile pyproject.toml -o layers/shared/requirements.txt
# What the peers of the bench share with the layer has the layer's version, so these come after it.
for name in awslabs fastmcp mcp-kernel mcp-mangum; do
    compile "requirements/bench-$name.in" -o "requirements/bench-$name.txt"
done
compile requirements/executor_core.in -o functions/executor_core/requirements.txt
compile pyproject.toml --group dev -c requirements/layer.txt -c requirements/executor_core.txt -o requirements/dev.txt
