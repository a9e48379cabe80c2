"""The parameters of the stack: values that contradict each other, and values that do not fit the account."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from signpost.cli.doctor.findings import Finding, error, note, warning
from signpost.records import dataclass

TOKEN_MODES = ("jwt", "both", "local")
KEY_MODES = ("api-key", "both", "local")
PAGE = "docs/operations.md#parameters"
DEPLOY = f"pass it with `sam deploy --parameter-overrides` ({PAGE})"
SHORTEST_LEASE_MARGIN_MS = 5_000
"""The clocks of Lambda functions differ by less."""
ORIGIN = re.compile(r"https?://[^/\s*]+")


@dataclass(frozen=True, slots=True)
class StackParameters:
    """The parameters of a deployed stack. A stack of an earlier release lacks some of them."""

    values: Mapping[str, str]
    is_in_account: bool
    """Whether the stack is in an AWS account; otherwise it is on a laptop cloud."""

    def get(self, name: str) -> str:
        return self.values.get(name, "")

    @property
    def auth_mode(self) -> str:
        return self.get("AuthMode")

    @property
    def accepts_tokens(self) -> bool:
        return self.auth_mode in TOKEN_MODES

    @property
    def accepts_api_keys(self) -> bool:
        return self.auth_mode in KEY_MODES

    @property
    def operator_tenant(self) -> str:
        return self.get("OperatorTenant") or self.get("DefaultTenant")


def judge_parameters(parameters: StackParameters) -> Iterator[Finding]:
    yield from _judge_credentials(parameters)
    yield from _judge_tokens(parameters)
    yield from _judge_addresses(parameters)
    yield from _judge_tables(parameters)
    yield from _judge_search(parameters)
    yield from _judge_executors(parameters)
    if parameters.is_in_account:
        yield from _judge_account(parameters)


def _judge_credentials(parameters: StackParameters) -> Iterator[Finding]:
    issuer = parameters.get("OidcIssuer")
    if parameters.auth_mode == "none":
        yield error(
            "auth_mode_none",
            "AuthMode",
            "AuthMode is none: every request except /health is answered with 503.",
            f"Choose api-key, jwt or both: {DEPLOY}.",
        )
    elif parameters.accepts_tokens and not issuer:
        yield error(
            "issuer_missing",
            "OidcIssuer",
            f"AuthMode {parameters.auth_mode} accepts access tokens, and OidcIssuer is empty.",
            f"Give the URL of the issuer: {DEPLOY}.",
        )
    elif issuer and not parameters.accepts_tokens:
        yield warning(
            "issuer_unused",
            "OidcIssuer",
            f"OidcIssuer is set, and AuthMode {parameters.auth_mode} refuses access tokens.",
            f"Choose AuthMode jwt or both, or leave OidcIssuer empty: {DEPLOY}.",
        )


def _judge_tokens(parameters: StackParameters) -> Iterator[Finding]:
    if not parameters.accepts_tokens:
        return
    if not parameters.get("TenantClaim"):
        yield note(
            "tenant_claim_empty",
            "TenantClaim",
            f"TenantClaim is empty: every token of the issuer belongs to tenant {parameters.get('DefaultTenant')}.",
            f"If the issuer serves several tenants, name the claim: {DEPLOY}.",
        )
    if not parameters.get("HumanClaim"):
        yield warning(
            "human_claim_empty",
            "HumanClaim",
            "HumanClaim is empty: no caller counts as a person, and no human step of a workflow can be taken.",
            f"Name a claim that only an interactive login carries: {DEPLOY}.",
        )


def _judge_addresses(parameters: StackParameters) -> Iterator[Finding]:
    domain, public = parameters.get("DomainName"), parameters.get("PublicUrl")
    if domain and not parameters.get("CertificateArn"):
        yield error(
            "certificate_missing",
            "CertificateArn",
            f"DomainName is {domain}, and CertificateArn is empty.",
            f"Give the ARN of a certificate of the domain in this region: {DEPLOY}.",
        )
    if domain and public and urlsplit(public).hostname != domain.lower():
        yield warning(
            "public_url_differs",
            "PublicUrl",
            f"PublicUrl is {public}, and DomainName is {domain}: clients are told the first, and tokens must name it.",
            f"Leave PublicUrl empty unless a proxy stands in front of the domain: {DEPLOY}.",
        )
    for name in ("AllowedOrigins", "MoreOrigins"):
        yield from _judge_origins(name, parameters.get(name))


def _judge_origins(name: str, listed: str) -> Iterator[Finding]:
    for origin in filter(None, map(str.strip, listed.split(","))):
        if not ORIGIN.fullmatch(origin):
            yield warning(
                "origin_malformed",
                name,
                f"{name} has {origin}, which no browser sends: an origin is a scheme and a host, no path.",
                f"Write it as https://app.example.com: {DEPLOY}.",
            )


def _judge_tables(parameters: StackParameters) -> Iterator[Finding]:
    for kind in ("Registry", "Workflows"):
        table, stream = parameters.get(f"{kind}TableName"), parameters.get(f"{kind}StreamArn")
        name = f"{kind}StreamArn"
        if table and not stream:
            problem = f"{kind}TableName is {table}, and {name} is empty: changes in the table reach no function."
            yield error("stream_missing", name, problem, "See docs/operations.md#restore: give the table's stream.")
        elif stream and not table:
            problem = f"{name} is set without {kind}TableName, and is not used."
            yield warning("stream_unused", name, problem, f"Give both, or neither: {DEPLOY}.")
        elif table and f":table/{table}/stream/" not in stream:
            problem = f"{name} is {stream}, which is not a stream of the table {table}."
            yield error("stream_of_other_table", name, problem, "See docs/operations.md#restore.")


def _judge_search(parameters: StackParameters) -> Iterator[Finding]:
    provider, endpoint = parameters.get("SearchProvider"), parameters.get("SearchEndpoint")
    key = parameters.get("SearchKeySecretArn")
    if provider in ("brave", "tavily") and not key:
        problem = f"SearchProvider is {provider}, and SearchKeySecretArn is empty: core::web_search fails."
        yield error("search_key_missing", "SearchKeySecretArn", problem, f"Give the ARN of the secret: {DEPLOY}.")
    if provider == "json" and "{query}" not in endpoint:
        problem = "SearchProvider is json, and SearchEndpoint is no URL with {query} in it."
        yield error("search_endpoint_missing", "SearchEndpoint", problem, "See docs/core-skills.md#coreweb_search.")
    if provider == "none" and (endpoint or key):
        problem = "SearchProvider is none: SearchEndpoint and SearchKeySecretArn are not used."
        yield note("search_settings_unused", "SearchProvider", problem, f"Choose a provider: {DEPLOY}.")


def _judge_executors(parameters: StackParameters) -> Iterator[Finding]:
    for pattern in filter(None, map(str.strip, parameters.get("ExecutorFunctions").split(","))):
        if _permits_every_function(pattern):
            yield warning(
                "executors_unrestricted",
                "ExecutorFunctions",
                f"ExecutorFunctions has {pattern}: the stack may invoke every Lambda function of the account.",
                f"Name the executors, or a prefix that only they have: {DEPLOY}.",
            )


def _permits_every_function(pattern: str) -> bool:
    name = pattern.partition(":function:")[2]
    return "*" in pattern and not name.strip("*?")


def _judge_account(parameters: StackParameters) -> Iterator[Finding]:
    """Judge values that only fit a laptop cloud or a test."""
    if parameters.auth_mode == "local":
        problem = "AuthMode local admits callers without credentials, and is for laptop clouds only."
        yield error("local_mode_in_account", "AuthMode", problem, f"Choose api-key, jwt or both: {DEPLOY}.")
    if endpoint := parameters.get("EndpointUrl"):
        problem = f"EndpointUrl is {endpoint}: the functions look for AWS there, and not in this account."
        yield error("laptop_endpoint_in_account", "EndpointUrl", problem, f"Leave it empty: {DEPLOY}.")
    if (public := parameters.get("PublicUrl")).startswith("http://"):
        problem = f"PublicUrl is {public}: clients send their credentials without TLS."
        yield warning("public_url_without_tls", "PublicUrl", problem, f"Give a URL with https: {DEPLOY}.")
    if parameters.get("Stage") == "test":
        problem = "Stage is test, in which clocks and failures can be set from outside."
        yield warning("test_stage", "Stage", problem, f"Choose dev or prod: {DEPLOY}.")
    if (parameters.get("Stage"), parameters.get("DeletionProtection")) == ("prod", "off"):
        problem = "DeletionProtection is off: the tables can be deleted with one command."
        yield warning("tables_unprotected", "DeletionProtection", problem, f"Set it to on: {DEPLOY}.")
    margin = parameters.get("LeaseMarginMs")
    if margin and int(margin) < SHORTEST_LEASE_MARGIN_MS:
        problem = f"LeaseMarginMs is {margin}: with some clock skew a running worker loses its lease."
        yield warning("lease_margin_short", "LeaseMarginMs", problem, f"Use the default, 15000: {DEPLOY}.")
