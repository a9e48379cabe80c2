"""The client of a request, as the functions that serve the request may know it."""

from signpost.contract import CallClient
from signpost.model import Call


def call_client_of(call: Call) -> CallClient:
    client = call.client
    return CallClient(
        capabilities=client.capabilities,
        info=client.info,
        can_answer=client.can_answer,
        wants_progress=client.progress_token is not None,
        log_level=client.log_level,
        thread=call.thread,
    )
