"""Run events/<function>/<case>.json on the built functions and compare the answers with the expected ones.

    python -m local.invoke [--function NAME] [--case NAME] [--resources FILE.json]

The functions use a stack of their own on an emulator that is deleted afterwards, or the stack that --resources
describes.

Beside a case are <case>.expected.json (local/matching.py defines its format) and, where a case needs other template
parameters, <case>.settings.json: {"parameters": {"AuthMode": "jwt"}}.
"""

import argparse
import os
import re
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from local.account import Account
from local.errors import CloudError
from local.intrinsics import TemplateError
from local.json_values import Json, NotAnObjectError, read_json, read_object
from local.matching import mismatches
from local.progress import Progress
from local.project import Project, placeholder_names
from local.runtime import Invocation, LambdaRuntime
from local.throwaway import throwaway_stack

_COMPANIONS = ("expected", "settings")


@dataclass(frozen=True, slots=True)
class Case:
    function: str
    name: str
    folder: Path

    def file(self, companion: str = "") -> Path:
        return self.folder / (f"{self.name}.{companion}.json" if companion else f"{self.name}.json")

    def parameters(self) -> dict[str, str]:
        file = self.file("settings")
        if not file.is_file():
            return {}
        match read_object(file):
            case {"parameters": dict(parameters), **rest} if not rest:
                return {name: str(value) for name, value in parameters.items()}
            case _:
                raise TemplateError(f'{file.name}: expected an object with the only key "parameters"')


@dataclass(frozen=True, slots=True)
class CaseResult:
    case: str
    ms: float | None
    failures: tuple[str, ...] = ()
    logs: str = ""

    def lines(self) -> Iterator[str]:
        duration = "" if self.ms is None else f"{self.ms:.1f} ms"
        yield f"{self.case:<48} {duration:>11}  {'FAILED' if self.failures else 'ok'}"
        if self.failures:
            yield from (f"    {failure}" for failure in self.failures)
            yield from (f"    | {line}" for line in self.logs.splitlines())


class CaseInvoker(Protocol):
    """Runs the functions of cases."""

    def invoke(self, case: Case) -> Invocation:
        """Call the function of a case with its event and its parameters. Raises CloudError if that cannot be done."""
        ...

    def close(self) -> None:
        """Stop what the calls have started."""
        ...


class Sandboxes:
    """Runs cases. Cases of one function with the same parameters share a sandbox."""

    def __init__(self, project: Project, account: Account, resources: Mapping[str, str]) -> None:
        self._template = project.built_template()
        self._logical_ids = project.logical_ids()
        self._account = account
        self._names = {**placeholder_names(self._template, account), **resources}
        self._open = ExitStack()
        self._runtimes: dict[tuple[str, tuple[tuple[str, str], ...]], LambdaRuntime] = {}

    def invoke(self, case: Case) -> Invocation:
        parameters = case.parameters()
        return self._runtime(case.function, parameters).invoke(read_object(case.file()))

    def close(self) -> None:
        self._open.close()

    def _runtime(self, function: str, parameters: Mapping[str, str]) -> LambdaRuntime:
        key = (function, tuple(sorted(parameters.items())))
        if key not in self._runtimes:
            built_function = self._template.function(self._logical_ids[function], parameters, self._names)
            self._runtimes[key] = self._open.enter_context(LambdaRuntime(built_function, self._account))
        return self._runtimes[key]


def cases_of(function: str, root: Path) -> list[Case]:
    """Return every case that has at least one of its files, so that a companion without its event is found."""
    folder = root / "events" / function
    names = {_case_name(file) for file in folder.glob("*.json")}
    return [Case(function, name, folder) for name in sorted(names)]


def _case_name(file: Path) -> str:
    name, _, companion = file.stem.rpartition(".")
    return name if companion in _COMPANIONS else file.stem


