"""Putting executors into the directory: afterwards their functions can be called, and only by this stack."""

import json
from collections.abc import Sequence

from signpost.contract import Executor, Hosted, Undelivered
from signpost.execution import wire
from signpost.execution.failures import failure
from signpost.execution.functions import may_exist
from signpost.model import MasterKeys
from signpost.policy.capabilities import executor_key
from signpost.ports import Clock, Directory, ExecutorInspector, Link, MasterKeyStore, SecretStore

ANSWERS_WITHIN = 15.0
"""Seconds for a manifest: the executor may be starting for the first time."""
MANIFEST = json.dumps({"signpost": wire.VERSION, "operation": "manifest"}).encode()


class PlacementRefused(Exception):  # noqa: N818 - it names what happened
    """The message says why, to whoever deploys."""


def place(
    executor: Executor,
    hosted: Sequence[Hosted],
    *,
    tenant: str | None,
    stack_keys: MasterKeys,
    secrets: SecretStore,
    directory: Directory,
) -> Sequence[str]:
    """The functions that another executor hosts already; if there is any, nothing was placed. The tenant None places
    them for every tenant. First the keys: a function that can be found can be called."""
    secrets.keys(executor.key_secret_arn).write(keys_of(executor.arn, stack_keys))
    return directory.place(tenant, executor, hosted)


def keys_of(executor_arn: str, stack_keys: MasterKeys) -> MasterKeys:
    previous = stack_keys.previous
    return MasterKeys(
        current=executor_key(stack_keys.current, executor_arn),
        previous=executor_key(previous, executor_arn) if previous is not None else None,
    )


def hand_out_keys(stack_keys: MasterKeys, *, secrets: SecretStore, directory: Directory) -> int:
    """Gives every executor its keys, before the stack signs with new ones. Answers how many there are."""
    executors = {placed.executor.arn: placed.executor for placed in directory.placed()}
    for executor in executors.values():
        secrets.keys(executor.key_secret_arn).write(keys_of(executor.arn, stack_keys))
    return len(executors)


class Placer:
    """Places executors with the functions that they themselves say they host."""

    def __init__(
        self,
        *,
        inspector: ExecutorInspector,
        link: Link,
        stack_keys: MasterKeyStore,
        secrets: SecretStore,
        directory: Directory,
        clock: Clock,
    ) -> None:
        self._inspector = inspector
        self._link = link
        self._stack_keys = stack_keys
        self._secrets = secrets
        self._directory = directory
        self._clock = clock

    def place(self, lambda_function: str, tenant: str | None) -> Sequence[Hosted]:
        """What the executor hosts now, for a tenant or for all. Raises PlacementRefused."""
        executor = self._inspector.inspect(lambda_function)
        if isinstance(executor, str):
            raise PlacementRefused(executor)
        hosted = self._manifest(executor.arn)
        if odd := [one.function for one in hosted if not may_exist(one.function)]:
            raise PlacementRefused(f"{executor.arn} hosts what cannot be called: {', '.join(map(repr, odd))}.")
        taken = place(
            executor,
            hosted,
            tenant=tenant,
            stack_keys=self._stack_keys.read(),
            secrets=self._secrets,
            directory=self._directory,
        )
        if taken:
            raise PlacementRefused(f"{executor.arn}: another executor hosts {', '.join(sorted(taken))} already.")
        return hosted

    def ship(self, lambda_functions: Sequence[str], *, instead_of: Sequence[str] = ()) -> None:
        """Places the stack's own executors for every tenant, and takes away those it had before. Raises
        PlacementRefused."""
        for lambda_function in lambda_functions:
            self.place(lambda_function, None)
        for lambda_function in instead_of:
            if lambda_function not in lambda_functions:
                self._directory.remove(None, lambda_function)

    def _manifest(self, arn: str) -> Sequence[Hosted]:
        answer = self._link.send(arn, MANIFEST, self._clock.now() + ANSWERS_WITHIN)
        if isinstance(answer, Undelivered):
            raise PlacementRefused(failure(answer.code, arn).message)
        try:
            return wire.manifest_of(answer)
        except wire.NotOurs as fault:
            raise PlacementRefused(f"{arn} is no executor: {fault} in its manifest.") from fault
