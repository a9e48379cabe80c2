"""Who answers queries in the bench of search: both rankings of ours, and FastMCP's in a process of its own."""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypedDict

from bench.contender import Contender, Peer
from bench.errors import BenchError
from local.interpreter import environment, isolated
from signpost.search.documents import SearchDocument
from signpost.search.ranking import CatalogueSearch, Ranking, SearchHit

LIMIT = 10
_FIRST = "first"
_ROOT = Path(__file__).parents[1]
_FASTMCP = Peer("fastmcp_search", "bench-fastmcp", "fastmcp", "FastMCP {} BM25")
_PATIENCE = 300.0


@dataclass(frozen=True, slots=True)
class Answers:
    """Times are of the processor, since ranking waits for nothing and others may use the machine as well."""

    first_ms: float
    """The first query, which reads the documents."""
    found: Sequence[Sequence[str]]
    """Ids, by query."""
    ms: Sequence[float]


type Ranker = Callable[[Sequence[SearchDocument], Sequence[str]], Answers]


class _Said(TypedDict):
    first_ms: float
    found: list[list[int]]
    ms: list[float]


def _ours(ranking: Ranking, documents: Sequence[SearchDocument], queries: Sequence[str]) -> Answers:
    search = CatalogueSearch(documents)
    _, first = _timed(search, ranking, _FIRST)
    answers = [_timed(search, ranking, query) for query in queries]
    found = [[identifier for _, identifier in hits] for hits, _ in answers]
    return Answers(first, found, [took for _, took in answers])


def _timed(search: CatalogueSearch, ranking: Ranking, query: str) -> tuple[Sequence[SearchHit], float]:
    started = time.thread_time()
    hits = search.find(query, ranking=ranking, limit=LIMIT)
    return hits, (time.thread_time() - started) * 1000


OURS: Mapping[str, Ranker] = {"literal": partial(_ours, "literal"), "fused": partial(_ours, "fused")}


def _theirs(peer: Contender, documents: Sequence[SearchDocument], queries: Sequence[str]) -> Answers:
    texts = [f"{document.title} {document.description}" for document in documents]
    said = _asked(peer, {"texts": texts, "first": _FIRST, "queries": queries, "limit": LIMIT})
    return Answers(
        said["first_ms"], [[documents[number].id for number in found] for found in said["found"]], said["ms"]
    )


def _asked(peer: Contender, question: Mapping[str, object]) -> _Said:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        try:
            done = subprocess.run(
                isolated("-c", f"from {peer.answering} import main; main()", python=peer.python),
                env=environment(peer.search_path, {"HOME": home}),
                input=json.dumps(question),
                capture_output=True,
                timeout=_PATIENCE,
                check=True,
                text=True,
            )
        except subprocess.CalledProcessError as error:
            raise BenchError(f"{peer.name}: {error.stderr.strip()}") from error
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{peer.name}: not done after {_PATIENCE:.0f} s") from error
    return json.loads(done.stdout)


def rankers() -> Mapping[str, Ranker]:
    fastmcp = _FASTMCP.contender(_ROOT, {})
    return {**OURS, fastmcp.name: partial(_theirs, fastmcp)}
