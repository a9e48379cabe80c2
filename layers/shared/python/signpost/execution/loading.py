"""What becomes of a tenant's directory when an executor is loaded, loaded again or unloaded; or why nothing does."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from signpost.contract import PROMPT, RESOURCE, TEMPLATE, Executor, Hosted, Placed, Terms
from signpost.execution.components import prompt_name
from signpost.execution.functions import FunctionList
from signpost.execution.manifest import manifest_message
from signpost.execution.offers import Offer
from signpost.execution.skill_names import by_skill_name, skill_name
from signpost.execution.versions import compared
from signpost.loads import Holding, Loading, NotPlaced, Told

MOST_ROWS = 80
"""Functions that come, stay or go in one change, which is one transaction of a hundred rows at most."""
LARGEST = 1_000_000
"""Bytes of what they say of themselves, far from the four megabytes of a transaction."""
AGAIN = "skills::reload takes over what it hosts now."
HIGHER = "Give it a higher one."


def load(offer: Offer, holding: Holding) -> Loading | NotPlaced:
    held = _held(holding, offer.executor.arn)
    refused = _not_newer(offer, held) if held is not None else None
    return refused or _replaced(offer, holding, held)


def reload(offer: Offer, holding: Holding) -> Loading | NotPlaced:
    held = _held(holding, offer.executor.arn)
    if held is None:
        return NotPlaced("not_found", f"{offer.executor.arn} is not loaded. skills::load loads it.")
    return _not_the_same(offer, held) or _replaced(offer, holding, held)


def unload(executor: str, holding: Holding) -> Loading | NotPlaced:
    """An executor by its ARN or its name. It is not asked: it may be gone."""
    named = [one for one in holding.placed if one.executor.arn == executor or _name_of(one.executor) == executor]
    held = [one for one in named if one.tenant is not None]
    if len(held) > 1:
        meant = ", ".join(one.executor.arn for one in held)
        return NotPlaced("not_found", f"{executor} may be any of {meant}. Name it by its ARN.")
    if held:
        return _unloaded(held[0], holding)
    if named:
        return NotPlaced("cannot_unload_core", f"{executor} is part of the deployment, and cannot be unloaded.")
    return NotPlaced("not_found", f"No executor {executor!r} is loaded.")


def _held(holding: Holding, arn: str) -> Placed | None:
    return next((one for one in holding.placed if one.tenant is not None and one.executor.arn == arn), None)


def _name_of(executor: Executor) -> str:
    return executor.arn.partition(":function:")[2]


def _not_newer(offer: Offer, held: Placed) -> NotPlaced | None:
    """Why it cannot be loaded in the place of the one that is."""
    arn, before = offer.executor.arn, _version_of(held)
    if offer.version is None:
        return NotPlaced(
            "no_version",
            f"{arn} is loaded, and says no version by which it would be another one. {HIGHER} If what it says of its "
            f"functions is as before, {AGAIN}",
        )
    if before is None or (order := compared(offer.version, before)) == "higher":
        return None
    if order == "same":
        return NotPlaced("same_version", f"{arn} is loaded in version {before} already. {AGAIN}")
    return _lower(offer, before)


def _not_the_same(offer: Offer, held: Placed) -> NotPlaced | None:
    """Why it cannot be what is loaded: it breaks what it was loaded for, and does not say so."""
    arn, before, said = offer.executor.arn, _version_of(held), offer.version
    if before is not None and said is None:
        return NotPlaced("no_version", f"{arn} is loaded in version {before}, and says none any more. {HIGHER}")
    order = compared(said, before) if said is not None and before is not None else None
    if order == "lower":
        return _lower(offer, str(before))
    is_another = order == "higher" or (said is not None and before is None)
    if is_another or held.terms is None or held.terms.digest == offer.terms.digest:
        return None
    return NotPlaced(
        "contract_changed",
        f"What {arn} says of its functions is not what it was loaded with (ids, schemas, permissions, descriptions), "
        f"and its version is not higher than {before or 'none'}. {HIGHER}",
    )


def _lower(offer: Offer, before: str) -> NotPlaced:
    return NotPlaced(
        "lower_version",
        f"{offer.executor.arn} is loaded in version {before}, and says {offer.version}. To go back, unload it first.",
    )


def _version_of(held: Placed) -> str | None:
    return held.terms.version if held.terms is not None else None


def _replaced(offer: Offer, holding: Holding, held: Placed | None) -> Loading | NotPlaced:
    refused = _incomplete(offer) or _conflict(offer, holding)
    if refused is not None:
        return refused
    loading = _loading(offer.executor, offer.hosted, offer.terms, held, holding)
    size = len(json.dumps(manifest_message(loading.hosted), ensure_ascii=False).encode())
    if (rows := len(loading.hosted) + len(loading.gone)) <= MOST_ROWS and size <= LARGEST:
        return loading
    return NotPlaced(
        "too_large",
        f"{rows} functions of {offer.executor.arn} would come, stay or go, with {size} bytes to be said of them; "
        f"{MOST_ROWS} and {LARGEST} are loaded at once. Divide it into several executors.",
    )


def _unloaded(held: Placed, holding: Holding) -> Loading | NotPlaced:
    loading = _loading(held.executor, (), None, held, holding)
    if len(loading.gone) <= MOST_ROWS:
        return loading
    return NotPlaced(
        "too_large",
        f"{held.executor.arn} hosts {len(loading.gone)} functions, and {MOST_ROWS} are unloaded at once. An operator "
        "takes it away with `signpost executors remove`.",
    )


def _loading(
    executor: Executor, hosted: Sequence[Hosted], terms: Terms | None, held: Placed | None, holding: Holding
) -> Loading:
    had = frozenset(held.functions if held is not None else ())
    gone = sorted(had.difference(one.function for one in hosted))
    others = [one for one in holding.own if one.function not in had]
    before = _names(holding.own, holding.shipped, had)
    after = _names([*others, *hosted], holding.shipped, frozenset(one.function for one in hosted))
    return Loading(executor, hosted, terms, gone, tuple(_told(before, after)))


def _names(own: Sequence[Hosted], shipped: Sequence[Hosted], of: frozenset[str]) -> frozenset[str]:
    """What some of the tenant's own functions are called as skills."""
    by_id = {one.function: one for one in (*shipped, *own)}
    found = FunctionList(
        [by_id[function] for function in sorted(by_id)], frozenset(one.function for one in own), settings={}
    )
    return frozenset(name for name, one in by_skill_name(found).items() if one.function in of)


