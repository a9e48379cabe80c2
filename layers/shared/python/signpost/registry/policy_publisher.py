"""What a publication makes of a tenant's rules: the next text of all of them, and who hears of it."""

import json
from collections.abc import Iterator, Sequence

from signpost.content import PolicyChange
from signpost.model import Json, JsonObject
from signpost.policy.written_rules import to_text, too_much
from signpost.ports import Texts
from signpost.records import dataclass
from signpost.registry.differences import UNTOUCHED, Difference, difference
from signpost.registry.digests import digest_of


@dataclass(frozen=True, slots=True)
class NextPolicies:
    digest: str
    """Empty if there are none any more."""
    told: Sequence[PolicyChange]


class PolicyPublisher:
    def __init__(self, texts: Texts) -> None:
        self._texts = texts

    def next(self, said: JsonObject, before: str, tenant: str, *, prune: bool) -> NextPolicies | str:
        """Or why there may not be so many. `before` is the digest of those that there are."""
        there = self._members(before, tenant)
        after = said if prune else {**there, **said}
        if fault := too_much(after):
            return f"{fault}."
        digest = self._texts.keep(tenant, to_text(after)) if after else ""
        return NextPolicies(digest, list(_told(there, after)))

    def difference(self, said: JsonObject | None, before: str, tenant: str, *, prune: bool) -> Difference:
        if said is None:
            return UNTOUCHED
        return difference(_written(self._members(before, tenant)), _written(said), prune=prune)

    def _members(self, digest: str, tenant: str) -> JsonObject:
        return json.loads(self._texts.read(tenant, digest)) if digest else {}


def _written(members: JsonObject) -> dict[str, str]:
    """Compared as they are kept: for Python 1 and true are the same."""
    return {name: _text(member) for name, member in members.items()}


def _text(member: Json) -> str:
    return json.dumps(member, sort_keys=True)


def _told(before: JsonObject, after: JsonObject) -> Iterator[PolicyChange]:
    was, is_now = _written(before), _written(after)
    for name in sorted(was.keys() | is_now.keys()):
        if was.get(name) != is_now.get(name):
            yield PolicyChange(name, digest_of(is_now[name]) if name in is_now else None)
