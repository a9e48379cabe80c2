"""How long search takes in catalogues as large as anybody's."""

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
"""Stop words are not among them."""
QUERIES = 200
_SEED = 20_614


@dataclass(frozen=True, slots=True)
class Speed:
    items: int
    ranker: str
    first_ms: float
    ms: Mapping[int, float]
    """The median query, by its number of terms."""


def speeds(sentences: Dataset, rankers: Mapping[str, Ranker]) -> Iterable[Speed]:
    """No query comes twice, and everybody gets the same."""
    chance = random.Random(_SEED)  # noqa: S311 - every run makes up the same catalogue
    queries = [query for count in TERMS for query in islice(_queries(sentences, count, chance), QUERIES)]
    for size in SIZES:
        documents = _catalogue(sentences, size, chance)
        for name, ranker in rankers.items():
            answers = ranker(documents, queries)
            batches = zip(TERMS, batched(answers.ms, QUERIES, strict=True), strict=True)
            yield Speed(size, name, answers.first_ms, {count: statistics.median(batch) for count, batch in batches})


def _queries(sentences: Dataset, terms: int, chance: random.Random) -> Iterable[str]:
    asked = [query.text for query in sentences.queries]
    while True:
        found: list[str] = []
        while len(found) < terms:
            found += drop_stop_words(split_words(chance.choice(asked)))
        yield " ".join(found[:terms])


def _catalogue(sentences: Dataset, size: int, chance: random.Random) -> Sequence[SearchDocument]:
    """Made up of what tools say of themselves and what people ask for, some forty words each."""
    asked = [query.text for query in sentences.queries]

    def pick(count: int) -> Sequence[str]:
        return split_words(chance.choice(asked))[-count:]

    return [
        SearchDocument(
            id=f"{'_'.join(pick(2))}.{'_'.join(pick(2))}_{number}",
            kind="capability",
            title=" ".join(pick(4)),
            description=f"{chance.choice(sentences.documents).description} {chance.choice(asked)}",
            tags=pick(2),
            text=" ".join(pick(8)),
        )
        for number in range(size)
    ]