def _told(before: frozenset[str], after: frozenset[str]) -> Iterable[Told]:
    for name in sorted(before | after):
        if name not in after:
            yield Told("unload", name)
        else:
            yield Told("reload" if name in before else "load", name)


def _incomplete(offer: Offer) -> NotPlaced | None:
    if not offer.hosted:
        return NotPlaced("invalid_manifest", f"{offer.executor.arn} hosts nothing.")
    ids = Counter(one.function for one in offer.hosted)
    names = Counter(_all_asked_for(offer.hosted))
    if twice := sorted(name for name, times in (*ids.items(), *names.items()) if times > 1):
        return NotPlaced("invalid_manifest", f"{offer.executor.arn} hosts several of one name: {', '.join(twice)}.")
    return None


def _conflict(offer: Offer, holding: Holding) -> NotPlaced | None:
    """One name, one function: as the id of a function, and as what clients ask for."""
    ids = {one.function for one in offer.hosted}
    names = set(_all_asked_for(offer.hosted))
    others = _others(offer.executor, holding)
    shipped = {one.function for one in holding.shipped}
    arn = offer.executor.arn
    if core := sorted(ids & shipped | names.intersection(_all_asked_for(holding.shipped))):
        return NotPlaced("name_conflicts_with_core", f"{arn}: the deployment itself has {', '.join(core)}.")
    taken = {name: others[name] for name in ids & others.keys()}
    for one in holding.own:
        if one.function in others and (name := _asked_for(one)) in names:
            taken[name] = others[one.function]
    if taken:
        listed = ", ".join(f"{name} ({taken[name]})" for name in sorted(taken))
        return NotPlaced("name_taken", f"{arn}: other executors have {listed} already.")
    return None


def _others(executor: Executor, holding: Holding) -> Mapping[str, str]:
    """By function, who else of the tenant hosts it."""
    tenants = [one for one in holding.placed if one.tenant is not None and one.executor.arn != executor.arn]
    return {function: one.executor.arn for one in tenants for function in one.functions}


def _all_asked_for(hosted: Iterable[Hosted]) -> Iterable[str]:
    return filter(None, map(_asked_for, hosted))


def _asked_for(hosted: Hosted) -> str | None:
    """What clients tell it by, in words that differ from those for any other kind; None of what they never ask for."""
    component = hosted.component
    if component is None:
        return f"the skill {skill_name(hosted)}"
    if component.kind == PROMPT:
        return f"the prompt {prompt_name(hosted)}"
    return f"the {component.kind} {component.uri}" if component.kind in (RESOURCE, TEMPLATE) else None
