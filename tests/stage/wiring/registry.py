"""The registry function of the test stage: the product's, with invocations that may name the tenant of their
operator."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from signpost.entrypoints.registry_invoke import RegistryHandler
from signpost.model import Json, as_object
from signpost.wiring.registry import (
    RegistryComposition,
    RegistryFunction,
    build_operator_handler,
    build_registry_function,
    compose_registry,
)
from stage.crashes import (
    CRASHED_AT,
    MORTAL_VARIABLE,
    PASSED_STEPS,
    PROCESS,
    SANDBOX,
    STEP_SEPARATOR,
    CrashInjector,
    ProcessResult,
    run_in_fork,
)


class StageRegistry:
    def __init__(
        self, product: RegistryFunction, composition: RegistryComposition, crashes: CrashInjector, dies: str
    ) -> None:
        self._product = product
        self._crashes = crashes
        self._dies = dies

        @cache
        def door(tenant: str) -> RegistryHandler:
            return build_operator_handler(composition, tenant)

        self._door = door

    def handle(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        """Handle `{function_id, payload, tenant}` as an invocation by the operator of that tenant, everything else as
        in the product.

        With `crash_after` the sandbox dies after so many steps, or the forked process of the call does.
        """
        at = event.get("crash_after")
        done = self._lived(lambda: self._handled(event, remaining_ms, request_id), at)
        if at is None:
            return done.answer
        return (
            {CRASHED_AT: done.passed_steps[-1]}
            if done.has_crashed
            else {**as_object(done.answer), PASSED_STEPS: STEP_SEPARATOR.join(done.passed_steps)}
        )

    def _lived(self, work: Callable[[], Json], at: int | None) -> ProcessResult:
        if self._dies == PROCESS:
            return run_in_fork(self._crashes, work, at)
        passed: list[str] = []
        self._crashes.arm(at, passed.append)
        return ProcessResult(passed, work())

    def _handled(self, event: Mapping[str, Any], remaining_ms: int, request_id: str) -> Json:
        if "tenant" in event:
            return self._door(event["tenant"]).handle(event, remaining_ms, request_id)
        return self._product.handle(event, remaining_ms, request_id)


def build_registry(environment: Mapping[str, str]) -> StageRegistry:
    crashes = CrashInjector()
    composition = compose_registry(environment)
    dies = environment.get(MORTAL_VARIABLE, SANDBOX)
    return StageRegistry(build_registry_function(composition), composition, crashes, dies)
