"""The composition of the delivery function."""

import ssl
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import boto3

from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoBreakers, DynamoFunctionStates
from signpost.adapters.egress import GuardedWeb, open_connection, own_addresses, resolve_host
from signpost.adapters.ids import RandomIds
from signpost.adapters.lambdas import BotoLambdaTransport
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.adapters.sqs import SqsQueue
from signpost.content.deliveries import Backoff
from signpost.entrypoints.delivery import DeliveryHandler, TriggerSender, WebhookSender
from signpost.policy.egress import build_egress_rules
from signpost.settings import DeliverySettings, delivery_settings
from signpost.signing.key_ring import KeyRing
from signpost.telemetry import Telemetry
from signpost.wiring.aws_clients import CALL_CONFIG, CLIENT_CONFIG
from signpost.wiring.calling import build_call_services

if TYPE_CHECKING:
    from signpost.ports import Clock

DELIVERY_BACKOFF = Backoff(first=10, longest=3_600)
"""The backoff of deliveries. With the attempts that the template allows it spans almost five and a half hours."""


def build_delivery(environment: Mapping[str, str]) -> DeliveryHandler:
    return compose_delivery(environment, DELIVERY_BACKOFF)


def compose_delivery(environment: Mapping[str, str], backoff: Backoff) -> DeliveryHandler:
    settings, clock, telemetry = delivery_settings(environment), SystemClock(), Telemetry("delivery")
    keys = _build_key_ring(settings, clock)
    return DeliveryHandler(
        triggers=_build_trigger_sender(settings, keys, clock, telemetry),
        webhooks=WebhookSender(web=_build_web(settings, own_addresses(environment)), keys=keys, clock=clock),
        queue=SqsQueue(cache(lambda: boto3.client("sqs", config=CLIENT_CONFIG)), settings.delivery_queue),
        backoff=backoff,
        clock=clock,
        telemetry=telemetry,
    )


def _build_key_ring(settings: DeliverySettings, clock: "Clock") -> KeyRing:
    secrets = cache(lambda: boto3.client("secretsmanager", config=CLIENT_CONFIG))
    return KeyRing(store=SecretMasterKeys(secrets, settings.master_secret_arn), clock=clock)


def _build_trigger_sender(
    settings: DeliverySettings, keys: KeyRing, clock: "Clock", telemetry: Telemetry
) -> TriggerSender:
    dynamodb, table = boto3.client("dynamodb", config=CLIENT_CONFIG), settings.registry_table
    lambdas = cache(lambda: boto3.client("lambda", config=CALL_CONFIG))
    calls = build_call_services(
        function_states=DynamoFunctionStates(dynamodb, table),
        breakers=DynamoBreakers(dynamodb, table),
        link=BotoLambdaTransport(lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
        keys=keys,
        clock=clock,
        ids=RandomIds(),
        telemetry=telemetry,
    )
    return TriggerSender(executors=calls.executors, clock=clock)


def _build_web(settings: DeliverySettings, own: Sequence[str]) -> GuardedWeb:
    rules = build_egress_rules(settings.allowed_private_hosts, own_addresses=own)
    return GuardedWeb(rules, resolve=resolve_host, dial=open_connection, tls=ssl.create_default_context)
