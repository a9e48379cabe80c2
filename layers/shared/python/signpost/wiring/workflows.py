"""Workflows: imported at the first call that drives one, since a gateway that lists needs nothing of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters.dynamodb.instances import DynamoInstances
from signpost.ports import Clock, Ids, Texts
from signpost.registry.catalogue import CatalogueView
from signpost.registry.definitions import CatalogueDefinitions
from signpost.surfaces.workflows import Driving
from signpost.workflow.engine import Engine
from signpost.workflow.people import People
from signpost.workflow.ports import Definitions, Executors, Instances
from signpost.workflow.service import PerKind, Workflows
from signpost.workflow.steps import PEOPLE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def instances(dynamodb: "DynamoDBClient", table: str, values: Texts) -> Instances:
    return DynamoInstances(dynamodb, table, values)


def definitions(catalogue: CatalogueView, texts: Texts) -> Definitions:
    return CatalogueDefinitions(catalogue=catalogue, texts=texts)


def driving(
    *,
    definitions: Definitions,
    instances: Instances,
    machines: Mapping[str, Executors],
    clock: Clock,
    ids: Ids,
) -> Driving:
    workflows = Workflows(
        definitions=definitions,
        instances=instances,
        executors=PerKind({PEOPLE: People(clock=clock, ids=ids), **machines}),
        engine=Engine(),
        clock=clock,
        ids=ids,
    )
    return Driving(workflows)
