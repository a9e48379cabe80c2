"""Workflows: imported at the first call that drives one, since a gateway that lists needs nothing of it."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from signpost.adapters.dynamodb.instances import DynamoInstances
from signpost.ports import Clock, Ids, Texts
from signpost.records import dataclass
from signpost.registry.catalogue import CatalogueView
from signpost.registry.catalogue_access import CatalogueAccess
from signpost.registry.definitions import CatalogueDefinitions, FunctionsLeft
from signpost.steps import FUNCTION, FunctionSteps
from signpost.surfaces.long_calls import LongCalls
from signpost.surfaces.workflows import Driving
from signpost.wiring.calling import Calling
from signpost.workflow.carrying import Carrier
from signpost.workflow.children import Children
from signpost.workflow.engine import Engine
from signpost.workflow.executing import World
from signpost.workflow.people import People
from signpost.workflow.ports import Definitions, Instances, Machine, Pause
from signpost.workflow.service import Workflows
from signpost.workflow.steps import CHILD
from signpost.workflow.waking import Waker

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Driven:
    """What drives workflows: for whoever asks, and for whoever is woken."""

    workflows: Workflows
    driving: Driving
    waker: Waker


def instances(dynamodb: "DynamoDBClient", table: str, values: Texts) -> Instances:
    return DynamoInstances(dynamodb, table, values)


def definitions(
    catalogue: CatalogueView, access: CatalogueAccess, functions: FunctionsLeft, texts: Texts
) -> Definitions:
    return CatalogueDefinitions(catalogue=catalogue, access=access, functions=functions, texts=texts)


def pause() -> Pause:
    return time.sleep


def machines(calling: Calling) -> Mapping[str, Machine]:
    """What executors run on, by their kinds."""
    return {FUNCTION: FunctionSteps(functions=calling.functions, executors=calling.unguarded, breaker=calling.breaker)}


def driven(
    *,
    definitions: Definitions,
    instances: Instances,
    machines: Mapping[str, Machine],
    clock: Clock,
    ids: Ids,
    pause: Pause,
    lease_margin: float,
) -> Driven:
    by_kind, engine = dict(machines), Engine()
    world = World(machines=by_kind.get, clock=clock, pause=pause, margin=lease_margin)
    carrier = Carrier(instances=instances, people=People(clock=clock, ids=ids), world=world, engine=engine, ids=ids)
    workflows = Workflows(
        definitions=definitions, instances=instances, carrier=carrier, engine=engine, clock=clock, ids=ids
    )
    by_kind[CHILD] = Children(workflows, clock)
    waker = Waker(workflows=workflows, carrier=carrier, engine=engine, clock=clock, ids=ids)
    return Driven(workflows, Driving(workflows), waker)


def long_calls(driven: Driven, calling: Calling, clock: Clock) -> LongCalls:
    return LongCalls(workflows=driven.workflows, functions=calling.functions, breaker=calling.breaker, clock=clock)
