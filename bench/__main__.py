"""Runs the benches and prints whether the performance bars of the project are met: python -m bench."""

import argparse
import compileall
import json
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from bench import engine, search
from bench.bars import Results, Row, verdicts
from bench.caller import PARAMETERS, Issuer, build_call_event, build_list_event
from bench.contender import Contender, floor_contender, our_contender, peer_contenders
from bench.errors import BenchError
from bench.flat import flat_lap
from bench.harness import harness_lap
from bench.laps import LOOP, Requests, cold_lap, run_rounds, warm_lap
from bench.search_quality import read_datasets
from bench.stub import AwsStub
from bench.table import build_document, format_table, format_verdict
from local.account import Account
from local.errors import CloudError
from local.intrinsics import TemplateError
from local.progress import Progress
from local.project import Project
from local.stack import build

type Contenders = Sequence[Contender]
"""The floor, the gateway, then the peers."""
type Counts = Mapping[str, int]
"""The number of rounds of cold and of warm processes."""
type Samples = Mapping[str, Mapping[str, list[float]]]
"""Values by contender and measure, one value a round."""

_HERE = Path(__file__).parent
_RESULTS = _HERE / "results.json"
_BUILD_LOG = _HERE.parent / ".local" / "bench-build.log"


def measure(project: Project, counts: Counts, progress: Progress) -> Results:
    issuer = Issuer()
    requests = Requests(
        listing=json.dumps(build_list_event(project, issuer)), calling=json.dumps(build_call_event(project, issuer))
    )
    with AwsStub(issuer.rows()) as stub, tempfile.TemporaryDirectory(prefix="bench-") as home:
        contenders = find_contenders(project, Account(endpoint=stub.url), home)
        return build_results(contenders, collect_samples(contenders, requests, counts, progress))


def find_contenders(project: Project, account: Account, home: str) -> Contenders:
    # Without a home of its own, botocore would read the developer's ~/.aws.
    variables = {**account.variables(), "HOME": home}
    gateway = project.built_function("gateway", PARAMETERS, account)
    return (
        floor_contender(gateway, variables),
        our_contender(project, gateway, variables),
        *peer_contenders(project, variables),
    )


def collect_samples(contenders: Contenders, requests: Requests, counts: Counts, progress: Progress) -> Samples:
    for contender in contenders:
        cold_lap(contender, requests)  # the first run reads files from disk that later runs find in memory
    with_handler = [contender for contender in contenders if contender.warm_module]
    gateway = contenders[1:2]
    cold = run_rounds(cold_lap, contenders, requests, counts["cold"], progress)
    warm = run_rounds(warm_lap, with_handler, requests, counts["warm"], progress)
    flat = run_rounds(flat_lap, gateway, requests, counts["warm"], progress)
    harness = run_rounds(harness_lap, gateway, requests, counts["warm"], progress)
    samples: Samples = defaultdict(lambda: defaultdict(list))
    for name, lap in chain(cold, warm, flat, harness):
        for measure, value in lap.items():
            samples[name][measure].append(value)
    return samples


def build_results(contenders: Contenders, samples: Samples) -> Results:
    floor, ours, *peers = (Row(contender.name, samples[contender.name], contender.is_rival) for contender in contenders)
    return Results(floor, ours, tuple(peers), statistics.median(samples[LOOP][LOOP]))


def parse_counts() -> Counts:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures Signpost and its rivals.")
    parser.add_argument("--rounds", type=int, default=15, help="number of rounds with cold processes")
    parser.add_argument("--warm-rounds", type=int, default=5, help="number of rounds with warm processes")
    options = parser.parse_args()
    return {"cold": options.rounds, "warm": options.warm_rounds}


def main() -> int:
    counts = parse_counts()
    progress = Progress(sys.stdout)
    # Compile before the cold starts, because on Lambda they do not compile modules either.
    compileall.compile_dir(_HERE, quiet=2)
    try:
        built = build("product", log=_BUILD_LOG, progress=progress)
        results = measure(Project(build=built.directory), counts, progress)
        engine_findings = engine.measure(progress)
        search_findings = search.measure(read_datasets(search.DATA), progress)
    except (BenchError, CloudError, TemplateError, OSError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    engine_verdicts = list(engine.verdicts(engine_findings, results.slowdown))
    search_verdicts = list(search.verdicts(search_findings, results.slowdown))
    print(*format_table(results), *map(format_verdict, engine_verdicts), "", sep="\n")
    print(*search.format_table(search_findings), *map(format_verdict, search_verdicts), sep="\n")
    document = {
        **build_document(results, counts),
        "engine": engine.build_document(engine_findings, engine_verdicts),
        "search": search.build_document(search_findings, search_verdicts),
    }
    _RESULTS.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n", "utf-8")
    all_verdicts = (*verdicts(results), *engine_verdicts, *search_verdicts)
    return 0 if all(verdict.is_met for verdict in all_verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
