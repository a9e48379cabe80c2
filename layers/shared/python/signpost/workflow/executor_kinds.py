"""The kinds of executors that a deployment knows, and those that it runs."""

from collections.abc import Sequence

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class ExecutorKinds:
    known: Sequence[str]
    """The kinds whose settings are described, or that the deployment adds."""
    executed: Sequence[str]
    """The kinds that it runs."""

    def is_idle(self, kind: str) -> bool:
        """Return whether the kind is known, and nothing runs it."""
        return kind in self.known and kind not in self.executed

    def describe_idle_connection(self, kind: str) -> str:
        return f"no step can use the connection: nothing runs executors of the kind {kind!r} in this deployment"

    def describe_idle(self, kind: str) -> str:
        return (
            f"nothing runs executors of the kind {kind!r} in this deployment, so the step fails with EXECUTOR_FAILED; "
            f"the kinds that run are {', '.join(self.executed)}"
        )
