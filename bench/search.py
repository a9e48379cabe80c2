"""Measures the quality and the speed of search, with both rankings of the product and that of FastMCP. Part of
python -m bench; python -m bench.search [FOLDER] measures search alone, on the retrieval data of a folder."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.bars import Verdict, compute_slowdown
from bench.errors import BenchError
from bench.laps import time_reference_loop
from bench.search_quality import GAIN_AT, RECALL_AT, Dataset, Quality, measure_qualities, read_datasets
from bench.search_rankers import OURS, find_rankers
from bench.search_speed import Speed, measure_speeds
from bench.table import format_verdict, verdict_json
from local.json_values import JsonObject
from local.progress import Progress

DATA = Path(__file__).parent / "search_data"
_LOOPS = 5
SENTENCES = "metatool_single"
"""The dataset with the words for the catalogues and queries in which speed is measured."""
MIN_NDCG: Mapping[str, float] = {"mcpproxy_golden": 0.69, "metatool_single": 0.55}
"""The bars of the fused ranking, by dataset."""
MAX_MS: Mapping[tuple[int, int], float] = {(1_000, 2): 1.0, (1_000, 15): 3.0, (10_000, 2): 5.0, (10_000, 15): 15.0}
"""The bars by the items of the catalogue and the terms of the query, for the two-core test machine."""
MAX_FIRST_MS: Mapping[int, float] = {1_000: 60.0, 10_000: 300.0}
"""The bars of the first query, which indexes the catalogue, by the items of the catalogue."""
PEER_MS: Mapping[tuple[int, int], float] = {(1_000, 2): 0.15, (1_000, 15): 0.77, (10_000, 2): 3.51, (10_000, 15): 23.71}
"""The times of FastMCP's ranking on that machine. If it takes longer in a run, the machine counts as slower by the same
factor. Search in a large catalogue is limited by memory, and the reference loop does not show how much of it other
processes use."""
PEER_FIRST_MS: Mapping[int, float] = {1_000: 12.0, 10_000: 127.0}
"""The times of its first query, likewise."""


@dataclass(frozen=True, slots=True)
class Findings:
    qualities: Sequence[Quality]
    speeds: Sequence[Speed]


def measure(data: Sequence[Dataset], progress: Progress) -> Findings:
    contenders = find_rankers()
    with progress.step("measuring the quality of search") as step:
        qualities: list[Quality] = []
        for dataset in data:
            step.show(dataset.name)
            qualities += measure_qualities(dataset, contenders)
    sentences = [dataset for dataset in data if dataset.name == SENTENCES]
    with progress.step("measuring the speed of search"):
        speeds = [speed for dataset in sentences for speed in measure_speeds(dataset, contenders)]
    return Findings(qualities, speeds)


def verdicts(findings: Findings, slowdown: float) -> Iterator[Verdict]:
    for quality in findings.qualities:
        bar = MIN_NDCG.get(quality.data)
        if bar is not None and quality.ranker == "fused":
            yield Verdict(f"search, {quality.data}", quality.ndcg, bar, f"nDCG@{GAIN_AT}", at_least=True)
    for speed in findings.speeds:
        if speed.ranker in OURS:
            yield from _speed_verdicts(speed, slowdown, _find_peer(findings, speed.items))


def _speed_verdicts(speed: Speed, slowdown: float, peer: Speed | None) -> Iterator[Verdict]:
    """Judge the times of a ranking. They are divided by how many times slower FastMCP's ranking was than on the idle
    test machine."""
    items = speed.items
    factor = max(slowdown, peer.first_ms / PEER_FIRST_MS[items] if peer else 1.0)
    subject = f"{speed.ranker}, first query, {items:,}"
    yield Verdict(subject, speed.first_ms / factor, MAX_FIRST_MS[items], "ms")
    for terms, ms in speed.ms.items():
        factor = max(slowdown, peer.ms[terms] / PEER_MS[items, terms] if peer else 1.0)
        yield Verdict(f"{speed.ranker}, {terms} terms, {items:,}", ms / factor, MAX_MS[items, terms], "ms")


def _find_peer(findings: Findings, items: int) -> Speed | None:
    peers = [speed for speed in findings.speeds if speed.ranker not in OURS and speed.items == items]
    return peers[0] if peers else None


def format_table(findings: Findings) -> Iterator[str]:
    yield f"{'search':<50}{'queries':>11}{f'nDCG@{GAIN_AT}':>11}{f'recall@{RECALL_AT}':>11}{'ms':>11}"
    for quality in findings.qualities:
        name = f"{quality.data}, {quality.ranker}"
        numbers = f"{quality.queries:>11,}{quality.ndcg:>11.3f}{quality.recall:>11.3f}{quality.ms:>11.3f}"
        yield f"{name:<50}{numbers}"
    if findings.speeds:
        yield ""
        yield f"{'':<50}{'first ms':>11}{'2 terms ms':>11}{'15 terms':>11}"
    for speed in findings.speeds:
        name = f"{speed.items:,} items, {speed.ranker}"
        yield f"{name:<50}{speed.first_ms:>11.0f}" + "".join(f"{ms:>11.2f}" for ms in speed.ms.values())
    yield ""


def build_document(findings: Findings, judgement: Iterable[Verdict]) -> JsonObject:
    return {
        "quality": [asdict(quality) for quality in findings.qualities],
        "speed": [_speed_json(speed) for speed in findings.speeds],
        "verdicts": list(map(verdict_json, judgement)),
    }


def _speed_json(speed: Speed) -> JsonObject:
    return {**asdict(speed), "ms": {str(terms): ms for terms, ms in speed.ms.items()}}


def main() -> int:
    description = "Measures the quality and the speed of both rankings of search."
    parser = argparse.ArgumentParser(prog="python -m bench.search", description=description)
    parser.add_argument(
        "folder", nargs="?", type=Path, default=DATA, help="files in the format of bench/search_data/README.md"
    )
    try:
        findings = measure(read_datasets(parser.parse_args().folder), Progress(sys.stdout))
    except (BenchError, OSError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    judgement = list(verdicts(findings, compute_slowdown([time_reference_loop() for _ in range(_LOOPS)])))
    print(*format_table(findings), *map(format_verdict, judgement), sep="\n")
    return 0 if all(verdict.is_met for verdict in judgement) else 1


if __name__ == "__main__":
    sys.exit(main())
