"""Measures the quality of a ranking with retrieval data, in which people have labelled the tools that fit a query."""

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
"""The grade to which a tool fits a query, by the id of the tool. A tool without a grade does not fit."""


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
    """Whether the query was looked at while the parameters of the ranking were chosen."""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    documents: Sequence[SearchDocument]
    queries: Sequence[Query]


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality and the speed of a ranking over the queries of a dataset."""

    data: str
    ranker: str
    queries: int
    ndcg: float
    recall: float
    ms: float
    """The median time of a query."""


def read_datasets(folder: Path) -> Sequence[Dataset]:
    """Read all files of retrieval data in a folder. Raises BenchError."""
    files = sorted((*folder.glob("*.json"), *folder.glob("*.json.xz")))
    if not files:
        raise BenchError(f"{folder} has no file of retrieval data, neither .json nor .json.xz")
    return [_read_dataset(path) for path in files]


def _read_dataset(path: Path) -> Dataset:
    try:
        content = path.read_bytes()
        data: _Data = json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)
        documents = [
            SearchDocument(tool["id"], "capability", tool["name"], tool["description"]) for tool in data["tools"]
        ]
        queries = [Query(query["query"], query["labels"], query.get("seen", False)) for query in data["queries"]]
        answerable = [query for query in queries if any(query.labels.values())]
    except (AttributeError, KeyError, TypeError, ValueError, lzma.LZMAError) as error:
        raise BenchError(f"{path} is not a file of retrieval data: {error!r}") from error
    if not answerable:
        raise BenchError(f"{path}: no query has a tool that fits it")
    return Dataset(path.name.partition(".")[0], documents, answerable)


def measure_qualities(dataset: Dataset, rankers: Mapping[str, Ranker]) -> Iterable[Quality]:
    """Measure each ranking over all queries and, if some of them were seen, also over the unseen ones."""
    queries = dataset.queries
    unseen = [number for number, query in enumerate(queries) if not query.seen]
    for name, ranker in rankers.items():
        answers = ranker(dataset.documents, [query.text for query in queries])
        yield _measure_quality(dataset.name, name, queries, answers, range(len(queries)))
        if 0 < len(unseen) < len(queries):
            yield _measure_quality(f"{dataset.name}, unseen", name, queries, answers, unseen)


def _measure_quality(
    data: str, ranker: str, queries: Sequence[Query], answers: Answers, numbers: Sequence[int]
) -> Quality:
    labelled = [(answers.ids[number], queries[number].labels) for number in numbers]
    return Quality(
        data=data,
        ranker=ranker,
        queries=len(numbers),
        ndcg=statistics.fmean(ndcg(ids, labels) for ids, labels in labelled),
        recall=statistics.fmean(recall(ids, labels) for ids, labels in labelled),
        ms=statistics.median(answers.ms[number] for number in numbers),
    )


def ndcg(ids: Sequence[str], labels: Labels) -> float:
    """Compute the normalized discounted cumulative gain: the sum of the grades of the found tools, each discounted by
    its place, relative to that of the best order."""
    best = sorted(labels.values(), reverse=True)
    return _gain([labels.get(identifier, 0) for identifier in ids]) / _gain(best)


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades[:GAIN_AT], 1))


def recall(ids: Sequence[str], labels: Labels) -> float:
    """Compute the part of the fitting tools that is among the first ids."""
    fitting = {identifier for identifier, grade in labels.items() if grade}
    return len(fitting.intersection(ids[:RECALL_AT])) / len(fitting)
