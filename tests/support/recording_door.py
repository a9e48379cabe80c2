"""A door that records the protocol revisions and methods that a client sends."""

import json
from collections.abc import Mapping
from typing import cast

from local.door import Door
from local.upstream import Upstream
from local.wire import Answer, Fields, Head, end_to_end

STACK_TIMEOUT = 40.0


class RecordingDoor(Door):
    """Forwards to a stack's own door."""

    def __init__(self, stack_port: int) -> None:
        super().__init__(0, self._record)
        self.revisions: set[str] = set()
        self.methods: set[str] = set()
        self._stack = f"127.0.0.1:{stack_port}"
        self._upstream = Upstream(STACK_TIMEOUT)

    def stop(self) -> None:
        super().stop()
        self._upstream.close()

    def _record(self, head: Head, body: bytes, _peer: str) -> Answer:
        self.revisions.update(head.values("mcp-protocol-version"))
        self.methods.update(_methods(body))
        outgoing = Head(head.method, head.path, 1, _for_stack(head, self._stack, body))
        return self._upstream.exchange(self._stack, outgoing, body)


def _for_stack(head: Head, stack: str, body: bytes) -> Fields:
    sent = [(key, value) for key, value in end_to_end(head.fields) if key.lower() not in ("host", "content-length")]
    return (("Host", stack), *sent, ("Content-Length", str(len(body))))


def _methods(body: bytes) -> set[str]:
    message = cast("object", json.loads(body)) if body else None
    return {str(cast("Mapping[str, object]", message)["method"])} if isinstance(message, dict) else set()
