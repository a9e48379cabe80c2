"""The composition of the delivery function."""

import ssl
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

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
from signpost.wiring.aws_clients import AwsClients
from signpost.wiring.calling import build_call_services

if TYPE_CHECKING:
    from signpost.ports import Clock

DELIVERY_BACKOFF = Backoff(first=10, longest=3_600)
"""The backoff of deliveries. With the attempts that the template allows it spans almost five and a half hours."""


def build_delivery(environment: Mapping[str, str]) -> DeliveryHandler:
    return compose_delivery(environment, DELIVERY_BACKOFF)


def compose_delivery(environment: Mapping[str, str], backoff: Backoff) -> DeliveryHandler:
    settings, clock, telemetry = delivery_settings(environment), SystemClock(), Telemetry("delivery")
    clients = AwsClients()
    keys = KeyRing(store=SecretMasterKeys(clients.secrets, settings.master_secret_arn), clock=clock)
    return DeliveryHandler(
        triggers=_build_trigger_sender(settings, clients, keys, clock, telemetry),
        webhooks=WebhookSender(web=_build_web(settings, own_addresses(environment)), keys=keys, clock=clock),
        queue=SqsQueue(clients.sqs, settings.delivery_queue),
        backoff=backoff,
        clock=clock,
        telemetry=telemetry,
    )


def _build_trigger_sender(
    settings: DeliverySettings, clients: AwsClients, keys: KeyRing, clock: "Clock", telemetry: Telemetry
) -> TriggerSender:
    dynamodb, table = clients.dynamodb, settings.registry_table
    calls = build_call_services(
        function_states=DynamoFunctionStates(dynamodb, table),
        breakers=DynamoBreakers(dynamodb, table),
        link=BotoLambdaTransport(clients.lambdas, clock=clock, log_abandoned_call=telemetry.log_abandoned_call),
        keys=keys,
        clock=clock,
        ids=RandomIds(),
        telemetry=telemetry,
    )
    return TriggerSender(executors=calls.executors, clock=clock)


def _build_web(settings: DeliverySettings, own: Sequence[str]) -> GuardedWeb:
    rules = build_egress_rules(settings.allowed_private_hosts, own_addresses=own)
    return GuardedWeb(rules, resolve=resolve_host, dial=open_connection, tls=ssl.create_default_context)
