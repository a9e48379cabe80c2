"""FastMCP's BM25 over names and descriptions, without the tool around it. It reads queries from its standard input."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false
# FastMCP is only in the venv of this peer, and its ranking is private to the transform that also serves it.
import json
import sys
import time

from fastmcp.server.transforms.search.bm25 import _BM25Index


def main() -> None:
    asked = json.load(sys.stdin)
    index = _BM25Index()
    started = time.thread_time()
    index.build(asked["texts"])
    index.query(asked["first"], asked["limit"])
    first = (time.thread_time() - started) * 1000
    found: list[list[int]] = []
    took: list[float] = []
    for query in asked["queries"]:
        started = time.thread_time()
        found.append(index.query(query, asked["limit"]))
        took.append((time.thread_time() - started) * 1000)
    json.dump({"first_ms": first, "found": found, "ms": took}, sys.stdout)
