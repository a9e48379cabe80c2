"""The executors in the directory: whether they answer, and whether the directory and their manifests agree."""

from collections.abc import Iterator, Sequence

from signpost.cli.doctor.findings import Finding, describe_scope, error, note, warning
from signpost.contract import PlacedExecutor
from signpost.directory.allow_list import AllowList
from signpost.directory.load_tenants import TENANTS_TAG, tenants_without_consent, without_qualifier
from signpost.directory.model import PlacementRefusal
from signpost.records import dataclass

PAGE = "docs/executors.md"


@dataclass(frozen=True, slots=True)
class ExecutorAnswer:
    """One Lambda function of the directory, as it answers now."""

    arn: str
    offered: frozenset[str] | PlacementRefusal
    """The ids of the functions that it reports to host, or the reason why it reports none."""
    tag: str | None
    """The tenants that may load it; None if the tag was not looked at, empty without the tag."""
    secret_problem: str | None
    """A sentence that says why the keys of the stack cannot be written to its secret."""
    layers: Sequence[str]
    """The ARNs of the layer versions that it runs with."""


@dataclass(frozen=True, slots=True)
class FunctionRows:
    """The functions of one scope that have a row, which calls read."""

    tenant: str | None
    functions: frozenset[str]


@dataclass(frozen=True, slots=True)
class ExecutorFacts:
    stack: str
    core: str
    """The ARN of the stack's own executor."""
    layer: str
    """The ARN of the layer version of the stack."""
    operator_tenant: str
    allowed: Sequence[str]
    """The patterns of ExecutorFunctions."""
    placed: Sequence[PlacedExecutor]
    answers: Sequence[ExecutorAnswer]
    rows: Sequence[FunctionRows]


def judge_executors(facts: ExecutorFacts) -> Iterator[Finding]:
    if not any(placed.tenant is None and placed.executor.arn == facts.core for placed in facts.placed):
        problem = "The directory does not have the executor of the stack: no core function can be called."
        yield error("core_not_placed", facts.core, problem, "Deploy the stack again, which places it.")
    for answer in facts.answers:
        placements = [placed for placed in facts.placed if placed.executor.arn == answer.arn]
        yield from _judge_answer(facts, answer, placements)
    for rows in facts.rows:
        yield from _judge_rows(facts, rows)


def _judge_answer(
    facts: ExecutorFacts, answer: ExecutorAnswer, placements: Sequence[PlacedExecutor]
) -> Iterator[Finding]:
    if isinstance(answer.offered, PlacementRefusal):
        yield _find_no_answer(facts, answer.arn, answer.offered, placements)
    else:
        for placed in placements:
            yield from _judge_placement(facts, placed, answer.offered)
    if answer.arn != facts.core:
        yield from _judge_permission(facts, answer.arn)
        yield from _judge_tag(facts, answer, placements)
    if answer.secret_problem is not None:
        remedy = f"See {PAGE}#deploy-it, then place the executor again: `{_place_command(facts, placements)}`."
        problem = f"The keys of the stack cannot be written to its secret: {answer.secret_problem}"
        yield error("executor_secret_wrong", answer.arn, problem, remedy)
    yield from _judge_layers(facts, answer)


def _find_no_answer(
    facts: ExecutorFacts, arn: str, refusal: PlacementRefusal, placements: Sequence[PlacedExecutor]
) -> Finding:
    tenant = next((placed.tenant for placed in placements if placed.tenant is not None), None)
    removal = (
        "" if tenant is None else f", or `signpost executors remove {arn} --tenant {tenant} --stack {facts.stack}`"
    )
    problem = f"The executor does not report its functions ({refusal.code}): {refusal.message}"
    return error("executor_no_answer", arn, problem, f"Read its log and deploy it again{removal} ({PAGE}).")


def _judge_placement(facts: ExecutorFacts, placed: PlacedExecutor, offered: frozenset[str]) -> Iterator[Finding]:
    recorded, scope = frozenset(placed.functions), describe_scope(placed.tenant)
    again = f"`{_place_command(facts, [placed])}`"
    if gone := sorted(recorded - offered):
        problem = f"The directory of {scope} has {', '.join(gone)}, which the executor does not host: calls fail."
        yield error("function_not_hosted", placed.executor.arn, problem, f"Deploy an executor with them, or {again}.")
    if new := sorted(offered - recorded):
        problem = f"The executor hosts {', '.join(new)}, which the directory of {scope} does not have."
        yield warning("function_not_placed", placed.executor.arn, problem, f"{again}.")


def _judge_permission(facts: ExecutorFacts, arn: str) -> Iterator[Finding]:
    if isinstance(AllowList(facts.allowed).arn_of(arn), PlacementRefusal):
        yield error(
            "executor_not_allowed",
            arn,
            "ExecutorFunctions does not name the executor: the functions of the stack may not invoke it.",
            "Deploy the stack with its ARN in ExecutorFunctions (docs/executors.md#deploy-it).",
        )


def _judge_tag(facts: ExecutorFacts, answer: ExecutorAnswer, placements: Sequence[PlacedExecutor]) -> Iterator[Finding]:
    if answer.tag is None:
        return
    named = answer.tag.split()
    missing = tenants_without_consent(named, (placed.tenant for placed in placements))
    for tenant in missing:
        if named or tenant != facts.operator_tenant:
            names = " ".join(sorted({*named, tenant}))
            yield warning(
                "executor_tag_missing",
                answer.arn,
                f"The executor is placed for tenant {tenant}, which its tag {TENANTS_TAG} does not name: once it is "
                "removed or unloaded, administrators of the tenant cannot load it.",
                f"`aws lambda tag-resource --resource {without_qualifier(answer.arn)} "
                f'--tags "{TENANTS_TAG}={names}"` ({PAGE}#load-it-at-run-time).',
            )


def _judge_layers(facts: ExecutorFacts, answer: ExecutorAnswer) -> Iterator[Finding]:
    name = facts.layer.rpartition(":")[0]
    for layer in answer.layers:
        if layer.rpartition(":")[0] == name and layer != facts.layer:
            problem = f"The executor runs with {layer}, and the stack with {facts.layer}."
            remedy = f"Deploy the executor again with LayerArn={facts.layer}."
            yield note("executor_layer_differs", answer.arn, problem, remedy)


def _judge_rows(facts: ExecutorFacts, rows: FunctionRows) -> Iterator[Finding]:
    placements = [placed for placed in facts.placed if placed.tenant == rows.tenant]
    scope = describe_scope(rows.tenant)
    held = {name for placed in placements for name in placed.functions}
    for placed in placements:
        if lost := sorted(frozenset(placed.functions) - rows.functions):
            problem = f"{', '.join(lost)} of {scope} have no row in the directory: calls find no function."
            remedy = f"`{_place_command(facts, [placed])}`, which writes them again."
            yield error("placement_incomplete", placed.executor.arn, problem, remedy)
    if stray := sorted(rows.functions - held):
        problem = f"{', '.join(stray)} of {scope} belong to no executor of the directory."
        remedy = f"Place their executor again: `{_place_command(facts, [], rows.tenant)}`."
        yield warning("function_without_executor", ", ".join(stray), problem, remedy)


def _place_command(facts: ExecutorFacts, placements: Sequence[PlacedExecutor], tenant: str | None = None) -> str:
    for placed in placements:
        if placed.tenant is not None:
            return f"signpost executors place {placed.executor.arn} --tenant {placed.tenant} --stack {facts.stack}"
    if tenant is not None:
        return f"signpost executors place FUNCTION --tenant {tenant} --stack {facts.stack}"
    return "sam deploy"
