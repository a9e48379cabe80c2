"""The client of a function that another function calls."""

import hashlib
import json

from signpost.contract import CallClient
from signpost.model import JsonObject


def build_nested_client(thread: str, function: str, arguments: JsonObject) -> CallClient | None:
    """Return the client of a nested call; None if the calling function has no thread. The client can answer nothing,
    and its thread is that of the calling function, apart from other nested calls of the same thread."""
    if not thread:
        return None
    text = json.dumps([thread, function, arguments], sort_keys=True)
    return CallClient(thread=hashlib.sha256(text.encode()).hexdigest())
