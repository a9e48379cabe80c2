"""`signpost check`: reports the problems of a manifest before it is published."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from signpost.cli.failure import CommandFailed
from signpost.cli.publish import checking
from signpost.cli.publish.definitions import DefinitionCollector
from signpost.cli.publish.foreign_links import find_foreign_links
from signpost.cli.publish.ignored_files import find_ignored_files
from signpost.cli.publish.list_entries import find_in_folder, find_unread_fields
from signpost.cli.publish.manifest_files import find_manifests, read_manifest
from signpost.cli.terminal import print_progress
from signpost.workflow.authoring.json_schema import manifest_schema
from signpost.workflow.authoring.problems import Problem, Severity, error
from signpost.workflow.authoring.source_tree import SourcePlace

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.errors import WarningCode
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
    parser.add_argument(
        "--stack", help="also compare the manifest with the functions, documents and rules of a deployed stack"
    )
    parser.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
    checking.add_options(parser)
    parser.set_defaults(handler=_run)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.schema:
        print(json.dumps(manifest_schema(), indent=2))
        return 0
    if arguments.path is None:
        raise CommandFailed("The path is missing: give a manifest or a folder. `.` is the current folder.")
    rules = checking.rules_of(arguments)
    problems, definitions = list[Problem](), DefinitionCollector()
    manifests = {path: read_manifest(path) for path in find_manifests(arguments.path)}
    other_workflows = checking.list_workflows(manifests.values())
    for path, found in manifests.items():
        found_here = checking.find_problems(found, path, rules, other_workflows)
        if found.manifest is not None and not any(problem.severity == "error" for problem in found_here):
            definitions.add_manifest(found.manifest)
        problems += found_here
        problems += find_unread_fields(found.manifest) if found.manifest else ()
    problems += definitions.problems
    if arguments.path.is_dir():
        here = SourcePlace(str(arguments.path), 1, 1)
        problems += [error(here, message) for message in find_foreign_links(arguments.path, list(manifests))]
        problems += [*find_ignored_files(arguments.path), *find_in_folder(arguments.path)]
    if arguments.stack is not None and not any(problem.severity == "error" for problem in problems):
        problems += _ask_stack(arguments, problems)
    is_fine = not any(map(rules.is_refused, problems))
    if arguments.json:
        print(json.dumps(_as_json(problems, is_fine=is_fine), indent=2, ensure_ascii=False))
    else:
        _print(problems)
    return 0 if is_fine else 1


def _ask_stack(arguments: argparse.Namespace, known: Sequence[Problem]) -> Sequence[Problem]:
    """Return the warnings with which the stack would publish the path, without those that are known already."""
    # Imported on first use: only a check against a stack connects to one.
    from signpost.cli import remote  # noqa: PLC0415
    from signpost.cli.publish.files import read_publication  # noqa: PLC0415 - as above
    from signpost.cli.publish.upload import RemotePublisher  # noqa: PLC0415 - as above

    publication = read_publication(arguments.path, checking.CheckRules(executors=arguments.executor))
    with remote.connect_registry(arguments.stack, arguments.url, print_progress) as call_registry:
        publisher = RemotePublisher(call_registry, show_line=lambda _: None)
        planned = publisher.plan(publication, prune=False)
        found = publisher.preview(publication, planned, prune=False)
    messages = [problem.message for problem in known]
    return [_problem_of(arguments.path, warning) for warning in found if warning.get("message") not in messages]


def _problem_of(path: Path, warning: "JsonObject") -> Problem:
    """Return a warning of the registry as a problem. It names the entry instead of a place in a file."""
    line = f"line {warning['line']}: " if warning.get("line") else ""
    message = f"{warning.get('kind')} {warning.get('id')}: {line}{warning.get('message')}"
    return Problem("warning", SourcePlace(str(path), 1, 1), message, code=cast("WarningCode", warning.get("code")))


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
