"""Settings that cannot work are named in a sentence, and nothing is served under them."""

import pytest

from signpost.settings import gateway_settings, problem_with
from tests.support.memory_gateway import ENVIRONMENT, MemoryGateway


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
def test_a_setting_that_cannot_work_is_named_and_nothing_is_served(change: dict[str, str], says: str) -> None:
    problem = problem_with(gateway_settings({**ENVIRONMENT, **change}))
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
def test_settings_that_work_have_no_problem(change: dict[str, str]) -> None:
    assert problem_with(gateway_settings({**ENVIRONMENT, **change})) is None


def test_the_audience_is_the_endpoint_unless_another_is_given() -> None:
    assert gateway_settings(ENVIRONMENT).oidc_audience == "https://gateway.test/mcp"
    assert gateway_settings({**ENVIRONMENT, "OIDC_AUDIENCE": "api://x"}).oidc_audience == "api://x"


def test_origins_are_listed_with_commas_and_our_own_is_among_them() -> None:
    settings = gateway_settings({**ENVIRONMENT, "ALLOWED_ORIGINS": " https://a.test/ , https://b.test,"})
    assert settings.allowed_origins == {"https://a.test", "https://b.test", "https://gateway.test"}
