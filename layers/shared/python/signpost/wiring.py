"""Which adapter stands behind which port in an AWS account. One graph a warm function, made at init."""

from collections.abc import Mapping
from dataclasses import dataclass

import boto3
from botocore.config import Config

from signpost.adapters.alarm import alarm
from signpost.adapters.clock import SystemClock
from signpost.adapters.dynamodb import DynamoApiKeys, DynamoCatalogue, DynamoIssuerKeySets
from signpost.adapters.oidc import HttpKeySetSource
from signpost.adapters.s3 import S3Answers
from signpost.adapters.secrets_manager import SecretMasterKeys
from signpost.http.front_door import FrontDoor
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.identity.authenticator import Authenticator, CredentialAuthenticator
from signpost.identity.key_set import IssuerKeys
from signpost.model import Principal
from signpost.policy.tokens import Sealer
from signpost.ports import Alarm, AnswerStore, ApiKeys, Catalogue, Clock, IssuerKeySets, KeySetSource, MasterKeyStore
from signpost.protocol.dispatch import Dispatcher
from signpost.protocol.services import Services
from signpost.protocol.surface import Surface
from signpost.protocol.tool_texts import ToolTexts
from signpost.registry.catalogue import CatalogueView
from signpost.schema.validation import Validators
from signpost.settings import GatewaySettings, gateway_settings
from signpost.surfaces.gateway import INSTRUCTIONS, GatewayTools
from signpost.telemetry import Telemetry

CLIENT = Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
SIGNED_URLS = CLIENT.merge(Config(signature_version="s3v4"))


@dataclass(frozen=True, slots=True)
class Adapters:
    api_keys: ApiKeys
    issuer_key_sets: IssuerKeySets
    key_set_source: KeySetSource
    catalogue: Catalogue
    master_keys: MasterKeyStore
    long_answers: AnswerStore
    clock: Clock
    alarm: Alarm


def gateway(environment: Mapping[str, str]) -> FrontDoor:
    settings = gateway_settings(environment)
    adapters = aws_adapters(settings)
    return front_door(settings, adapters, Telemetry("gateway"), {"/mcp": gateway_surface(adapters)})


def aws_adapters(settings: GatewaySettings) -> Adapters:
    dynamodb = boto3.client("dynamodb", config=CLIENT)
    table = settings.registry_table
    return Adapters(
        api_keys=DynamoApiKeys(dynamodb, table),
        issuer_key_sets=DynamoIssuerKeySets(dynamodb, table),
        key_set_source=HttpKeySetSource(),
        catalogue=DynamoCatalogue(dynamodb, table),
        master_keys=SecretMasterKeys(lambda: boto3.client("secretsmanager", config=CLIENT), settings.master_secret_arn),
        long_answers=S3Answers(lambda: boto3.client("s3", config=SIGNED_URLS), settings.content_bucket),
        clock=SystemClock(),
        alarm=alarm,
    )


def gateway_surface(adapters: Adapters) -> Surface:
    catalogue = CatalogueView(catalogue=adapters.catalogue, clock=adapters.clock)
    tools = GatewayTools(catalogue=catalogue, sealer=_sealer(adapters))
    return Surface(name="gateway", instructions=INSTRUCTIONS, tools=(tools,))


def front_door(
    settings: GatewaySettings, adapters: Adapters, telemetry: Telemetry, surfaces: Mapping[str, Surface]
) -> FrontDoor:
    services = Services(
        sealer=_sealer(adapters),
        clock=adapters.clock,
        alarm=adapters.alarm,
        validators=Validators(),
        long_answers=adapters.long_answers,
        tool_texts=ToolTexts(),
    )
    return FrontDoor(
        settings=settings,
        authenticator=_authenticator(settings, adapters),
        surfaces={path: Dispatcher(surface, services) for path, surface in surfaces.items()},
        telemetry=telemetry,
        clock=adapters.clock,
        alarm=adapters.alarm,
    )


def _sealer(adapters: Adapters) -> Sealer:
    return Sealer(store=adapters.master_keys, clock=adapters.clock)


def _authenticator(settings: GatewaySettings, adapters: Adapters) -> Authenticator:
    keys = ApiKeyAuthenticator(keys=adapters.api_keys, clock=adapters.clock)
    return Authenticator(
        tokens=_token_authenticator(settings, adapters) if settings.accepts_tokens else None,
        keys=keys if settings.accepts_api_keys else None,
        anonymous=_anonymous(settings) if settings.auth_mode == "local" else None,
    )


def _token_authenticator(settings: GatewaySettings, adapters: Adapters) -> CredentialAuthenticator:
    # A deployment that takes no tokens does not pay for the JWT library.
    from signpost.identity.tokens import TokenAuthenticator  # noqa: PLC0415

    keys = IssuerKeys(
        issuer=settings.oidc_issuer,
        rows=adapters.issuer_key_sets,
        source=adapters.key_set_source,
        clock=adapters.clock,
    )
    return TokenAuthenticator(
        issuer=settings.oidc_issuer,
        audience=settings.oidc_audience,
        keys=keys,
        claims=settings.claims,
        default_tenant=settings.default_tenant,
        clock=adapters.clock,
    )


def _anonymous(settings: GatewaySettings) -> Principal:
    return Principal(subject="anonymous", tenant=settings.default_tenant, issuer="signpost:local")
