"""`signpost check`: reports the problems of a manifest before it is published."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed
from signpost.cli.publish import checking
from signpost.cli.publish.manifest_files import find_manifests, read_manifest
from signpost.workflow.authoring.json_schema import manifest_schema
from signpost.workflow.authoring.problems import Problem, Severity

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import Json, JsonObject

DESCRIPTION = (
    "Checks a manifest, or the manifests of a folder, and changes nothing. An error keeps it from being published, "
    "a warning does not. The exit code is 1 if there are errors."
)


def register(commands: "Commands") -> None:
    parser = commands.add_parser("check", help="check a manifest and print its problems", description=DESCRIPTION)
    parser.add_argument("path", nargs="?", type=Path, help="a manifest in YAML or JSON, or a folder of them")
    parser.add_argument("--json", action="store_true", help="print the problems as JSON")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of manifests, for editors")
    checking.add_options(parser)
    parser.set_defaults(handler=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.schema:
        print(json.dumps(manifest_schema(), indent=2))
        return 0
    if arguments.path is None:
        raise CommandFailed("The path is missing: give a manifest or a folder. `.` is the current folder.")
    rules = checking.rules_of(arguments)
    problems: list[Problem] = []
    for path in find_manifests(arguments.path):
        problems += checking.find_problems(read_manifest(path), path, rules)
    is_fine = not any(map(rules.is_refused, problems))
    if arguments.json:
        print(json.dumps(_as_json(problems, is_fine=is_fine), indent=2, ensure_ascii=False))
    else:
        _print(problems)
    return 0 if is_fine else 1


def _print(problems: Sequence[Problem]) -> None:
    for problem in problems:
        print(checking.format_problem(problem))
    errors, warnings = (_severity_count(problems, severity) for severity in ("error", "warning"))
    print(f"{errors}, {warnings}" if problems else "no problems found", file=sys.stderr)


def _severity_count(problems: Sequence[Problem], severity: Severity) -> str:
    count = sum(problem.severity == severity for problem in problems)
    return f"{count} {severity}{'' if count == 1 else 's'}"


def _as_json(problems: Sequence[Problem], *, is_fine: bool) -> "JsonObject":
    return {
        "ok": is_fine,
        **{
            f"{severity}s": [_problem_as_json(problem) for problem in problems if problem.severity == severity]
            for severity in ("error", "warning")
        },
    }


def _problem_as_json(problem: Problem) -> "Json":
    place = problem.place
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "message": problem.message,
        "path": list(problem.path),
        **({"code": problem.code} if problem.code else {}),
    }
