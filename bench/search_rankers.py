"""The rankers of the search bench: both rankings of the product, and FastMCP's in a process of its own."""

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
from local.interpreter import environment, isolated_command
from signpost.search.documents import SearchDocument
from signpost.search.ranking import CatalogueSearch, Ranking, SearchHit

LIMIT = 10
_FIRST_QUERY = "first"
_FIRST_QUERIES = 3
"""First queries of a ranking, each of an index of its own. The fastest counts: one alone takes a third longer if other
processes use the memory at that moment."""
_ROOT = Path(__file__).parents[1]
_FASTMCP = Peer("fastmcp_search", "bench-fastmcp", "fastmcp", "FastMCP {} BM25")
_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of a ranker. Times are processor times, because ranking does not wait and other processes may use the
    machine too."""

    first_ms: float
    """The time of the first query, which indexes the documents."""
    ids: Sequence[Sequence[str]]
    """The ids of the found documents, by query."""
    ms: Sequence[float]
    """The times of the queries."""


type Ranker = Callable[[Sequence[SearchDocument], Sequence[str]], Answers]


class _PeerAnswers(TypedDict):
    """The JSON object that the process of a peer writes, with documents by their numbers."""

    first_ms: float
    found: list[list[int]]
    ms: list[float]


def _run_ranking(ranking: Ranking, documents: Sequence[SearchDocument], queries: Sequence[str]) -> Answers:
    search = CatalogueSearch(documents)
    indexes = [search, *(CatalogueSearch(documents) for _ in range(_FIRST_QUERIES - 1))]
    first_ms = min(_time_query(index, ranking, _FIRST_QUERY)[1] for index in indexes)
    answers = [_time_query(search, ranking, query) for query in queries]
    ids = [[identifier for _, identifier in hits] for hits, _ in answers]
    return Answers(first_ms, ids, [ms for _, ms in answers])


def _time_query(search: CatalogueSearch, ranking: Ranking, query: str) -> tuple[Sequence[SearchHit], float]:
    started = time.thread_time()
    hits = search.find(query, ranking=ranking, limit=LIMIT)
    return hits, (time.thread_time() - started) * 1000


OURS: Mapping[str, Ranker] = {"literal": partial(_run_ranking, "literal"), "fused": partial(_run_ranking, "fused")}


def _run_peer(peer: Contender, documents: Sequence[SearchDocument], queries: Sequence[str]) -> Answers:
    texts = [f"{document.title} {document.description}" for document in documents]
    answers = _ask_peer(peer, {"texts": texts, "first": _FIRST_QUERY, "queries": queries, "limit": LIMIT})
    ids = [[documents[number].id for number in numbers] for numbers in answers["found"]]
    return Answers(answers["first_ms"], ids, answers["ms"])


def _ask_peer(peer: Contender, question: Mapping[str, object]) -> _PeerAnswers:
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        try:
            process = subprocess.run(
                isolated_command("-c", f"from {peer.first_module} import main; main()", python=peer.python),
                env=environment(peer.search_path, {"HOME": home}),
                input=json.dumps(question),
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=True,
                text=True,
            )
        except subprocess.CalledProcessError as error:
            raise BenchError(f"{peer.name}: {error.stderr.strip()}") from error
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"{peer.name}: stopped after {_TIMEOUT_SECONDS:.0f} s without a result") from error
    return json.loads(process.stdout)


def find_rankers() -> Mapping[str, Ranker]:
    fastmcp = _FASTMCP.contender(_ROOT, {})
    return {**OURS, fastmcp.name: partial(_run_peer, fastmcp)}
