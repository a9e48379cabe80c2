"""Settings that cannot work are named in a sentence, and nothing is served under them."""

import pytest

from signpost.calling.runtime_settings import problem_with as tuning_problem
from signpost.content.model import ScopeNames
from signpost.settings import gateway_settings, problem_with, registry_settings
from signpost.testing.embedded_gateway import ENVIRONMENT
from tests.support.memory_gateway import MemoryGateway


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"AUTH_MODE": "none"}, "No authentication"),
        ({"AUTH_MODE": "open"}, "AuthMode"),
        ({"AUTH_MODE": "local"}, "laptop"),
        ({"OIDC_ISSUER": ""}, "OidcIssuer"),
        ({"OIDC_ISSUER": "http://issuer.test"}, "https"),
        ({"OIDC_ISSUER": "http://127.0.0.1:8767"}, "https"),
        ({"DEFAULT_TENANT": "Default Tenant"}, "DefaultTenant"),
    ],
)
def test_an_invalid_setting_is_named_and_nothing_is_served(change: dict[str, str], says: str) -> None:
    problem = problem_with(gateway_settings({**ENVIRONMENT, **change}).identity)
    assert problem is not None
    assert says in problem
    gateway = MemoryGateway(None, **change)
    assert gateway.send("POST").json["error"]["message"] == problem
    assert gateway.send("GET", "/health").json["configured"] is False


@pytest.mark.parametrize(
    "change",
    [
        {"OIDC_ISSUER": "http://127.0.0.1:8767", "AWS_ENDPOINT_URL": "http://127.0.0.1:8766"},
        {"AUTH_MODE": "api-key", "OIDC_ISSUER": ""},
        {"AUTH_MODE": "local", "AWS_ENDPOINT_URL": "http://127.0.0.1:8766"},
    ],
)
def test_valid_settings_have_no_problem(change: dict[str, str]) -> None:
    assert problem_with(gateway_settings({**ENVIRONMENT, **change}).identity) is None


@pytest.mark.parametrize(
    "scope", ["outbox", "api-keys", "functions", "skills#outbox", "skills-", "", "Skills", "prompts"]
)
def test_a_scope_cannot_be_called_like_another_partition(scope: str) -> None:
    with pytest.raises(ValueError, match="is not a scope name"):
        gateway_settings({**ENVIRONMENT, "SKILLS_SCOPE": scope})
    assert gateway_settings({**ENVIRONMENT, "SKILLS_SCOPE": "skills-blue"}).scopes == ScopeNames(
        "skills-blue", "prompts"
    )


def test_the_audience_is_any_endpoint_unless_another_is_given() -> None:
    endpoints = {"https://gateway.test/mcp", "https://gateway.test/mcp/flat", "https://gateway.test/mcp/functions"}
    assert gateway_settings(ENVIRONMENT).identity.oidc_audiences == endpoints
    assert gateway_settings({**ENVIRONMENT, "OIDC_AUDIENCE": "api://x"}).identity.oidc_audiences == {"api://x"}


def test_deployment_settings_are_valid_tenant_settings() -> None:
    given = {"STATE_TIMEOUT_MS": "2000", "REQUIRE_EXPOSE": "1", "HIDDEN_PREFIXES": "a::, b::"}
    tuning = gateway_settings({**ENVIRONMENT, **given}).tuning
    assert tuning == {"state_timeout_ms": 2_000, "require_expose": 1, "hidden_prefixes": "a::, b::"}
    of_registry = {"OPERATOR_TENANT": "default"}
    assert registry_settings({**ENVIRONMENT, **of_registry, **given}).tuning == tuning
    for name, value in tuning.items():
        assert tuning_problem(name, value, function=None, placement=None) is None


def test_origins_are_separated_by_commas_and_include_the_gateway_itself() -> None:
    settings = gateway_settings({**ENVIRONMENT, "ALLOWED_ORIGINS": " https://a.test/ , https://b.test,"})
    assert settings.allowed_origins == {"https://a.test", "https://b.test", "https://gateway.test"}
