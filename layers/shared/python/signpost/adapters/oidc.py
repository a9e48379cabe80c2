"""Fetches the key set of a token issuer over HTTP, found by OpenID Connect Discovery."""

import json
from collections.abc import Mapping
from functools import cached_property
from http.client import HTTPException
from typing import Any, cast
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from signpost.errors import Unavailable
from signpost.model import JsonObject

DISCOVERY_PATH = "/.well-known/openid-configuration"
TIMEOUT = 3.0
LARGEST_DOCUMENT = 256 * 1024


class _IssuerRedirectHandler(HTTPRedirectHandler):
    """Follows no redirect: an issuer's documents are only at the addresses that it publishes itself."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class HttpKeySetSource:
    @cached_property
    def _opener(self) -> OpenerDirector:
        """The opener, made at first use, once an hour: it reads the certificates, which would slow a cold start."""
        return build_opener(_IssuerRedirectHandler)

    def fetch(self, issuer: str) -> Mapping[str, JsonObject]:
        discovered = self._fetch_document(issuer.rstrip("/") + DISCOVERY_PATH)
        if discovered.get("issuer") != issuer:
            raise Unavailable("The discovery document of the token issuer names another issuer.")
        address = str(discovered.get("jwks_uri"))
        if not address.startswith(f"{issuer.partition(':')[0]}://"):
            raise Unavailable("The `jwks_uri` of the token issuer has another scheme than the issuer.")
        return _signing_keys(self._fetch_document(address).get("keys"))

    def _fetch_document(self, url: str) -> dict[str, Any]:
        request = Request(url, headers={"accept": "application/json"})  # noqa: S310 - settings allow https, and http on a laptop
        try:
            with self._opener.open(request, timeout=TIMEOUT) as response:
                document = json.loads(response.read(LARGEST_DOCUMENT))
        except (OSError, ValueError, RecursionError, HTTPException) as fault:
            raise Unavailable("The signing keys of the token issuer cannot be fetched.") from fault
        if not isinstance(document, dict):
            raise Unavailable("The token issuer did not answer with a JSON object.")
        return cast("dict[str, Any]", document)


def _signing_keys(published: Any) -> Mapping[str, JsonObject]:
    if not isinstance(published, list) or not all(isinstance(key, dict) for key in cast("list[Any]", published)):
        raise Unavailable("The key set of the token issuer is not a list of keys.")
    keys = cast("list[dict[str, Any]]", published)
    return {key["kid"]: key for key in keys if isinstance(key.get("kid"), str) and key.get("use", "sig") == "sig"}
