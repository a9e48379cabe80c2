"""Measures the speed of search in large catalogues."""

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched, islice

from bench.search_quality import Dataset
from bench.search_rankers import Ranker
from signpost.search.documents import SearchDocument
from signpost.search.words import drop_stop_words, split_words

SIZES = (1_000, 10_000)
TERMS = (2, 15)
"""The numbers of terms in a query, without stop words."""
QUERIES = 200
"""The number of queries with each number of terms."""
_SEED = 20_614


@dataclass(frozen=True, slots=True)
class Speed:
    items: int
    ranker: str
    first_ms: float
    ms: Mapping[int, float]
    """The median time of a query, by the number of its terms."""


def measure_speeds(sentences: Dataset, rankers: Mapping[str, Ranker]) -> Iterable[Speed]:
    """Measure each ranker in catalogues of each size. All rankers get the same queries, and no query occurs twice."""
    generator = random.Random(_SEED)  # noqa: S311 - every run makes up the same catalogue
    queries = [query for count in TERMS for query in islice(_make_queries(sentences, count, generator), QUERIES)]
    for size in SIZES:
        documents = _make_catalogue(sentences, size, generator)
        for name, ranker in rankers.items():
            answers = ranker(documents, queries)
            batches = zip(TERMS, batched(answers.ms, QUERIES, strict=True), strict=True)
            yield Speed(size, name, answers.first_ms, {count: statistics.median(batch) for count, batch in batches})


def _make_queries(sentences: Dataset, terms: int, generator: random.Random) -> Iterable[str]:
    texts = [query.text for query in sentences.queries]
    while True:
        words: list[str] = []
        while len(words) < terms:
            words += drop_stop_words(split_words(generator.choice(texts)))
        yield " ".join(words[:terms])


def _make_catalogue(sentences: Dataset, size: int, generator: random.Random) -> Sequence[SearchDocument]:
    """Make documents of about forty words each from the descriptions of tools and the words of queries."""
    texts = [query.text for query in sentences.queries]

    def pick(count: int) -> Sequence[str]:
        return split_words(generator.choice(texts))[-count:]

    return [
        SearchDocument(
            id=f"{'_'.join(pick(2))}.{'_'.join(pick(2))}_{number}",
            kind="capability",
            title=" ".join(pick(4)),
            description=f"{generator.choice(sentences.documents).description} {generator.choice(texts)}",
            tags=pick(2),
            text=" ".join(pick(8)),
        )
        for number in range(size)
    ]
