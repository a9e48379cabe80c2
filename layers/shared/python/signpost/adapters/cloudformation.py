"""Sends the answer of a custom resource to CloudFormation."""

import json
from urllib.request import Request, urlopen

from signpost.model import JsonObject

ANSWER_TIMEOUT = 10


def put_answer(address: str, answer: JsonObject) -> None:
    """Put the answer to the presigned address of the request."""
    if not address.startswith(("https://", "http://")):
        raise ValueError("the ResponseURL must be an http or https address")
    request = Request(address, json.dumps(answer).encode(), {"content-type": ""}, method="PUT")  # noqa: S310 - checked above
    with urlopen(request, timeout=ANSWER_TIMEOUT):  # noqa: S310 - as above
        pass
