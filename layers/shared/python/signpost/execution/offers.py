"""What an executor offers to host, as it says itself: asked of it, and held against what can be called and shown. No
function of it runs for that."""

import hashlib
import json
from collections.abc import Sequence

from signpost.contract import Executor, Hosted, Terms, Undelivered
from signpost.execution import manifest
from signpost.execution.failures import failure
from signpost.execution.functions import may_exist
from signpost.execution.listing import MEMBERS, fault_of
from signpost.execution.manifest import Manifest, manifest_message, manifest_of
from signpost.execution.members import NotOurs
from signpost.loads import NotPlaced
from signpost.ports import Clock, ExecutorInspector, Link
from signpost.records import dataclass

ANSWERS_WITHIN = 15.0
"""Seconds for a manifest: the executor may be starting for the first time."""


@dataclass(frozen=True, slots=True)
class Offer:
    executor: Executor
    hosted: Sequence[Hosted]
    version: str | None = None

    @property
    def terms(self) -> Terms:
        by_id = sorted(self.hosted, key=lambda one: one.function)
        said = json.dumps(manifest_message(by_id), sort_keys=True)
        return Terms(self.version, hashlib.sha256(said.encode()).hexdigest())


class Offers:
    def __init__(self, *, inspector: ExecutorInspector, link: Link, clock: Clock) -> None:
        self._inspector = inspector
        self._link = link
        self._clock = clock

    def of(self, lambda_function: str) -> Offer | NotPlaced:
        executor = self._inspector.inspect(lambda_function)
        if isinstance(executor, str):
            return NotPlaced("no_executor", executor)
        said = self._manifest(executor.arn)
        if isinstance(said, NotPlaced):
            return said
        if odd := [one.function for one in said.functions if not may_exist(one.function)]:
            listed = ", ".join(map(repr, odd))
            return NotPlaced("invalid_manifest", f"{executor.arn} hosts what cannot be called: {listed}.")
        if fault := next(filter(None, map(_fault_of, said.functions)), None):
            return NotPlaced("invalid_manifest", f"{executor.arn} hosts {fault}.")
        return Offer(executor, tuple(said.functions), said.version)

    def _manifest(self, arn: str) -> Manifest | NotPlaced:
        answer = self._link.send(arn, manifest.REQUEST, self._clock.now() + ANSWERS_WITHIN)
        if isinstance(answer, Undelivered):
            return NotPlaced("not_reached", failure(answer.code, arn).message)
        try:
            return manifest_of(answer)
        except NotOurs as fault:
            return NotPlaced("invalid_manifest", f"{arn} is no executor: {fault} in its manifest.")


def _fault_of(hosted: Hosted) -> str | None:
    """What would spoil the lists that show it."""
    faults = ((member, fault_of(member, getattr(hosted, member))) for member in MEMBERS)
    return next((f"{hosted.function}, whose {member} {fault}" for member, fault in faults if fault), None)
