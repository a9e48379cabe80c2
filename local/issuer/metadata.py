"""The metadata document of the issuer (RFC 8414 and OpenID Connect Discovery)."""

from local.issuer.keys import ALGORITHM
from local.issuer.people import SCOPES


def metadata(url: str) -> dict[str, object]:
    return {
        "issuer": url,
        "authorization_endpoint": f"{url}/authorize",
        "token_endpoint": f"{url}/token",
        "registration_endpoint": f"{url}/register",
        "jwks_uri": f"{url}/jwks",
        "scopes_supported": SCOPES,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
        "claims_supported": ["sub", "tenant", "roles", "scope", "amr"],
        "authorization_response_iss_parameter_supported": True,
    }
