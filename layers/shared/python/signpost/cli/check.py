"""`signpost check`: what is wrong with a manifest, before anybody publishes it."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli import checking
from signpost.cli.failure import CommandFailed
from signpost.cli.manifest_files import manifest_at, manifests_at
from signpost.workflow.forms import schema
from signpost.workflow.problems import Problem, Severity

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import Json, JsonObject

DESCRIPTION = (
    "Checks a manifest, or the manifests of a folder, and changes nothing. An error keeps it from being published, "
    "a warning does not. The exit code is 1 if there are errors."
)


def register(commands: "Commands") -> None:
    parser = commands.add_parser("check", help="say what is wrong with a manifest", description=DESCRIPTION)
    parser.add_argument("path", nargs="?", type=Path, help="a manifest in YAML or JSON, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print what is found as JSON")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of manifests, for editors")
    checking.add_options(parser)
    parser.set_defaults(handler=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.schema:
        print(json.dumps(schema(), indent=2))
        return 0
    if arguments.path is None:
        raise CommandFailed("Say what to check: a manifest, or a folder. `.` is the folder you are in.")
    rules = checking.rules_of(arguments)
    found: list[Problem] = []
    for path in manifests_at(arguments.path):
        found += checking.problems_with(manifest_at(path), path, rules)
    is_fine = not any(map(rules.refuse, found))
    if arguments.json:
        print(json.dumps(_as_json(found, is_fine=is_fine), indent=2, ensure_ascii=False))
    else:
        _print(found)
    return 0 if is_fine else 1


def _print(found: Sequence[Problem]) -> None:
    for problem in found:
        print(checking.line(problem))
    errors, warnings = (_counted(found, severity) for severity in ("error", "warning"))
    print(f"{errors}, {warnings}" if found else "nothing found", file=sys.stderr)


def _counted(found: Sequence[Problem], severity: Severity) -> str:
    amount = sum(problem.severity == severity for problem in found)
    return f"{amount} {severity}{'' if amount == 1 else 's'}"


def _as_json(found: Sequence[Problem], *, is_fine: bool) -> "JsonObject":
    return {
        "ok": is_fine,
        **{
            f"{severity}s": [_described(problem) for problem in found if problem.severity == severity]
            for severity in ("error", "warning")
        },
    }


def _described(problem: Problem) -> "Json":
    place = problem.place
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "message": problem.message,
        "path": list(problem.path),
    }
