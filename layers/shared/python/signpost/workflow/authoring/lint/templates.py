"""Check the values of one mapping: paths that are always null, texts that look like paths and are none, and operations
with the wrong operands."""

import re
from collections.abc import Iterator, Mapping

from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.authoring.lint.dataflow import ArgumentsSchema, Dataflow
from signpost.workflow.authoring.problems import LintFinding, suggestion_for
from signpost.workflow.definition import Pointer
from signpost.workflow.paths import SCOPE_NAMES, Path, path_of
from signpost.workflow.values import LITERAL, is_path, operation_in

SCOPES = "$.context.…, $.arguments.…, $.workflow.input.… or $.output.…"
_PATH_WITHOUT_START = re.compile(r"\$(?:context|arguments|workflow\.input|input|output)\.[\w.\[\]]+")
_PATH_PARTS = re.compile(r"\$\.([^.\[\]]*)(.*)", re.DOTALL)
_ROOTS = {name.partition(".")[0]: name for name in SCOPE_NAMES}
"""The scopes by the first name of their paths."""


@dataclass(frozen=True, slots=True)
class MappingSource:
    """The sources of the values of a mapping."""

    flow: Dataflow
    arguments: ArgumentsSchema
    no_output_reason: str | None
    """The reason that nothing is under `$.output`; None if there may be a value."""
    is_before_executor: bool = False
    """Whether it is resolved before the executor runs, so that `$` itself is null."""

    def reason_for_null(self, path: Path) -> str | None:
        if path.scope != "output":
            return self.flow.reason_for_null(path, self.arguments)
        return self.no_output_reason if path.steps or self.is_before_executor else None


def check_mapping(mapping: Mapping[str, Json], source: MappingSource, at: Pointer) -> Iterator[LintFinding]:
    """Check a mapping at its place in the document."""
    for name, template in mapping.items():
        yield from _check_template(template, source, (*at, name), repr(name))


def _check_template(template: Json, source: MappingSource, at: Pointer, label: str) -> Iterator[LintFinding]:
    if isinstance(template, str):
        yield from _check_text(template, source, at, label)
    elif isinstance(template, Mapping):
        if (operation := operation_in(template)) is not None:
            yield from _check_operation(operation, source, at, label)
        else:
            for name, member in template.items():
                yield from _check_template(member, source, (*at, name), label)
    elif isinstance(template, list):
        for index, entry in enumerate(template):
            yield from _check_template(entry, source, (*at, index), label)


def _check_operation(
    operation: tuple[str, Json], source: MappingSource, at: Pointer, label: str
) -> Iterator[LintFinding]:
    operator, operands = operation
    if operator == LITERAL:
        return
    if not isinstance(operands, list) or (operator != "concat" and len(operands) != 2):
        needed = "" if operator == "concat" else " of two operands"
        yield LintFinding(at, f"{label}: `{operator}` needs a list{needed}")
        return
    for index, operand in enumerate(operands):
        if operator != "concat" and isinstance(operand, str) and not operand.startswith("$"):
            yield LintFinding(at, f"{label}: the text {operand!r} counts as 0 in `{operator}`")
        else:
            yield from _check_template(operand, source, (*at, operator, index), label)


def _check_text(text: str, source: MappingSource, at: Pointer, label: str) -> Iterator[LintFinding]:
    if not is_path(text):
        if _PATH_WITHOUT_START.fullmatch(text):
            yield LintFinding(at, f"{label}: {text!r} is used as plain text: a path begins with `$.`")
        return
    path = path_of(text)
    reason = source.reason_for_null(path) if path is not None else f"it is not a path: {_hint_for(text)}"
    if reason is not None:
        yield LintFinding(at, f"{label}: {text!r} is always null, because {reason}", code="impossible_value")


def _hint_for(text: str) -> str:
    """Return the advice for a text that begins like a path and leads nowhere."""
    matched = _PATH_PARTS.fullmatch(text)
    root, rest = matched.groups() if matched else ("", "")
    scope = "workflow.input" if root == "input" else _ROOTS.get(root)
    similar = suggestion_for(root, list(_ROOTS)) if scope is None else ""
    hint = f"; did you mean '$.{scope}{rest}'?" if root == "input" else similar
    return f"use {SCOPES}, or `{{set: {text}}}` for the text itself{hint}"
