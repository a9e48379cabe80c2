"""A door that records the protocol revisions and methods that a client sends."""

import json
from collections.abc import Mapping
from typing import cast

from local.door import Door
from local.wire import Answer, Head


class RecordingDoor(Door):
    """Forwards to a stack's own door."""

    def __init__(self, stack_port: int) -> None:
        super().__init__(0, lambda: f"http://127.0.0.1:{stack_port}")
        self.revisions: set[str] = set()
        self.methods: set[str] = set()

    def _forward(self, head: Head, body: bytes, peer: str) -> Answer:
        self.revisions.update(head.values("mcp-protocol-version"))
        self.methods.update(_methods(body))
        return super()._forward(head, body, peer)


def _methods(body: bytes) -> set[str]:
    message = cast("object", json.loads(body)) if body else None
    return {str(cast("Mapping[str, object]", message)["method"])} if isinstance(message, dict) else set()
