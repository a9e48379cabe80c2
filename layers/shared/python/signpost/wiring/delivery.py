"""The delivery function."""

import ssl
from collections.abc import Mapping, Sequence
from functools import cache

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoBreakers, DynamoFunctionStates
from signpost.adapters.egress import GuardedWeb, dialled, own_places, resolved
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import LambdaLink
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.adapters.sqs import SqsQueue
from signpost.delivery import DeliveryDoor, Triggers, Webhooks
from signpost.policy.egress import egress_rules
from signpost.policy.key_ring import KeyRing
from signpost.ports import Clock
from signpost.registry.deliveries import Backoff
from signpost.settings import DeliverySettings, delivery_settings
from signpost.telemetry import Telemetry
from signpost.wiring.calling import calling
from signpost.wiring.clients import CALLS, CLIENT

LATER_AND_LATER = Backoff(first=10, longest=3_600)
"""With the attempts that the template allows: almost five and a half hours."""


def delivery(environment: Mapping[str, str]) -> DeliveryDoor:
    return composed(environment, LATER_AND_LATER)


def composed(environment: Mapping[str, str], backoff: Backoff) -> DeliveryDoor:
    settings, clock, telemetry = delivery_settings(environment), SystemClock(), Telemetry("delivery")
    keys = _keys(settings, clock)
    return DeliveryDoor(
        triggers=_triggers(settings, keys, clock, telemetry),
        webhooks=Webhooks(web=_web(settings, own_places(environment)), keys=keys, clock=clock),
        queue=SqsQueue(cache(lambda: boto3.client("sqs", config=CLIENT)), settings.delivery_queue),
        backoff=backoff,
        clock=clock,
        telemetry=telemetry,
    )


def _keys(settings: DeliverySettings, clock: Clock) -> KeyRing:
    secrets = cache(lambda: boto3.client("secretsmanager", config=CLIENT))
    return KeyRing(store=SecretMasterKeys(secrets, settings.master_secret_arn), clock=clock)


def _triggers(settings: DeliverySettings, keys: KeyRing, clock: Clock, telemetry: Telemetry) -> Triggers:
    dynamodb, table = boto3.client("dynamodb", config=CLIENT), settings.registry_table
    lambdas = cache(lambda: boto3.client("lambda", config=CALLS))
    called = calling(
        function_states=DynamoFunctionStates(dynamodb, table),
        breakers=DynamoBreakers(dynamodb, table),
        link=LambdaLink(lambdas, clock=clock, left_behind=telemetry.left_behind),
        keys=keys,
        clock=clock,
        ids=RandomIds(),
        telemetry=telemetry,
    )
    return Triggers(executors=called.executors, clock=clock)


def _web(settings: DeliverySettings, own: Sequence[str]) -> GuardedWeb:
    rules = egress_rules(settings.allowed_private_hosts, own_places=own)
    return GuardedWeb(rules, resolve=resolved, dial=dialled, tls=ssl.create_default_context)
