"""Runs the benches and says whether the bars of the project are met: python -m bench."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.caller import PARAMETERS, Issuer, event_file, first_answer_event
from bench.cold import FIRST_ANSWER, FLOOR, INIT, BenchError, Contender, Result, Results, compare
from bench.stub import AwsStub
from local.account import Account
from local.built import BuiltFunction
from local.errors import CloudError
from local.intrinsics import TemplateError
from local.json_values import JsonObject
from local.progress import Progress
from local.project import Project
from local.stack import build

_RESULTS = Path(__file__).parent / "results.json"
_BUILD_LOG = Path(__file__).parents[1] / ".local" / "bench-build.log"
_FLOOR_NAME = "floor: Python + boto3.client('dynamodb')"
_INIT_BAR = 1.6
_FIRST_ANSWER_BAR = 1.9


def measure(project: Project, rounds: int) -> Results:
    issuer = Issuer()
    with AwsStub(issuer.rows()) as stub, tempfile.TemporaryDirectory(prefix="bench-") as home:
        account = Account(endpoint=stub.url)
        # Without a home of its own, botocore would read the developer's ~/.aws.
        variables = {**account.variables(), "HOME": home}
        gateway = project.built_function("gateway", PARAMETERS, account)
        ours = ours_of(project, gateway, {**gateway.environment, **variables}, issuer)
        floor = Contender(_FLOOR_NAME, FLOOR, gateway.search_path[1:], variables=variables)
        return compare(floor, ours, rounds)


def ours_of(project: Project, gateway: BuiltFunction, variables: dict[str, str], issuer: Issuer) -> list[Contender]:
    contenders = [Contender("cold init, jwt", INIT, gateway.search_path, _INIT_BAR, variables)]
    if event_file(project).is_file():
        event = json.dumps(first_answer_event(project, issuer))
        contenders.append(
            Contender("first tools/list", FIRST_ANSWER, gateway.search_path, _FIRST_ANSWER_BAR, variables, (event,))
        )
    return contenders


def unmeasured(project: Project) -> list[str]:
    """What the bars ask for and this tree cannot show yet."""
    file = event_file(project)
    return [] if file.is_file() else [f"first tools/list: there is no {file.relative_to(project.root)}"]


def table(results: Results) -> Iterator[str]:
    yield f"{'what':<44}{'ms':>8}{'ratio':>8}{'bar':>6}  verdict"
    for row in results.rows:
        bar = "" if row.contender.bar is None else f"{row.contender.bar:.1f}"
        yield f"{row.contender.name:<44}{row.median_ms:>8.1f}{row.ratio:>8.2f}{bar:>6}  {_verdict(row)}"
    yield f"{'reference loop':<44}{results.reference_loop_ms:>8.1f}  medians of {results.rounds} rounds"


def document(results: Results) -> JsonObject:
    return {
        "reference_loop_ms": round(results.reference_loop_ms, 1),
        "rounds": results.rounds,
        "rows": [
            {
                "bar": row.contender.bar,
                "median_ms": round(row.median_ms, 1),
                "met": row.met,
                "ratio": round(row.ratio, 3),
                "what": row.contender.name,
            }
            for row in results.rows
        ],
    }


def _verdict(row: Result) -> str:
    return {None: "", True: "met", False: "MISSED"}[row.met]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Runs the benches.")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    try:
        built = build("product", log=_BUILD_LOG, progress=Progress(sys.stdout))
        project = Project(build=built.directory)
        results = measure(project, arguments.rounds)
    except (BenchError, CloudError, TemplateError, OSError) as error:
        print(f"cannot measure: {error}", file=sys.stderr)
        return 2
    missing = unmeasured(project)
    print(*table(results), *(f"not measured: {line}" for line in missing), sep="\n")
    _RESULTS.write_text(json.dumps(document(results), indent=2, sort_keys=True) + "\n", "utf-8")
    return 1 if missing or any(row.met is False for row in results.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
