"""Fetches the offer of an executor: its manifest, checked for functions that cannot be called or listed.

None of its functions runs for that.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signpost.calling.failures import failure
from signpost.calling.lookup import may_exist
from signpost.calling.wire_fields import MalformedMessage
from signpost.contract import Executor, ExecutorVersion, HostedFunction, TransportFailure
from signpost.directory import manifest
from signpost.directory.listing import MEMBER_CHECKS, fault_of
from signpost.directory.manifest import ExecutorManifest, manifest_message, parse_manifest
from signpost.directory.model import PlacementRefusal
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.calling.ports import LambdaTransport
    from signpost.directory.ports import ExecutorInspector
    from signpost.ports import Clock

MANIFEST_TIMEOUT = 15.0
"""Seconds to wait for a manifest: the executor may be starting for the first time."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An executor with its checked manifest, before it is placed."""

    executor: Executor
    hosted: Sequence[HostedFunction]
    version: str | None = None

    @property
    def terms(self) -> ExecutorVersion:
        """The version, with a digest of the functions that does not depend on their order."""
        by_id = sorted(self.hosted, key=lambda hosted: hosted.function)
        functions = json.dumps(manifest_message(by_id), sort_keys=True)
        return ExecutorVersion(self.version, hashlib.sha256(functions.encode()).hexdigest())


class Offers:
    def __init__(self, *, inspector: "ExecutorInspector", link: "LambdaTransport", clock: "Clock") -> None:
        self._inspector = inspector
        self._link = link
        self._clock = clock

    def fetch(self, lambda_function: str) -> Offer | PlacementRefusal:
        """Inspect the Lambda function, request its manifest and check it."""
        executor = self._inspector.inspect(lambda_function)
        if isinstance(executor, str):
            return PlacementRefusal("no_executor", executor)
        reported = self._fetch_manifest(executor.arn)
        if isinstance(reported, PlacementRefusal):
            return reported
        if uncallable := [hosted.function for hosted in reported.functions if not may_exist(hosted.function)]:
            listed = ", ".join(map(repr, uncallable))
            return PlacementRefusal(
                "invalid_manifest",
                f"{executor.arn} hosts functions with invalid ids: {listed}. "
                "An id has 1 to 256 letters, digits and _.:- only.",
            )
        if fault := next(filter(None, map(_fault_of, reported.functions)), None):
            return PlacementRefusal("invalid_manifest", f"{executor.arn} hosts {fault}.")
        return Offer(executor, tuple(reported.functions), reported.version)

    def _fetch_manifest(self, arn: str) -> ExecutorManifest | PlacementRefusal:
        answer = self._link.send(arn, manifest.MANIFEST_REQUEST, self._clock.now() + MANIFEST_TIMEOUT)
        if isinstance(answer, TransportFailure):
            return PlacementRefusal("not_reached", failure(answer.code, arn).message)
        try:
            return parse_manifest(answer)
        except MalformedMessage as fault:
            return PlacementRefusal(
                "invalid_manifest", f"{arn} is not an executor: its answer is not a valid manifest ({fault})."
            )


def _fault_of(hosted: HostedFunction) -> str | None:
    """Return the first fault of a function that would break the lists that show it."""
    faults = ((member, fault_of(member, getattr(hosted, member))) for member in MEMBER_CHECKS)
    return next((f"{hosted.function}, whose {member} {fault}" for member, fault in faults if fault), None)
