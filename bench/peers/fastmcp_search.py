"""Runs FastMCP's BM25 ranking over names and descriptions, without the tool around it. Reads the texts and queries from
standard input."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportPrivateUsage=false
# FastMCP is only in the venv of this peer, and its ranking is private to the transform that also serves it.
import json
import sys
import time

from fastmcp.server.transforms.search.bm25 import _BM25Index


def main() -> None:
    request = json.load(sys.stdin)
    index = _BM25Index()
    started = time.thread_time()
    index.build(request["texts"])
    index.query(request["first"], request["limit"])
    first = (time.thread_time() - started) * 1000
    found: list[list[int]] = []
    times: list[float] = []
    for query in request["queries"]:
        started = time.thread_time()
        found.append(index.query(query, request["limit"]))
        times.append((time.thread_time() - started) * 1000)
    json.dump({"first_ms": first, "found": found, "ms": times}, sys.stdout)
