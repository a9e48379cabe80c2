"""The in-memory cache of skill documents and prompts behind lists and the index. An entry is valid for as long as the
tenant's list revisions are unchanged."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from signpost.caches import BoundedCache, JoinedCache
from signpost.calling.runtime_settings import tenant_setting
from signpost.content.model import Skill, StoredPrompt
from signpost.list_revisions import REMEMBERED_TENANTS, ListRevisions, RevisionView
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.content.ports import ContentStore


@dataclass(slots=True)
class _ContentLists:
    """The lists of one tenant, or of the shipped content, each read on first use. A list that is read later than the
    version can only be newer than it: the next check then finds another version and reads once more than needed."""

    version: int
    skills: Sequence[Skill] | None = None
    prompts: Sequence[StoredPrompt] | None = None


@dataclass(frozen=True, slots=True)
class _CachedContent:
    revisions: ListRevisions
    own: _ContentLists

    @property
    def has_shipped_content(self) -> bool:
        return bool(tenant_setting(self.revisions.settings, "shipped_content"))


class ContentView:
    """The skill documents and prompts that tenants see, their own and the shipped ones, cached by tenant."""

    def __init__(self, *, content: "ContentStore", revisions: RevisionView) -> None:
        self._content = content
        self._revisions = revisions
        self._by_tenant = BoundedCache[str, _CachedContent](REMEMBERED_TENANTS)
        self._shipped = _ContentLists(version=-1)
        self._merged_skills = JoinedCache[str, Sequence[Skill]](REMEMBERED_TENANTS)
        self._merged_prompts = JoinedCache[str, Sequence[StoredPrompt]](REMEMBERED_TENANTS)

    def skills(self, tenant: str, *, fresh: bool = False) -> Sequence[Skill]:
        """List all skills that the tenant sees, sorted by the bytes of the id. With `fresh` the list includes every
        change made before the call. Gives the same object for as long as nothing has changed."""
        cached = self._refresh(tenant, fresh=fresh)
        own = self._skills_of(tenant, cached.own)
        shipped = self._skills_of(None, self._shipped) if cached.has_shipped_content else ()
        return self._merged_skills.get(
            tenant, (own, shipped), lambda: _merge_layers(own, shipped, lambda skill: skill.id)
        )

    def prompts(self, tenant: str, *, fresh: bool = False) -> Sequence[StoredPrompt]:
        """List all prompts that the tenant sees, sorted by the bytes of the name. `fresh` is as in `skills`."""
        cached = self._refresh(tenant, fresh=fresh)
        own = self._prompts_of(tenant, cached.own)
        shipped = self._prompts_of(None, self._shipped) if cached.has_shipped_content else ()
        return self._merged_prompts.get(
            tenant, (own, shipped), lambda: _merge_layers(own, shipped, lambda prompt: prompt.name)
        )

    def version(self, tenant: str) -> int:
        """Return the version of the tenant's own content. It grows with every change."""
        return self._refresh(tenant, fresh=False).own.version

    def _refresh(self, tenant: str, *, fresh: bool) -> _CachedContent:
        revisions = self._revisions.of(tenant, fresh=fresh)
        cached = self._by_tenant.get(tenant)
        if cached is None or cached.revisions is not revisions:
            cached = self._by_tenant.put(tenant, self._revalidate(cached, revisions))
        return cached

    def _revalidate(self, cached: _CachedContent | None, revisions: ListRevisions) -> _CachedContent:
        if self._shipped.version != revisions.shipped_content:
            self._shipped = _ContentLists(revisions.shipped_content)
        own = cached.own if cached is not None else None
        if own is None or own.version != revisions.content:
            own = _ContentLists(revisions.content)
        return _CachedContent(revisions, own)

    def _skills_of(self, scope: str | None, content: _ContentLists) -> Sequence[Skill]:
        if content.skills is None:
            content.skills = self._content.skills(scope)
        return content.skills

    def _prompts_of(self, scope: str | None, content: _ContentLists) -> Sequence[StoredPrompt]:
        if content.prompts is None:
            content.prompts = self._content.prompts(scope)
        return content.prompts


def _merge_layers[Entry](
    own: Sequence[Entry], shipped: Sequence[Entry], key: Callable[[Entry], str]
) -> Sequence[Entry]:
    """Merge both lists, sorted by key. An own entry replaces the shipped entry of the same key."""
    if not own or not shipped:
        return own or shipped
    by_key = {key(entry): entry for entry in (*shipped, *own)}
    # Keys are ASCII, so the order of their characters is that of their bytes.
    return [by_key[name] for name in sorted(by_key)]
