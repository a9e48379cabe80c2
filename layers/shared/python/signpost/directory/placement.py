"""Places executors in the directory. From then on their functions can be called, and only by this stack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from signpost.contract import Executor, HostedFunction, PlacedExecutor
from signpost.directory.function_warnings import find_function_warnings, refuse_warnings
from signpost.directory.keys import ExecutorKeys
from signpost.directory.model import PlacementRefusal
from signpost.directory.offers import Offer, Offers
from signpost.errors import PlacementCode
from signpost.model import MasterKeys

if TYPE_CHECKING:
    from signpost.directory.ports import Directory


class PlacementError(Exception):
    """An executor cannot be placed. The message tells the operator why."""

    def __init__(self, message: str, code: PlacementCode) -> None:
        super().__init__(message)
        self.code = code


class Placer:
    def __init__(self, *, offers: Offers, keys: ExecutorKeys, directory: "Directory") -> None:
        self._offers = offers
        self._keys = keys
        self._directory = directory

    def place(self, lambda_function: str, tenant: str | None, *, strict: bool = False) -> Sequence[HostedFunction]:
        """Place an executor for one tenant, or for all tenants if None. Return the functions that it reports to host.
        With `strict`, an executor whose functions have warnings is not placed. Raises PlacementError."""
        offer = self._fetch_offer(lambda_function)
        if strict and (warnings := find_function_warnings(offer.hosted)):
            raise PlacementError(refuse_warnings(offer.executor.arn, warnings).message, "has_warnings")
        self._put(offer, tenant)
        return offer.hosted

    def ship(self, lambda_functions: Sequence[str], *, instead_of: Sequence[str] = ()) -> None:
        """Place the stack's own executors for every tenant, and remove those that they replace. Raises PlacementError.

        A function may move from one executor to another: each executor first gives up the functions that it does not
        host any more, then takes those that are new to it.
        """
        offers = [self._fetch_offer(lambda_function) for lambda_function in lambda_functions]
        leaving = [lambda_function for lambda_function in instead_of if lambda_function not in lambda_functions]
        self._check_outsiders(offers, leaving)
        for lambda_function in leaving:
            self._directory.remove(None, lambda_function)
        hosts = self._hosts_by_function(frozenset(offer.executor.arn for offer in offers))
        for offer in offers:
            self._put(_without_arrivals(offer, hosts), None)
        for offer in offers:
            if _without_arrivals(offer, hosts) != offer:
                self._put(offer, None)

    def place_as(self, executor: Executor, hosted: Sequence[HostedFunction], tenant: str | None) -> None:
        """Place functions that the executor does not list in a manifest. Raises PlacementError."""
        self._put(Offer(executor, tuple(hosted)), tenant)

    def hand_out(self, keys: MasterKeys) -> Sequence[str]:
        """Write the new keys of every executor, before the stack signs with them. Return the ARNs of the executors that
        have lost their secret."""
        return self._keys.hand_out(keys)

    def _hosts_by_function(self, executors: frozenset[str]) -> Mapping[str, str]:
        """Map the shipped functions of these executors to the ARN of the executor that hosts each."""
        shipped = [placed for placed in self._list_shipped() if placed.executor.arn in executors]
        return {name: placed.executor.arn for placed in shipped for name in placed.functions}

    def _list_shipped(self) -> Sequence[PlacedExecutor]:
        return [placed for placed in self._directory.list_placed() if placed.tenant is None]

    def _check_outsiders(self, offers: Sequence[Offer], leaving: Sequence[str]) -> None:
        """Refuse functions that another shipped executor hosts. Runs before any function is given up."""
        own_arns = {*leaving, *(offer.executor.arn for offer in offers)}
        foreign = {
            name for placed in self._list_shipped() if placed.executor.arn not in own_arns for name in placed.functions
        }
        for offer in offers:
            if taken := foreign.intersection(hosted.function for hosted in offer.hosted):
                raise PlacementError(_conflict_message(offer.executor, taken), "name_taken")

    def _put(self, offer: Offer, tenant: str | None) -> None:
        executor = offer.executor
        keys = _raise_refusal(self._keys.write_keys(executor))
        try:
            if taken := self._directory.place(tenant, executor, offer.hosted, offer.terms):
                raise PlacementError(_conflict_message(executor, taken), "name_taken")
        finally:  # an executor that was placed before has the new keys too and goes on serving
            self._keys.rewrite_rotated(executor, keys)

    def _fetch_offer(self, lambda_function: str) -> Offer:
        return _raise_refusal(self._offers.fetch(lambda_function))


def _raise_refusal[Value](answer: Value | PlacementRefusal) -> Value:
    if isinstance(answer, PlacementRefusal):
        raise PlacementError(answer.message, answer.code)
    return answer


def _without_arrivals(offer: Offer, hosts: Mapping[str, str]) -> Offer:
    """Leave out of the offer the functions that another executor hosts now. `hosts` maps functions to executor ARNs."""
    arn = offer.executor.arn
    return replace(
        offer, hosted=tuple(function for function in offer.hosted if hosts.get(function.function, arn) == arn)
    )


def _conflict_message(executor: Executor, functions: Iterable[str]) -> str:
    return f"{executor.arn}: another executor hosts {', '.join(sorted(functions))} already."
