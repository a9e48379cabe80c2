"""`signpost check`: what is wrong with a manifest, before anybody publishes it."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from signpost.cli.failure import CommandFailed
from signpost.cli.manifest_files import manifest_at, manifests_at
from signpost.workflow.check import EXECUTORS, problems
from signpost.workflow.forms import schema
from signpost.workflow.problems import Problem, Severity

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import Json, JsonObject

DESCRIPTION = (
    "Checks a manifest, or the manifests of a folder, and changes nothing. An error keeps it from being published, "
    "a warning does not. The exit code is 1 if there are errors."
)
SAY_AFTER = 1.0
"""Seconds without a word."""
MANY = 200
"""Workflows, which take as long to be read."""


def register(commands: "Commands") -> None:
    parser = commands.add_parser("check", help="say what is wrong with a manifest", description=DESCRIPTION)
    parser.add_argument("path", nargs="?", type=Path, help="a manifest in YAML or JSON, or a folder of them")
    parser.add_argument("--strict", action="store_true", help="take warnings for errors")
    parser.add_argument("--json", action="store_true", help="print what is found as JSON")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of manifests, for editors")
    parser.add_argument(
        "--executor", action="append", default=[], metavar="KIND", help="a further kind of executor that there is"
    )
    parser.set_defaults(handler=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.schema:
        print(json.dumps(schema(), indent=2))
        return 0
    if arguments.path is None:
        raise CommandFailed("Say what to check: a manifest, or a folder. `.` is the folder you are in.")
    found: list[Problem] = []
    for path in manifests_at(arguments.path):
        found += _found_in(path, [*EXECUTORS, *arguments.executor])
    is_fine = not any(arguments.strict or problem.severity == "error" for problem in found)
    if arguments.json:
        print(json.dumps(_as_json(found, is_fine=is_fine), indent=2, ensure_ascii=False))
    else:
        _print(found)
    return 0 if is_fine else 1


def _found_in(path: Path, kinds: Sequence[str]) -> Sequence[Problem]:
    at = manifest_at(path)
    if at.manifest is None:
        return at.problems
    return [*at.problems, *problems(at.manifest, kinds, _Progress(path).tell)]


class _Progress:
    """Says how far it is, now and then, apart from what is found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._said_at = monotonic()

    def tell(self, done: int, of_all: int) -> None:
        if monotonic() - self._said_at >= SAY_AFTER or (not done and of_all >= MANY):
            self._said_at = monotonic()
            print(f"{self._path}: {done} of {of_all} workflows", file=sys.stderr)


def _print(found: Sequence[Problem]) -> None:
    for problem in found:
        print(_line(problem))
    errors, warnings = (_counted(found, severity) for severity in ("error", "warning"))
    print(f"{errors}, {warnings}" if found else "nothing found", file=sys.stderr)


def _line(problem: Problem) -> str:
    place = problem.place
    path = f" (by {' → '.join(problem.path)})" if problem.path else ""
    line = f"{place.file}:{place.line}:{place.column}: {problem.severity}: {problem.message}{path}"
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


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
