"""Putting executors into the directory: afterwards their functions can be called, and only by this stack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from signpost.contract import Executor, Hosted
from signpost.execution.executor_keys import ExecutorKeys
from signpost.execution.offers import Offer, Offers
from signpost.loads import NotPlaced
from signpost.model import MasterKeys
from signpost.ports import Directory


class PlacementRefused(Exception):  # noqa: N818 - it names what happened
    """The message says why, to whoever deploys."""


class Placer:
    def __init__(self, *, offers: Offers, keys: ExecutorKeys, directory: Directory) -> None:
        self._offers = offers
        self._keys = keys
        self._directory = directory

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
            self._put(_without_arrivals(offer, held), None)
        for offer in offers:
            if _without_arrivals(offer, held) != offer:
                self._put(offer, None)

    def place_as(self, executor: Executor, hosted: Sequence[Hosted], tenant: str | None) -> None:
        """Places functions that the executor does not list itself. Raises PlacementRefused."""
        self._put(Offer(executor, tuple(hosted)), tenant)

    def hand_out(self, keys: MasterKeys) -> Sequence[str]:
        """Gives every executor its keys, before the stack signs with new ones. Answers those whose secret is gone."""
        return self._keys.hand_out(keys)

    def _held_by(self, executors: frozenset[str]) -> Mapping[str, str]:
        shipped = [placed for placed in self._directory.placed() if placed.tenant is None]
        return {name: one.executor.arn for one in shipped if one.executor.arn in executors for name in one.functions}

    def _check_outsiders(self, offers: Sequence[Offer], leaving: Sequence[str]) -> None:
        """Before anything is given up: what somebody else ships already cannot be had."""
        ours = {*leaving, *(offer.executor.arn for offer in offers)}
        shipped = [placed for placed in self._directory.placed() if placed.tenant is None]
        foreign = {name for placed in shipped if placed.executor.arn not in ours for name in placed.functions}
        for offer in offers:
            if taken := foreign.intersection(one.function for one in offer.hosted):
                raise PlacementRefused(_taken(offer.executor, taken))

    def _put(self, offer: Offer, tenant: str | None) -> None:
        executor = offer.executor
        keys = _done(self._keys.give(executor))
        try:
            if taken := self._directory.place(tenant, executor, offer.hosted, offer.terms):
                raise PlacementRefused(_taken(executor, taken))
        finally:  # what is placed already has got them too, and goes on serving with them
            self._keys.renew(executor, keys)

    def _offer(self, lambda_function: str) -> Offer:
        return _done(self._offers.of(lambda_function))


def _done[Done](answer: Done | NotPlaced) -> Done:
    if isinstance(answer, NotPlaced):
        raise PlacementRefused(answer.message)
    return answer


def _without_arrivals(offer: Offer, held: Mapping[str, str]) -> Offer:
    """What nobody held, or this one did. `held` says who, by function."""
    arn = offer.executor.arn
    return replace(offer, hosted=tuple(one for one in offer.hosted if held.get(one.function, arn) == arn))


def _taken(executor: Executor, functions: Iterable[str]) -> str:
    return f"{executor.arn}: another executor hosts {', '.join(sorted(functions))} already."
