"""What lists and the index show, in memory for as long as the catalogue is."""

from collections.abc import Callable, Sequence

from signpost.content import Revisions, Skill, StoredPrompt
from signpost.execution.revisions import REMEMBERED_TENANTS, RevisionView
from signpost.execution.tuning import of_tenant
from signpost.ports import ContentStore
from signpost.records import dataclass


@dataclass(slots=True)
class _Content:
    """What a tenant has, or what is shipped; each list is read when somebody wants it. What is read later than the
    version can only be newer: the next look then finds another version and reads once too often."""

    version: int
    skills: Sequence[Skill] | None = None
    prompts: Sequence[StoredPrompt] | None = None


@dataclass(frozen=True, slots=True)
class _Remembered:
    revisions: Revisions
    own: _Content

    @property
    def shows_shipped(self) -> bool:
        return bool(of_tenant(self.revisions.settings, "shipped_content"))


class ContentView:
    def __init__(self, *, content: ContentStore, revisions: RevisionView) -> None:
        self._content = content
        self._revisions = revisions
        self._by_tenant: dict[str, _Remembered] = {}
        self._shipped = _Content(version=-1)

    def skills(self, tenant: str, *, fresh: bool = False) -> Sequence[Skill]:
        """All that the tenant sees, by id in the order of its bytes. Fresh is whatever was changed before the call."""
        known = self._look(tenant, fresh=fresh)
        shipped = self._skills_of(None, self._shipped) if known.shows_shipped else ()
        return _layered(self._skills_of(tenant, known.own), shipped, lambda skill: skill.id)

    def prompts(self, tenant: str, *, fresh: bool = False) -> Sequence[StoredPrompt]:
        """All that the tenant sees, by name in the order of its bytes."""
        known = self._look(tenant, fresh=fresh)
        shipped = self._prompts_of(None, self._shipped) if known.shows_shipped else ()
        return _layered(self._prompts_of(tenant, known.own), shipped, lambda prompt: prompt.name)

    def version(self, tenant: str) -> int:
        """How far the tenant's own content has changed."""
        return self._look(tenant, fresh=False).own.version

    def _look(self, tenant: str, *, fresh: bool) -> _Remembered:
        revisions = self._revisions.of(tenant, fresh=fresh)
        known = self._by_tenant.get(tenant)
        if known is None or known.revisions is not revisions:
            known = self._remember(tenant, self._revalidated(known, revisions))
        return known

    def _revalidated(self, known: _Remembered | None, revisions: Revisions) -> _Remembered:
        if self._shipped.version != revisions.shipped_content:
            self._shipped = _Content(revisions.shipped_content)
        own = known.own if known is not None else None
        if own is None or own.version != revisions.content:
            own = _Content(revisions.content)
        return _Remembered(revisions, own)

    def _remember(self, tenant: str, looked: _Remembered) -> _Remembered:
        if tenant not in self._by_tenant and len(self._by_tenant) >= REMEMBERED_TENANTS:
            self._by_tenant.pop(next(iter(self._by_tenant)))
        self._by_tenant[tenant] = looked
        return looked

    def _skills_of(self, scope: str | None, content: _Content) -> Sequence[Skill]:
        if content.skills is None:
            content.skills = self._content.skills(scope)
        return content.skills

    def _prompts_of(self, scope: str | None, content: _Content) -> Sequence[StoredPrompt]:
        if content.prompts is None:
            content.prompts = self._content.prompts(scope)
        return content.prompts


def _layered[Entry](own: Sequence[Entry], shipped: Sequence[Entry], key: Callable[[Entry], str]) -> Sequence[Entry]:
    """Both in one order, what is shipped only where the tenant has nothing of the same key."""
    if not own or not shipped:
        return own or shipped
    by_key = {key(entry): entry for entry in (*shipped, *own)}
    # Keys are ASCII, so the order of their characters is that of their bytes.
    return [by_key[found] for found in sorted(by_key)]
