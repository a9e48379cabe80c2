"""Putting executors into the directory: afterwards their functions can be called, and only by this stack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from signpost.contract import Executor, Hosted, Undelivered
from signpost.execution import manifest
from signpost.execution.failures import failure
from signpost.execution.functions import may_exist
from signpost.execution.listing import MEMBERS, fault_of
from signpost.execution.members import NotOurs
from signpost.model import MasterKeys
from signpost.policy.capabilities import executor_key
from signpost.ports import Clock, Directory, ExecutorInspector, ExecutorSecrets, Link, MasterKeyStore
from signpost.records import dataclass

ANSWERS_WITHIN = 15.0
"""Seconds for a manifest: the executor may be starting for the first time."""


class PlacementRefused(Exception):  # noqa: N818 - it names what happened
    """The message says why, to whoever deploys."""


@dataclass(frozen=True, slots=True)
class _Offer:
    """What an executor says that it hosts."""

    executor: Executor
    hosted: Sequence[Hosted]

    def without_arrivals(self, held: Mapping[str, str]) -> "_Offer":
        """What nobody held, or this one did. `held` says who, by function."""
        arn = self.executor.arn
        return replace(self, hosted=tuple(one for one in self.hosted if held.get(one.function, arn) == arn))


class Placer:
    def __init__(
        self,
        *,
        inspector: ExecutorInspector,
        link: Link,
        stack_keys: MasterKeyStore,
        secrets: ExecutorSecrets,
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
        """What the executor hosts now, as it says itself, for a tenant or for all. Raises PlacementRefused."""
        offer = self._offer(lambda_function)
        self._put(offer, tenant)
        return offer.hosted

    def ship(self, lambda_functions: Sequence[str], *, instead_of: Sequence[str] = ()) -> None:
        """Places the stack's own executors for every tenant, and takes away those it had before. Raises
        PlacementRefused. A function may move from one of them to another: first each gives up what it has no more."""
        offers = [self._offer(lambda_function) for lambda_function in lambda_functions]
        leaving = [lambda_function for lambda_function in instead_of if lambda_function not in lambda_functions]
        self._check_outsiders(offers, leaving)
        for lambda_function in leaving:
            self._directory.remove(None, lambda_function)
        held = self._held_by(frozenset(offer.executor.arn for offer in offers))
        for offer in offers:
            self._put(offer.without_arrivals(held), None)
        for offer in offers:
            if offer.without_arrivals(held) != offer:
                self._put(offer, None)

    def place_as(self, executor: Executor, hosted: Sequence[Hosted], tenant: str | None) -> None:
        """Places functions that the executor does not list itself. Raises PlacementRefused."""
        self._put(_Offer(executor, tuple(hosted)), tenant)

    def hand_out(self, keys: MasterKeys) -> Sequence[str]:
        """Gives every executor its keys, before the stack signs with new ones. Answers those whose secret is gone."""
        executors = {(one.executor.arn, one.executor.key_secret_arn): one.executor for one in self._directory.placed()}
        return [executor.arn for executor in executors.values() if not self._give_keys(executor, keys)]

    def _held_by(self, executors: frozenset[str]) -> Mapping[str, str]:
        shipped = [placed for placed in self._directory.placed() if placed.tenant is None]
        return {name: one.executor.arn for one in shipped if one.executor.arn in executors for name in one.functions}

    def _check_outsiders(self, offers: Sequence[_Offer], leaving: Sequence[str]) -> None:
        """Before anything is given up: what somebody else ships already cannot be had."""
        ours = {*leaving, *(offer.executor.arn for offer in offers)}
        shipped = [placed for placed in self._directory.placed() if placed.tenant is None]
        foreign = {name for placed in shipped if placed.executor.arn not in ours for name in placed.functions}
        for offer in offers:
            if taken := foreign.intersection(one.function for one in offer.hosted):
                raise PlacementRefused(_taken(offer.executor, taken))

    def _put(self, offer: _Offer, tenant: str | None) -> None:
        """First the keys: a function that can be found can be called. And again, if they were rotated meanwhile by
        somebody who did not find the executor in the directory yet."""
        executor = offer.executor
        self._check_secret(executor)
        keys = self._stack_keys.read()
        if not self._give_keys(executor, keys):
            raise PlacementRefused(f"{executor.arn}: there is no secret {executor.key_secret_arn}.")
        if taken := self._directory.place(tenant, executor, offer.hosted):
            raise PlacementRefused(_taken(executor, taken))
        if (now := self._stack_keys.read()) != keys:
            self._give_keys(executor, now)

    def _check_secret(self, executor: Executor) -> None:
        """An executor names its secret itself, and might name the stack's or another one's to have it overwritten."""
        if problem := self._secrets.problem_with(executor.key_secret_arn):
            raise PlacementRefused(f"{executor.arn}: {problem}")
        for placed in self._directory.placed():
            other = placed.executor
            if other.key_secret_arn == executor.key_secret_arn and other.arn != executor.arn:
                raise PlacementRefused(f"{executor.arn}: its secret holds the keys of {other.arn}.")

    def _give_keys(self, executor: Executor, keys: MasterKeys) -> bool:
        return self._secrets.write(executor.key_secret_arn, keys_of(executor.arn, keys))

    def _offer(self, lambda_function: str) -> _Offer:
        executor = self._inspector.inspect(lambda_function)
        if isinstance(executor, str):
            raise PlacementRefused(executor)
        hosted = self._manifest(executor.arn)
        if odd := [one.function for one in hosted if not may_exist(one.function)]:
            raise PlacementRefused(f"{executor.arn} hosts what cannot be called: {', '.join(map(repr, odd))}.")
        if fault := next(filter(None, map(_fault_of, hosted)), None):
            raise PlacementRefused(f"{executor.arn} hosts {fault}.")
        return _Offer(executor, tuple(hosted))

    def _manifest(self, arn: str) -> Sequence[Hosted]:
        answer = self._link.send(arn, manifest.REQUEST, self._clock.now() + ANSWERS_WITHIN)
        if isinstance(answer, Undelivered):
            raise PlacementRefused(failure(answer.code, arn).message)
        try:
            return manifest.manifest_of(answer)
        except NotOurs as fault:
            raise PlacementRefused(f"{arn} is no executor: {fault} in its manifest.") from fault


def _fault_of(hosted: Hosted) -> str | None:
    """What would spoil the lists that show it."""
    faults = ((member, fault_of(member, getattr(hosted, member))) for member in MEMBERS)
    return next((f"{hosted.function}, whose {member} {fault}" for member, fault in faults if fault), None)


def _taken(executor: Executor, functions: Iterable[str]) -> str:
    return f"{executor.arn}: another executor hosts {', '.join(sorted(functions))} already."


def keys_of(executor_arn: str, stack_keys: MasterKeys) -> MasterKeys:
    previous = stack_keys.previous
    return MasterKeys(
        current=executor_key(stack_keys.current, executor_arn),
        previous=executor_key(previous, executor_arn) if previous is not None else None,
    )
