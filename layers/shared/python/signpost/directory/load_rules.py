"""The rules of loading, reloading and unloading an executor: each gives the change of the tenant's directory or a
refusal."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from signpost.calling.components import prompt_name
from signpost.calling.skill_names import skill_name
from signpost.contract import (
    PROMPT,
    RESOURCE,
    TEMPLATE,
    Executor,
    ExecutorVersion,
    HostedFunction,
    PlacedExecutor,
)
from signpost.directory.allow_list import ARN_MARK
from signpost.directory.load_notices import find_skill_names
from signpost.directory.manifest import manifest_message
from signpost.directory.model import DirectoryChange, DirectorySnapshot, PlacementRefusal
from signpost.directory.offers import Offer
from signpost.directory.versions import compare_versions

MOST_ROWS = 80
"""Functions that one change may add, keep and remove: a change is one transaction of at most a hundred rows."""
MAX_CHANGE_BYTES = 1_000_000
"""Bytes of the manifest that one change may write, far below the four megabytes of a transaction."""
RELOAD_ADVICE = "If its contract has not changed, call skills::reload instead."
HIGHER_VERSION_ADVICE = "Give it a higher version."


def load(offer: Offer, snapshot: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
    loaded = _find_loaded(snapshot, offer.executor.arn)
    refusal = _check_newer(offer, loaded) if loaded is not None else None
    return refusal or _build_load(offer, snapshot, loaded)


def reload(offer: Offer, snapshot: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
    loaded = _find_loaded(snapshot, offer.executor.arn)
    if loaded is None:
        return PlacementRefusal("not_found", f"{offer.executor.arn} is not loaded. Call skills::load.")
    return _check_contract(offer, loaded) or _build_load(offer, snapshot, loaded)


def unload(executor: str, snapshot: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
    """Remove an executor, named by its ARN or its function name. The executor itself is not called: it may have been
    deleted."""
    matching = [
        placed
        for placed in snapshot.placed
        if placed.executor.arn == executor or name_of_executor(placed.executor) == executor
    ]
    loaded = [placed for placed in matching if placed.tenant is not None]
    if len(loaded) > 1:
        candidates = ", ".join(placed.executor.arn for placed in loaded)
        return PlacementRefusal(
            "not_found", f"{executor} is the name of several loaded executors: {candidates}. Name one by its ARN."
        )
    if loaded:
        return _build_unload(loaded[0], snapshot)
    if matching:
        return PlacementRefusal("cannot_unload_core", f"{executor} is part of the deployment, and cannot be unloaded.")
    return PlacementRefusal("not_found", f"No executor {executor!r} is loaded.")


def _find_loaded(snapshot: DirectorySnapshot, arn: str) -> PlacedExecutor | None:
    return next(
        (placed for placed in snapshot.placed if placed.tenant is not None and placed.executor.arn == arn), None
    )


def name_of_executor(executor: Executor) -> str:
    return executor.arn.partition(ARN_MARK)[2]


def _check_newer(offer: Offer, loaded: PlacedExecutor) -> PlacementRefusal | None:
    """Refuse an offer that does not have a higher version than the executor that is loaded under its ARN."""
    arn, loaded_version = offer.executor.arn, _version_of(loaded)
    if offer.version is None:
        return PlacementRefusal(
            "no_version",
            f"{arn} is loaded already, and its manifest has no version. {HIGHER_VERSION_ADVICE} {RELOAD_ADVICE}",
        )
    if loaded_version is None or (order := compare_versions(offer.version, loaded_version)) == "higher":
        return None
    if order == "same":
        return PlacementRefusal(
            "same_version",
            f"{arn} is loaded in version {loaded_version} already. {HIGHER_VERSION_ADVICE} {RELOAD_ADVICE}",
        )
    return _refuse_lower_version(offer, loaded_version)


def _check_contract(offer: Offer, loaded: PlacedExecutor) -> PlacementRefusal | None:
    """Refuse a reload that changes the contract of the loaded executor without a higher version."""
    arn, loaded_version, offered_version = offer.executor.arn, _version_of(loaded), offer.version
    if loaded_version is not None and offered_version is None:
        return PlacementRefusal(
            "no_version",
            f"{arn} is loaded in version {loaded_version}, and its manifest now has none. {HIGHER_VERSION_ADVICE}",
        )
    order = (
        compare_versions(offered_version, loaded_version)
        if offered_version is not None and loaded_version is not None
        else None
    )
    if order == "lower":
        return _refuse_lower_version(offer, str(loaded_version))
    is_new_version = order == "higher" or (offered_version is not None and loaded_version is None)
    if is_new_version or loaded.terms is None or loaded.terms.digest == offer.terms.digest:
        return None
    return PlacementRefusal(
        "contract_changed",
        f"The contract of {arn} has changed since it was loaded (ids, schemas, permissions, descriptions), "
        f"but its version is still {loaded_version or 'missing'}. {HIGHER_VERSION_ADVICE}",
    )


def _refuse_lower_version(offer: Offer, loaded_version: str) -> PlacementRefusal:
    return PlacementRefusal(
        "lower_version",
        f"{offer.executor.arn} is loaded in version {loaded_version}, and its manifest has the lower version "
        f"{offer.version}. To load that, call skills::unload first.",
    )


def _version_of(loaded: PlacedExecutor) -> str | None:
    return loaded.terms.version if loaded.terms is not None else None


def _build_load(
    offer: Offer, snapshot: DirectorySnapshot, loaded: PlacedExecutor | None
) -> DirectoryChange | PlacementRefusal:
    refusal = _check_offer(offer) or _check_conflicts(offer, snapshot)
    if refusal is not None:
        return refusal
    change = _build_change(offer.executor, offer.hosted, offer.terms, loaded, snapshot)
    size = len(json.dumps(manifest_message(change.hosted), ensure_ascii=False).encode())
    if (rows := len(change.hosted) + len(change.removed)) <= MOST_ROWS and size <= MAX_CHANGE_BYTES:
        return change
    return PlacementRefusal(
        "too_large",
        f"The change would add, keep or remove {rows} functions of {offer.executor.arn} with {size} bytes of manifest; "
        f"it may have at most {MOST_ROWS} and {MAX_CHANGE_BYTES}. Divide them among several executors.",
    )


def _build_unload(loaded: PlacedExecutor, snapshot: DirectorySnapshot) -> DirectoryChange | PlacementRefusal:
    change = _build_change(loaded.executor, (), None, loaded, snapshot)
    if len(change.removed) <= MOST_ROWS:
        return change
    return PlacementRefusal(
        "too_large",
        f"{loaded.executor.arn} hosts {len(change.removed)} functions, and at most {MOST_ROWS} can be unloaded at "
        "once. Ask an operator to run `signpost executors remove`.",
    )


def _build_change(
    executor: Executor,
    hosted: Sequence[HostedFunction],
    terms: ExecutorVersion | None,
    loaded: PlacedExecutor | None,
    snapshot: DirectorySnapshot,
) -> DirectoryChange:
    previous_ids = frozenset(loaded.functions if loaded is not None else ())
    removed = sorted(previous_ids.difference(each.function for each in hosted))
    names = find_skill_names(previous_ids, hosted, snapshot.own, snapshot.shipped)
    return DirectoryChange(executor, hosted, terms, removed, names.notices)


def _check_offer(offer: Offer) -> PlacementRefusal | None:
    """Refuse an offer without functions, or with two functions of one id or one client name."""
    if not offer.hosted:
        return PlacementRefusal("invalid_manifest", f"{offer.executor.arn} hosts no functions.")
    ids = Counter(hosted.function for hosted in offer.hosted)
    names = Counter(_client_names(offer.hosted))
    if twice := sorted(name for name, times in (*ids.items(), *names.items()) if times > 1):
        return PlacementRefusal(
            "invalid_manifest",
            f"{offer.executor.arn} hosts several functions of one id or name: {', '.join(twice)}. Rename them.",
        )
    return None


def _check_conflicts(offer: Offer, snapshot: DirectorySnapshot) -> PlacementRefusal | None:
    """Refuse an offer that takes an id or a client name of a function that another executor hosts."""
    ids = {hosted.function for hosted in offer.hosted}
    names = set(_client_names(offer.hosted))
    others = _other_hosts(offer.executor, snapshot)
    shipped = {hosted.function for hosted in snapshot.shipped}
    arn = offer.executor.arn
    if core := sorted(ids & shipped | names.intersection(_client_names(snapshot.shipped))):
        return PlacementRefusal(
            "name_conflicts_with_core", f"The deployment ships {', '.join(core)} already. Rename them in {arn}."
        )
    taken = {name: others[name] for name in ids & others.keys()}
    for hosted in snapshot.own:
        if hosted.function in others and (name := _client_name(hosted)) in names:
            taken[name] = others[hosted.function]
    if taken:
        listed = ", ".join(f"{name} ({taken[name]})" for name in sorted(taken))
        return PlacementRefusal(
            "name_taken",
            f"Other executors host {listed} already. Rename them in {arn}, or unload those executors first.",
        )
    return None


def _other_hosts(executor: Executor, snapshot: DirectorySnapshot) -> Mapping[str, str]:
    """Map the functions of the tenant's other executors to the ARNs of those executors."""
    others = [placed for placed in snapshot.placed if placed.tenant is not None and placed.executor.arn != executor.arn]
    return {function: placed.executor.arn for placed in others for function in placed.functions}


def _client_names(hosted: Iterable[HostedFunction]) -> Iterable[str]:
    return filter(None, map(_client_name, hosted))


def _client_name(hosted: HostedFunction) -> str | None:
    """Return the kind of a function together with the name or URI that clients use for it. Return None for a helper,
    which clients never ask for."""
    component = hosted.component
    if component is None:
        return f"the skill {skill_name(hosted)}"
    if component.kind == PROMPT:
        return f"the prompt {prompt_name(hosted)}"
    return f"the {component.kind} {component.uri}" if component.kind in (RESOURCE, TEMPLATE) else None
