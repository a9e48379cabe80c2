"""Examines what the tables and the bucket hold: API keys, executors, published content and documents."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from signpost.cli.doctor.findings import describe_scope
from signpost.cli.doctor.readers.definitions import read_published_definitions
from signpost.cli.doctor.readers.partial_reads import read_existing
from signpost.cli.doctor.rules.api_keys import ApiKeyFacts, judge_api_keys
from signpost.cli.doctor.rules.documents import DocumentFacts, judge_documents
from signpost.cli.doctor.rules.executors import ExecutorAnswer, ExecutorFacts, FunctionRows, judge_executors
from signpost.cli.doctor.rules.published_functions import (
    FunctionReference,
    PublishedFacts,
    UnreadableText,
    judge_published,
    list_references,
)
from signpost.directory.load_tenants import TENANTS_TAG, without_qualifier

if TYPE_CHECKING:
    from signpost.adapters.dynamodb import DynamoContentStore
    from signpost.catalogue.snapshot import CatalogueSnapshot
    from signpost.cli.doctor.findings import Finding
    from signpost.cli.doctor.readers.examined_stack import ExaminedStack
    from signpost.cli.doctor.readers.partial_reads import PartialReads
    from signpost.contract import PlacedExecutor
    from signpost.directory.model import PlacementRefusal


def examine_api_keys(stack: "ExaminedStack", _: "PartialReads") -> "Iterator[Finding]":
    keys = [key for tenant in stack.tenants for key in stack.adapters.api_keys.of_tenant(tenant)]
    facts = ApiKeyFacts(stack.name, stack.tenants, keys, stack.adapters.clock.now())
    return judge_api_keys(facts, stack.parameters)


def examine_executors(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    placed = stack.adapters.directory.list_placed()
    tenants = sorted({placement.tenant for placement in placed}, key=lambda tenant: tenant or "")
    facts = ExecutorFacts(
        stack=stack.name,
        core=stack.outputs["ExecutorCoreFunctionArn"],
        layer=stack.outputs["LayerArn"],
        operator_tenant=stack.parameters.operator_tenant,
        allowed=[pattern.strip() for pattern in stack.parameters.get("ExecutorFunctions").split(",")],
        placed=placed,
        answers=[_ask_executor(stack, reads, placement) for placement in _each_once(placed)],
        rows=[FunctionRows(tenant, _list_hosted(stack, tenant)) for tenant in tenants],
    )
    return judge_executors(facts)


def _each_once(placed: "Sequence[PlacedExecutor]") -> "Sequence[PlacedExecutor]":
    return list({placement.executor.arn: placement for placement in placed}.values())


def _ask_executor(stack: "ExaminedStack", reads: "PartialReads", placed: "PlacedExecutor") -> ExecutorAnswer:
    adapters, arn, secret = stack.adapters, placed.executor.arn, placed.executor.key_secret_arn
    function = without_qualifier(arn)
    is_own = arn == stack.outputs["ExecutorCoreFunctionArn"]
    tag = None if is_own else reads.read(f"tag of {arn}", lambda: _read_tag(stack, function))
    return ExecutorAnswer(
        arn=arn,
        offered=_fetch_offer(stack, arn),
        tag=tag,
        secret_problem=reads.read(f"secret of {arn}", lambda: adapters.executor_secrets.problem_with(secret)),
        layers=reads.read(f"layers of {arn}", lambda: _list_layers(stack, arn)) or (),
    )


def _fetch_offer(stack: "ExaminedStack", arn: str) -> "frozenset[str] | PlacementRefusal":
    """Ask the executor for its functions, as the registry function does before it places one."""
    from signpost.directory.offers import Offer  # noqa: PLC0415 - a part of the checks needs it

    offer = stack.adapters.offers.fetch(arn)
    return frozenset(hosted.function for hosted in offer.hosted) if isinstance(offer, Offer) else offer


def _read_tag(stack: "ExaminedStack", function: str) -> str:
    return stack.adapters.executor_tags.find_tag(function, TENANTS_TAG) or ""


def _list_layers(stack: "ExaminedStack", arn: str) -> Sequence[str]:
    configuration = read_existing(lambda: stack.client("lambda").get_function_configuration(FunctionName=arn))
    if configuration is None:  # the offer has said so
        return ()
    return [layer["Arn"] for layer in configuration.get("Layers", [])]


def _list_hosted(stack: "ExaminedStack", tenant: str | None) -> frozenset[str]:
    return frozenset(hosted.function for hosted in stack.adapters.placed_functions.functions(tenant))


def examine_published(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    """Examine the functions that the content of tenants names. Prompts and triggers that the deployment ships name
    functions that it ships, which its publication checks."""
    content, shipped = _open_content(stack), _list_hosted(stack, None)
    references: list[FunctionReference] = []
    unreadable: list[UnreadableText] = []
    hosted: dict[str, frozenset[str]] = {}
    for tenant in stack.tenants:
        subject = f"content of tenant {tenant}"
        references += reads.read(subject, partial(_list_entries, content, tenant)) or ()
        hosted[tenant] = shipped | (reads.read(subject, partial(_list_hosted, stack, tenant)) or frozenset())
        if snapshot := reads.read(subject, partial(_read_snapshot, stack, tenant, unreadable)):
            references += _read_definitions(stack, tenant, snapshot, unreadable)
    return judge_published(PublishedFacts(stack.name, references, hosted, unreadable))


def _open_content(stack: "ExaminedStack") -> "DynamoContentStore":
    from signpost.content.model import ScopeNames  # noqa: PLC0415 - a part of the checks needs it

    parameters = stack.parameters
    return stack.adapters.content(ScopeNames(parameters.get("SkillsScope"), parameters.get("PromptsScope")))


def _list_entries(content: "DynamoContentStore", tenant: str) -> Sequence[FunctionReference]:
    prompts = [
        FunctionReference(tenant, f"prompt {prompt.name}", prompt.function.strip())
        for prompt in content.prompts(tenant)
    ]
    triggers = [
        FunctionReference(tenant, f"trigger {trigger.trigger_type}", trigger.target)
        for trigger in content.subscriptions(tenant)
        if trigger.kind == "trigger"
    ]
    return [*prompts, *triggers]


def _read_snapshot(stack: "ExaminedStack", tenant: str, unreadable: list[UnreadableText]) -> "CatalogueSnapshot | None":
    try:
        return stack.adapters.catalogue.load(tenant, fresh=True).snapshot
    except (LookupError, ValueError) as fault:
        unreadable.append(UnreadableText(tenant, None, str(fault)))
        return None


def _read_definitions(
    stack: "ExaminedStack", tenant: str, snapshot: "CatalogueSnapshot", unreadable: list[UnreadableText]
) -> Iterator[FunctionReference]:
    for found in read_published_definitions(stack.adapters, tenant, snapshot):
        if isinstance(found, UnreadableText):
            unreadable.append(found)
        else:
            yield from list_references(tenant, found)


def examine_documents(stack: "ExaminedStack", reads: "PartialReads") -> "Iterator[Finding]":
    from signpost.adapters.object_keys import bodies_of  # noqa: PLC0415 - a part of the checks needs it

    content, bucket = _open_content(stack), stack.outputs["ContentBucketName"]
    for tenant in (None, *stack.tenants):
        subject, prefix = f"documents of {describe_scope(tenant)}", bodies_of(tenant)
        skills = reads.read(subject, partial(content.skills, tenant))
        sizes = reads.read(subject, partial(_list_sizes, stack, bucket, prefix)) if skills else None
        if skills and sizes is not None:
            yield from judge_documents(DocumentFacts(tenant, bucket, prefix, skills, sizes))


def _list_sizes(stack: "ExaminedStack", bucket: str, prefix: str) -> Mapping[str, int]:
    """List the objects, a thousand in a request, which is far quicker than a request for each."""
    pages = stack.client("s3").get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return {entry["Key"].removeprefix(prefix): entry["Size"] for page in pages for entry in page.get("Contents", [])}
