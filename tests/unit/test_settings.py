"""Settings that cannot work stop the function at its cold start, with a sentence."""

import pytest

from signpost.errors import ConfigurationError
from signpost.settings import gateway_settings
from tests.support.memory_gateway import ENVIRONMENT


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"AUTH_MODE": "open"}, "AuthMode"),
        ({"AUTH_MODE": "local"}, "laptop"),
        ({"OIDC_ISSUER": ""}, "OidcIssuer"),
        ({"OIDC_ISSUER": "http://issuer.test"}, "https"),
        ({"OIDC_ISSUER": "http://127.0.0.1:8767"}, "https"),
        ({"DEFAULT_TENANT": "Default Tenant"}, "DefaultTenant"),
    ],
)
def test_a_setting_that_cannot_work_is_named(change: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        gateway_settings({**ENVIRONMENT, **change})


def test_an_issuer_on_the_loopback_address_serves_a_laptop_cloud() -> None:
    laptop = {"OIDC_ISSUER": "http://127.0.0.1:8767", "AWS_ENDPOINT_URL": "http://127.0.0.1:8766"}
    assert gateway_settings({**ENVIRONMENT, **laptop}).accepts_tokens


def test_the_audience_is_the_endpoint_unless_another_is_given() -> None:
    assert gateway_settings(ENVIRONMENT).oidc_audience == "https://gateway.test/mcp"
    assert gateway_settings({**ENVIRONMENT, "OIDC_AUDIENCE": "api://x"}).oidc_audience == "api://x"


def test_origins_are_listed_with_commas_and_our_own_is_among_them() -> None:
    settings = gateway_settings({**ENVIRONMENT, "ALLOWED_ORIGINS": " https://a.test/ , https://b.test,"})
    assert settings.allowed_origins == {"https://a.test", "https://b.test", "https://gateway.test"}


def test_without_tokens_no_issuer_is_needed() -> None:
    assert not gateway_settings({**ENVIRONMENT, "AUTH_MODE": "api-key", "OIDC_ISSUER": ""}).accepts_tokens
