"""Runs the benches and says whether the bars of the project are met: python -m bench."""

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
from bench.caller import PARAMETERS, Issuer, call_event, first_answer_event
from bench.contender import Contender, floor, ours, peers
from bench.errors import BenchError
from bench.flat import flat_lap
from bench.harness import harness_lap
from bench.laps import LOOP, Requests, cold_lap, rounds, warm_lap
from bench.search_quality import datasets
from bench.stub import AwsStub
from bench.table import document, said, table
from local.account import Account
from local.errors import CloudError
from local.intrinsics import TemplateError
from local.progress import Progress
from local.project import Project
from local.stack import build

type Contenders = Sequence[Contender]
"""The floor, ours, then the peers."""
type Counts = Mapping[str, int]
"""How many rounds of which processes."""
type Samples = Mapping[str, Mapping[str, list[float]]]
"""By contender and measure, one value a round."""

_HERE = Path(__file__).parent
_RESULTS = _HERE / "results.json"
_BUILD_LOG = _HERE.parent / ".local" / "bench-build.log"


def measure(project: Project, counts: Counts, progress: Progress) -> Results:
    issuer = Issuer()
    requests = Requests(
        listing=json.dumps(first_answer_event(project, issuer)), calling=json.dumps(call_event(project, issuer))
    )
    with AwsStub(issuer.rows()) as stub, tempfile.TemporaryDirectory(prefix="bench-") as home:
        field = contenders(project, Account(endpoint=stub.url), home)
        return results_of(field, samples(field, requests, counts, progress))


def contenders(project: Project, account: Account, home: str) -> Contenders:
    # Without a home of its own, botocore would read the developer's ~/.aws.
    variables = {**account.variables(), "HOME": home}
    gateway = project.built_function("gateway", PARAMETERS, account)
    return (floor(gateway, variables), ours(project, gateway, variables), *peers(project, variables))


def samples(field: Contenders, requests: Requests, counts: Counts, progress: Progress) -> Samples:
    for contender in field:
        cold_lap(contender, requests)  # the first run reads from disk what the others find in memory
    answering = [contender for contender in field if contender.warm]
    cold = rounds(cold_lap, field, requests, counts["cold"], progress)
    warm = rounds(warm_lap, answering, requests, counts["warm"], progress)
    flat = rounds(flat_lap, field[1:2], requests, counts["warm"], progress)
    executors = rounds(harness_lap, field[1:2], requests, counts["warm"], progress)
    found: Samples = defaultdict(lambda: defaultdict(list))
    for name, lap in chain(cold, warm, flat, executors):
        for measure, value in lap.items():
            found[name][measure].append(value)
    return found


def results_of(field: Contenders, found: Samples) -> Results:
    lowest, own, *others = (Row(one.name, found[one.name], one.rival) for one in field)
    return Results(lowest, own, tuple(others), statistics.median(found[LOOP][LOOP]))


def counts_asked_for() -> Counts:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Runs the benches.")
    parser.add_argument("--rounds", type=int, default=15, help="of cold processes")
    parser.add_argument("--warm-rounds", type=int, default=5, help="of warm processes")
    given = parser.parse_args()
    return {"cold": given.rounds, "warm": given.warm_rounds}


def main() -> int:
    counts = counts_asked_for()
    progress = Progress(sys.stdout)
    # As on Lambda, nobody compiles at a cold start.
    compileall.compile_dir(_HERE, quiet=2)
    try:
        built = build("product", log=_BUILD_LOG, progress=progress)
        results = measure(Project(build=built.directory), counts, progress)
        driven = engine.measure(progress)
        searched = search.measure(datasets(search.DATA), progress)
    except (BenchError, CloudError, TemplateError, OSError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    of_engine = list(engine.verdicts(driven, results.slowdown))
    of_search = list(search.verdicts(searched, results.slowdown))
    print(*table(results), *map(said, of_engine), "", *search.table(searched), *map(said, of_search), sep="\n")
    written = {
        **document(results, counts),
        "engine": engine.document(driven, of_engine),
        "search": search.document(searched, of_search),
    }
    _RESULTS.write_text(json.dumps(written, indent=2, sort_keys=True) + "\n", "utf-8")
    judged = (*verdicts(results), *of_engine, *of_search)
    return 0 if all(verdict.met for verdict in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
