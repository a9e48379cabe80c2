"""The Authorization header: read it, and say in WWW-Authenticate what was wrong with it."""

from signpost.identity.denial import NO_CREDENTIALS, Denial, Reason


def credential(header: str | None) -> str | Denial:
    """The credential of a Bearer header."""
    if header is None or not header.strip():
        return NO_CREDENTIALS
    scheme, _, value = header.strip().partition(" ")
    if scheme.lower() != "bearer":
        return Denial(Reason.MALFORMED, "The Authorization header must use the Bearer scheme.")
    value = value.strip()
    if len(value.split()) != 1:
        return Denial(Reason.MALFORMED, "The Authorization header must be `Bearer` and one token.")
    return value


def challenge(denial: Denial, metadata_url: str | None) -> str:
    """RFC 6750 section 3: a request without credentials gets no error code; RFC 9728: where to get a token."""
    parameters = {} if denial.reason is Reason.MISSING else {"error": _error(denial)}
    if parameters:
        parameters["error_description"] = denial.message
    if metadata_url:
        parameters["resource_metadata"] = metadata_url
    listed = ", ".join(f'{name}="{_quoted(value)}"' for name, value in parameters.items())
    return f"Bearer {listed}" if listed else "Bearer"


def _error(denial: Denial) -> str:
    return "invalid_request" if denial.reason is Reason.MALFORMED else "invalid_token"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
