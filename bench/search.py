"""How well and how fast search finds things, by both rankings and by FastMCP's. Part of python -m bench;
python -m bench.search [FOLDER] measures it alone, on the retrieval data of a folder."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.bars import Verdict, slowdown
from bench.errors import BenchError
from bench.laps import reference_loop
from bench.search_quality import GAIN_AT, RECALL_AT, Dataset, Quality, datasets, qualities
from bench.search_rankers import OURS, rankers
from bench.search_speed import Speed, speeds
from bench.table import judged, said
from local.json_values import JsonObject
from local.progress import Progress

DATA = Path(__file__).parent / "search_data"
_LOOPS = 5
SENTENCES = "metatool_single"
"""Whose words the catalogues are made of that speed is measured in."""
LEAST_NDCG: Mapping[str, float] = {"mcpproxy_golden": 0.69, "metatool_single": 0.55}
"""Of the fused ranking."""
MOST_MS: Mapping[tuple[int, int], float] = {(1_000, 2): 1.0, (1_000, 15): 3.0, (10_000, 2): 5.0, (10_000, 15): 20.0}
"""By the items of the catalogue and the terms of the query, on the two-core test machine."""
PEER_MS: Mapping[tuple[int, int], float] = {(1_000, 2): 0.15, (1_000, 15): 0.77, (10_000, 2): 3.51, (10_000, 15): 23.71}
"""FastMCP's ranking on that machine. Where it takes longer in the same run, the machine is slower by as much: a large
catalogue is limited by memory, which other processes take away and the reference loop does not notice."""


@dataclass(frozen=True, slots=True)
class Findings:
    qualities: Sequence[Quality]
    speeds: Sequence[Speed]


def measure(data: Sequence[Dataset], progress: Progress) -> Findings:
    contenders = rankers()
    with progress.step("judging search") as step:
        found: list[Quality] = []
        for dataset in data:
            step.show(dataset.name)
            found += qualities(dataset, contenders)
    sentences = [dataset for dataset in data if dataset.name == SENTENCES]
    with progress.step("timing search"):
        return Findings(found, [speed for dataset in sentences for speed in speeds(dataset, contenders)])


def verdicts(findings: Findings, slowdown: float) -> Iterator[Verdict]:
    for quality in findings.qualities:
        least = LEAST_NDCG.get(quality.data)
        if least is not None and quality.ranker == "fused":
            yield Verdict(f"search, {quality.data}", quality.ndcg, least, f"nDCG@{GAIN_AT}", at_least=True)
    for speed in findings.speeds:
        for terms, ms in speed.ms.items() if speed.ranker in OURS else ():
            what = f"{speed.ranker}, {terms} terms, {speed.items:,}"
            slower = max(slowdown, _slowdown_of_peer(findings, speed.items, terms))
            yield Verdict(what, ms / slower, MOST_MS[speed.items, terms], "ms")


def _slowdown_of_peer(findings: Findings, items: int, terms: int) -> float:
    """By how much FastMCP's ranking was slower in this run than on the quiet test machine; 1 if it took no part."""
    peers = [speed for speed in findings.speeds if speed.ranker not in OURS and speed.items == items]
    return max((speed.ms[terms] / PEER_MS[items, terms] for speed in peers), default=1.0)


def table(findings: Findings) -> Iterator[str]:
    yield f"{'search':<50}{'queries':>11}{f'nDCG@{GAIN_AT}':>11}{f'recall@{RECALL_AT}':>11}{'ms':>11}"
    for one in findings.qualities:
        name = f"{one.data}, {one.ranker}"
        yield f"{name:<50}{one.queries:>11,}{one.ndcg:>11.3f}{one.recall:>11.3f}{one.ms:>11.3f}"
    if findings.speeds:
        yield ""
        yield f"{'':<50}{'first ms':>11}{'2 terms ms':>11}{'15 terms':>11}"
    for speed in findings.speeds:
        name = f"{speed.items:,} items, {speed.ranker}"
        yield f"{name:<50}{speed.first_ms:>11.0f}" + "".join(f"{ms:>11.2f}" for ms in speed.ms.values())
    yield ""


def document(findings: Findings, judgement: Iterable[Verdict]) -> JsonObject:
    return {
        "quality": [asdict(quality) for quality in findings.qualities],
        "speed": [_described(speed) for speed in findings.speeds],
        "verdicts": list(map(judged, judgement)),
    }


def _described(speed: Speed) -> JsonObject:
    return {**asdict(speed), "ms": {str(terms): ms for terms, ms in speed.ms.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.search", description="Judges both rankings of search.")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=DATA, help="of files as bench/search_data/README.md says"
    )
    try:
        findings = measure(datasets(parser.parse_args().folder), Progress(sys.stdout))
    except (BenchError, OSError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    judgement = list(verdicts(findings, slowdown([reference_loop() for _ in range(_LOOPS)])))
    print(*table(findings), *map(said, judgement), sep="\n")
    return 0 if all(verdict.met for verdict in judgement) else 1


if __name__ == "__main__":
    sys.exit(main())
