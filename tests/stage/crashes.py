"""A process that dies at a chosen step: right before one of its calls to a store leaves, or when it has been carried
out. It is killed as the kernel kills, so that nothing in it can clean up."""

import os
import signal
from typing import Any

import boto3


class Crashes:
    """Must be there before the clients whose calls are steps: they learn from the session whom to ask."""

    def __init__(self) -> None:
        self._left: int | None = None
        boto3.setup_default_session()
        session: Any = boto3.DEFAULT_SESSION
        for store in ("dynamodb", "s3"):
            session.events.register(f"before-call.{store}", self._step)
            session.events.register(f"after-call.{store}", self._step)

    def arm(self, steps: int | None) -> None:
        """After so many steps; None for not at all."""
        self._left = steps

    def _step(self, **_: Any) -> None:
        if self._left is None:
            return
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1
