"""Executors that a tenant loads at run time: asked, judged, given their keys, and taken into the directory as one
change. Until that they are as they were, whatever goes wrong."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from signpost.errors import Unavailable
from signpost.execution import loading
from signpost.execution.allow_list import AllowList
from signpost.execution.executor_keys import ExecutorKeys
from signpost.execution.offers import Offer, Offers
from signpost.loads import Holding, Loading, NotPlaced
from signpost.ports import Breakers, LoadedExecutors

type Decide = Callable[[Offer, Holding], Loading | NotPlaced]


class Loader:
    def __init__(
        self,
        *,
        allowed: AllowList,
        offers: Offers,
        keys: ExecutorKeys,
        directory: LoadedExecutors,
        breakers: Breakers,
        is_reserved: Callable[[str], bool],
    ) -> None:
        """What is reserved are ids of functions that only the registry has."""
        self._allowed = allowed
        self._offers = offers
        self._keys = keys
        self._directory = directory
        self._breakers = breakers
        self._is_reserved = is_reserved

    def load(self, executor: str, tenant: str) -> Loading | NotPlaced:
        return self._taken_in(executor, tenant, loading.load)

    def reload(self, executor: str, tenant: str) -> Loading | NotPlaced:
        return self._taken_in(executor, tenant, loading.reload)

    def unload(self, executor: str, tenant: str) -> Loading | NotPlaced:
        done = self._directory.change(tenant, partial(loading.unload, executor))
        if isinstance(done, Loading):
            self._forget_failures(done, tenant)
        return done

    def _taken_in(self, executor: str, tenant: str, decide: Decide) -> Loading | NotPlaced:
        """First the keys, then the directory: a function that can be found can be called."""
        offer = self._offer(executor)
        if isinstance(offer, NotPlaced):
            return offer
        decided = decide(offer, self._directory.look(tenant))
        if isinstance(decided, NotPlaced):
            return decided
        keys = self._keys.give(offer.executor)
        if isinstance(keys, NotPlaced):
            return keys
        try:
            done = self._directory.change(tenant, partial(decide, offer))
        finally:  # what is loaded already has got them too, and goes on serving with them
            self._keys.renew(offer.executor, keys)
        if isinstance(done, Loading):
            self._forget_failures(done, tenant)
        return done

    def _offer(self, executor: str) -> Offer | NotPlaced:
        arn = self._allowed.arn_of(executor)
        offer = arn if isinstance(arn, NotPlaced) else self._offers.of(arn)
        if isinstance(offer, NotPlaced):
            return offer
        if reserved := sorted(one.function for one in offer.hosted if self._is_reserved(one.function)):
            listed = ", ".join(reserved)
            return NotPlaced("invalid_namespace", f"{offer.executor.arn} hosts {listed}, whose namespace is internal.")
        return offer

    def _forget_failures(self, done: Loading, tenant: str) -> None:
        """Of what is another function now, or none. It has happened: a breaker that cannot be reset stops nobody for
        longer than its pause."""
        affected = {*done.gone, *(one.function for one in done.hosted)}
        with suppress(Unavailable):
            for function in affected.intersection(self._breakers.of_tenant(tenant)):
                self._breakers.close(tenant, function)
