"""The policies' part of a publication: the next text of all rules, and the events of the changed ones."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.catalogue.publishing.diff import UNTOUCHED, Difference, canonical_texts, compare_members
from signpost.content.digests import digest_of
from signpost.content.model import PolicyChange
from signpost.model import JsonObject
from signpost.policy.rules_format import find_excess, to_text
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.ports import TextStore


@dataclass(frozen=True, slots=True)
class NextPolicies:
    digest: str
    """The digest of the text of all rules; empty if no rules are left."""
    changes: Sequence[PolicyChange]


class PolicyPublisher:
    """Builds and compares the text of a tenant's rules."""

    def __init__(self, texts: "TextStore") -> None:
        self._texts = texts

    def build_next(self, sent: JsonObject, before: str, tenant: str, *, prune: bool) -> NextPolicies | str:
        """Build and store the next text of all rules. Returns a sentence instead if the rules exceed a limit. `before`
        is the digest of the current text."""
        existing = self._read_members(before, tenant)
        after = sent if prune else {**existing, **sent}
        if fault := find_excess(after):
            return f"{fault}."
        digest = self._texts.keep(tenant, to_text(after)) if after else ""
        return NextPolicies(digest, list(_policy_changes(existing, after)))

    def read_next(self, sent: JsonObject | None, before: str, tenant: str, *, prune: bool) -> JsonObject:
        """Return the rules after the publication."""
        if sent is not None and prune:
            return sent
        return {**self._read_members(before, tenant), **(sent or {})}

    def compare(self, sent: JsonObject | None, before: str, tenant: str, *, prune: bool) -> Difference:
        if sent is None:
            return UNTOUCHED
        return compare_members(self._read_members(before, tenant), sent, prune=prune)

    def _read_members(self, digest: str, tenant: str) -> JsonObject:
        return json.loads(self._texts.read(tenant, digest)) if digest else {}


def _policy_changes(before: JsonObject, after: JsonObject) -> Iterator[PolicyChange]:
    texts_before, texts_after = canonical_texts(before), canonical_texts(after)
    for name in sorted(texts_before.keys() | texts_after.keys()):
        if texts_before.get(name) != texts_after.get(name):
            yield PolicyChange(name, digest_of(texts_after[name]) if name in texts_after else None)
