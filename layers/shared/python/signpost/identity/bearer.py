"""Parses the Authorization header and builds the WWW-Authenticate header of a denial."""

from signpost.identity.denial import NO_CREDENTIALS, Denial, DenialReason


def parse_credential(header: str | None) -> str | Denial:
    """Returns the credential of a Bearer header, or why there is none."""
    if header is None or not header.strip():
        return NO_CREDENTIALS
    scheme, _, value = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        return Denial(DenialReason.MALFORMED, "The Authorization header must use the Bearer scheme.")
    value = value.strip()
    if len(value.split()) != 1:
        return Denial(DenialReason.MALFORMED, "The Authorization header must be `Bearer` and one token.")
    return value


def build_challenge(denial: Denial, metadata_url: str | None) -> str:
    """Builds the WWW-Authenticate header.

    By RFC 6750, section 3, a request without credentials gets no error code. `resource_metadata` (RFC 9728) says where
    a client gets a token.
    """
    parameters = {} if denial.reason is DenialReason.MISSING else {"error": _error_code(denial)}
    if parameters:
        parameters["error_description"] = denial.message
    if metadata_url:
        parameters["resource_metadata"] = metadata_url
    parameter_list = ", ".join(f'{name}="{_quote(value)}"' for name, value in parameters.items())
    return f"Bearer {parameter_list}" if parameter_list else "Bearer"


def _error_code(denial: Denial) -> str:
    return "invalid_request" if denial.reason is DenialReason.MALFORMED else "invalid_token"


def _quote(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