def find_misplaced(project: Project) -> Iterator[CaseResult]:
    """Yield a failure for each folder of events without a function, and each function without events."""
    for name in sorted(project.functions_with_events - project.functions):
        yield CaseResult(f"events/{name}", None, (f"there is no functions/{name}",))
    for name in sorted(project.functions - project.logical_ids().keys()):
        yield CaseResult(f"functions/{name}", None, ("no function in template.yaml has this CodeUri",))
    for name in sorted(project.functions):
        if not cases_of(name, project.root):
            yield CaseResult(f"functions/{name}", None, (f"there is no event in events/{name}",))


def run_case(case: Case, invoker: CaseInvoker, title: str = "") -> CaseResult:
    title = title or f"{case.function}/{case.name}"
    for companion in ("", "expected"):
        if not case.file(companion).is_file():
            return CaseResult(title, None, (f"there is no {case.file(companion).name}",))
    try:
        expected = read_json(case.file("expected"))
        invocation = invoker.invoke(case)
        failures = tuple(_find_failures(expected, invocation))
    except (OSError, ValueError, TemplateError, NotAnObjectError, CloudError, re.error) as error:
        return CaseResult(title, None, (str(error),))
    return CaseResult(title, invocation.duration_ms, failures, invocation.logs)


def _find_failures(expected: Json, invocation: Invocation) -> Iterator[str]:
    differences = [str(mismatch) for mismatch in mismatches(expected, invocation.document())]
    if differences and invocation.error is not None:
        yield f"the function failed: {invocation.error.error_type}: {invocation.error.error_message}"
    yield from differences


def run_cases(project: Project, invoker: CaseInvoker, function: str | None, name: str | None) -> Iterator[CaseResult]:
    """Run all cases, or those of one function or of one name. A choice that selects no case is a failure."""
    cases = [
        case
        for folder in sorted(project.functions & project.logical_ids().keys())
        if function in {None, folder}
        for case in cases_of(folder, project.root)
        if name in {None, case.name}
    ]
    if function is None and name is None:
        yield from find_misplaced(project)
    elif not cases:
        yield CaseResult(f"{function or '*'}/{name or '*'}", None, ("there is no such case",))
    for case in cases:
        yield run_case(case, invoker)


def run(project: Project, invoker: CaseInvoker, function: str | None = None, name: str | None = None) -> int:
    """Run the cases, print one line for each, and return the number of failures."""
    try:
        return report(run_cases(project, invoker, function, name))
    finally:
        invoker.close()


def report(results: Iterable[CaseResult]) -> int:
    """Print a line for each result as it comes, then their counts. Return the number of failures."""
    passed = failed = 0
    for result in results:
        print(*result.lines(), sep="\n", flush=True)
        passed, failed = (passed, failed + 1) if result.failures else (passed + 1, failed)
    print(f"{passed} passed, {failed} failed")
    return failed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m local.invoke", description="Runs events/ on the built functions.")
    parser.add_argument("--function", help="a folder in functions/")
    parser.add_argument("--case", help="a file in events/<function>/, without .json")
    parser.add_argument(
        "--resources",
        type=Path,
        help='names of the resources in the AWS of this shell\'s AWS_ENDPOINT_URL: {"RegistryTable": "…"}; '
        "without it the functions run with a stack of their own on a temporary emulator",
    )
    return parser.parse_args()


@contextmanager
def _open_stack(resources: Path | None) -> Generator[tuple[Project, Account, Mapping[str, str]]]:
    """Provide the build, the AWS account and the names of the stack's resources in that account."""
    if resources is not None:
        names = {name: str(value) for name, value in read_object(resources).items()}
        yield Project(), Account.from_environment(os.environ), names
        return
    with throwaway_stack(Progress(sys.stdout)) as (build, environment, names):
        yield Project(build=build.directory), Account.from_environment(environment), names


def main() -> int:
    arguments = _arguments()
    try:
        with _open_stack(arguments.resources) as (project, account, names):
            sandboxes = Sandboxes(project, account, names)
            return 1 if run(project, sandboxes, arguments.function, arguments.case) else 0
    except (OSError, ValueError, TemplateError, NotAnObjectError, CloudError) as error:
        print(f"cannot run the events: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
