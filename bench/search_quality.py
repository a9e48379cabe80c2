"""How well a ranking finds what people ask for, judged by data in which people said which tools fit a query."""

import json
import lzma
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from bench.errors import BenchError
from bench.search_rankers import LIMIT, Answers, Ranker
from signpost.search.documents import SearchDocument

GAIN_AT, RECALL_AT = LIMIT, 5

type Labels = Mapping[str, int]
"""How well tools fit, by id; those that are missing do not."""


class _Tool(TypedDict):
    id: str
    name: str
    description: str


class _Query(TypedDict):
    query: str
    labels: dict[str, int]
    seen: NotRequired[bool]


class _Data(TypedDict):
    tools: list[_Tool]
    queries: list[_Query]


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    labels: Labels
    seen: bool = False
    """Whether parameters were chosen with a look at it."""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    documents: Sequence[SearchDocument]
    queries: Sequence[Query]


@dataclass(frozen=True, slots=True)
class Quality:
    data: str
    ranker: str
    queries: int
    ndcg: float
    recall: float
    ms: float
    """The median query."""


def datasets(folder: Path) -> Sequence[Dataset]:
    files = sorted((*folder.glob("*.json"), *folder.glob("*.json.xz")))
    if not files:
        raise BenchError(f"{folder}: no file of retrieval data, neither .json nor .json.xz")
    return [_dataset(path) for path in files]


def _dataset(path: Path) -> Dataset:
    try:
        content = path.read_bytes()
        data: _Data = json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)
        documents = [
            SearchDocument(tool["id"], "capability", tool["name"], tool["description"]) for tool in data["tools"]
        ]
        queries = [Query(query["query"], query["labels"], query.get("seen", False)) for query in data["queries"]]
        judged = [query for query in queries if any(query.labels.values())]
    except (AttributeError, KeyError, TypeError, ValueError, lzma.LZMAError) as error:
        raise BenchError(f"{path}: no retrieval data: {error!r}") from error
    if not judged:
        raise BenchError(f"{path}: no query that any tool fits")
    return Dataset(path.name.partition(".")[0], documents, judged)


def qualities(dataset: Dataset, rankers: Mapping[str, Ranker]) -> Iterable[Quality]:
    """Of each over all queries and, if some were seen, over the others."""
    queries = dataset.queries
    unseen = [number for number, query in enumerate(queries) if not query.seen]
    for name, ranker in rankers.items():
        answers = ranker(dataset.documents, [query.text for query in queries])
        yield _quality(dataset.name, name, queries, answers, range(len(queries)))
        if 0 < len(unseen) < len(queries):
            yield _quality(f"{dataset.name}, unseen", name, queries, answers, unseen)


def _quality(data: str, ranker: str, queries: Sequence[Query], answers: Answers, numbers: Sequence[int]) -> Quality:
    judged = [(answers.found[number], queries[number].labels) for number in numbers]
    return Quality(
        data=data,
        ranker=ranker,
        queries=len(numbers),
        ndcg=statistics.fmean(ndcg(found, labels) for found, labels in judged),
        recall=statistics.fmean(recall(found, labels) for found, labels in judged),
        ms=statistics.median(answers.ms[number] for number in numbers),
    )


def ndcg(found: Sequence[str], labels: Labels) -> float:
    """The grades of what was found, each worth less the further down it stands, relative to the best order there is."""
    best = sorted(labels.values(), reverse=True)
    return _gain([labels.get(identifier, 0) for identifier in found]) / _gain(best)


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades[:GAIN_AT], 1))


def recall(found: Sequence[str], labels: Labels) -> float:
    """Which part of what fits is among the first."""
    fitting = {identifier for identifier, grade in labels.items() if grade}
    return len(fitting.intersection(found[:RECALL_AT])) / len(fitting)
