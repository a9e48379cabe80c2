"""Loads, reloads and unloads a tenant's executors at run time.

An executor is inspected, checked and given its keys before one transaction changes the directory. Until that
transaction the directory stays as it was, also after an error.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from signpost.directory import load_rules
from signpost.directory.allow_list import AllowList
from signpost.directory.function_warnings import find_function_warnings, refuse_warnings
from signpost.directory.keys import ExecutorKeys
from signpost.directory.load_tenants import LoadTenants
from signpost.directory.model import DirectoryChange, DirectorySnapshot, PlacementRefusal
from signpost.directory.offers import Offer, Offers
from signpost.errors import Unavailable

if TYPE_CHECKING:
    from signpost.calling.ports import Breakers
    from signpost.directory.ports import LoadedExecutors

type LoadRule = Callable[[Offer, DirectorySnapshot], DirectoryChange | PlacementRefusal]


class Loader:
    def __init__(
        self,
        *,
        allowed: Callable[[], AllowList],
        tenants: LoadTenants,
        offers: Offers,
        keys: ExecutorKeys,
        directory: "LoadedExecutors",
        breakers: "Breakers",
        is_reserved: Callable[[str], bool],
    ) -> None:
        """`is_reserved` tells the ids of functions that only the registry may have."""
        self._allowed = allowed
        self._tenants = tenants
        self._offers = offers
        self._keys = keys
        self._directory = directory
        self._breakers = breakers
        self._is_reserved = is_reserved

    def load(self, executor: str, tenant: str, *, strict: bool = False) -> DirectoryChange | PlacementRefusal:
        return self._apply_load(executor, tenant, load_rules.load, strict=strict)

    def reload(self, executor: str, tenant: str, *, strict: bool = False) -> DirectoryChange | PlacementRefusal:
        return self._apply_load(executor, tenant, load_rules.reload, strict=strict)

    def unload(self, executor: str, tenant: str, *, strict: bool = False) -> DirectoryChange | PlacementRefusal:
        """Unload an executor. This adds nothing that could be warned about, so `strict` changes nothing."""
        del strict
        change = self._directory.change(tenant, partial(load_rules.unload, executor))
        if isinstance(change, DirectoryChange):
            self._forget_failures(change, tenant)
        return change

    def _apply_load(
        self, executor: str, tenant: str, rule: LoadRule, *, strict: bool
    ) -> DirectoryChange | PlacementRefusal:
        """Write the executor's keys, then change the directory: a function that is in the directory can be called."""
        offer = self._fetch_offer(executor, tenant)
        if isinstance(offer, PlacementRefusal):
            return offer
        snapshot = self._directory.read(tenant)
        preview = rule(offer, snapshot)
        if isinstance(preview, PlacementRefusal):
            return preview
        warnings = find_function_warnings(offer.hosted, (*snapshot.own, *snapshot.shipped))
        if strict and warnings:
            return refuse_warnings(offer.executor.arn, warnings)
        keys = self._keys.write_keys(offer.executor)
        if isinstance(keys, PlacementRefusal):
            return keys
        try:
            change = self._directory.change(tenant, partial(rule, offer))
        finally:  # an executor that was loaded before has the new keys too and goes on serving
            self._keys.rewrite_rotated(offer.executor, keys)
        if isinstance(change, DirectoryChange):
            self._forget_failures(change, tenant)
            return replace(change, warnings=warnings)
        return change

    def _find_allowed(self, executor: str, tenant: str) -> str | PlacementRefusal:
        """Return the ARN of an executor that may be loaded for the tenant. It is not called before that is certain."""
        arn = self._allowed().arn_of(executor)
        if isinstance(arn, PlacementRefusal):
            return arn
        own = [placed for placed in self._directory.read(tenant).placed if placed.tenant is not None]
        is_placed = any(placed.executor.arn == arn for placed in own)
        return self._tenants.check(arn, tenant, is_placed=is_placed) or arn

    def _fetch_offer(self, executor: str, tenant: str) -> Offer | PlacementRefusal:
        arn = self._find_allowed(executor, tenant)
        offer = arn if isinstance(arn, PlacementRefusal) else self._offers.fetch(arn)
        if isinstance(offer, PlacementRefusal):
            return offer
        if reserved := sorted(hosted.function for hosted in offer.hosted if self._is_reserved(hosted.function)):
            listed = ", ".join(reserved)
            return PlacementRefusal(
                "invalid_namespace",
                f"{offer.executor.arn} hosts {listed} in a namespace that is reserved for the registry. Rename them.",
            )
        return offer

    def _forget_failures(self, change: DirectoryChange, tenant: str) -> None:
        """Close the breakers of all functions that the change added, replaced or removed. The change is already
        written: a breaker that cannot be reset blocks its function for no longer than its pause."""
        affected = {*change.removed, *(hosted.function for hosted in change.hosted)}
        with suppress(Unavailable):
            for function in affected.intersection(self._breakers.of_tenant(tenant)):
                self._breakers.close(tenant, function)
