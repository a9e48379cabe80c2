"""The key set of a token issuer, over HTTP, as OpenID Connect Discovery says where."""

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from signpost.errors import Unavailable
from signpost.model import JsonObject

DISCOVERY = "/.well-known/openid-configuration"
TIMEOUT = 3.0
LARGEST_DOCUMENT = 256 * 1024


class HttpKeySetSource:
    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        discovered = _document(issuer.rstrip("/") + DISCOVERY)
        if discovered.get("issuer") != issuer:
            raise Unavailable("The token issuer's discovery document names another issuer.")
        address = str(discovered.get("jwks_uri"))
        if urlsplit(address).scheme != urlsplit(issuer).scheme:
            raise Unavailable("The token issuer's keys are not where its scheme says.")
        keys: list[Mapping[str, Any]] = _document(address).get("keys", [])
        return {key["kid"]: key for key in keys if "kid" in key and key.get("use", "sig") == "sig"}


def _document(url: str) -> dict[str, Any]:
    request = Request(url, headers={"accept": "application/json"})  # noqa: S310 - settings allow https, and http on a laptop
    try:
        with urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310 - as above
            document = json.loads(response.read(LARGEST_DOCUMENT))
    except (OSError, ValueError, HTTPException) as fault:
        raise Unavailable("The keys of the token issuer cannot be read.") from fault
    if not isinstance(document, dict):
        raise Unavailable("The token issuer answered with something else than a document.")
    return cast("dict[str, Any]", document)
