"""Publications of workflows and capabilities: what becomes of the catalogue, and who hears of it."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident
from typing import Any

import pytest

from signpost.adapters.memory import (
    FunctionTable,
    MemoryBodies,
    MemoryContentStore,
    MemoryRevisionRows,
    MemoryTextStore,
)
from signpost.catalogue.cache import CachedCatalogue, CatalogueView
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.catalogue.definitions import CatalogueDefinitions
from signpost.catalogue.items import LONGEST_TEXT, compile_definitions
from signpost.catalogue.publishing import catalogue as catalogue_publisher
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publisher import Publisher, PublishFunctions
from signpost.catalogue.publishing.request import MOST_BODIES
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.content.api.errors import RegistryRefusal
from signpost.content.callers import Caller
from signpost.list_revisions import RevisionView
from signpost.model import PROXY_WORKFLOW
from signpost.policy.access import UnrestrictedAccess
from tests.support.memory_gateway import SetClock
from tests.support.registry import SOMEBODY, TENANT, CountingTimestamps

type Manifest = Mapping[str, Any]


def workflow(target: str = "done", **fields: Any) -> Manifest:
    states = {"open": {"transitions": {"go": {"target": target}}}, target: {"terminal": True}}
    return {"initialState": "open", "states": states, **fields}


class World:
    def __init__(self, content: MemoryContentStore | None = None) -> None:
        self.content = content or MemoryContentStore(FunctionTable())
        self.texts = MemoryTextStore()
        revisions = RevisionView(rows=MemoryRevisionRows(self.content), clock=SetClock())
        self.view = CatalogueView(revisions=revisions, texts=self.texts)
        accesses = UnrestrictedAccess()
        access = CatalogueAccess(catalogue=self.view, accesses=accesses)
        self.definitions = CatalogueDefinitions(
            catalogue=self.view, access=access, functions=accesses.may_use, texts=self.texts
        )
        self.functions = PublishFunctions(
            Publisher(
                content=self.content,
                bodies=MemoryBodies(),
                catalogues=CataloguePublisher(content=self.content, values=self.texts, definitions=self.texts),
                timestamps=CountingTimestamps(),
            )
        )

    def ask(self, function: str, payload: Manifest) -> Any:
        answer = self.functions.call(f"manifest::{function}", payload, Caller(TENANT, SOMEBODY, 0.0))
        assert not isinstance(answer, RegistryRefusal), answer.message
        return answer

    def refusal(self, function: str, payload: Manifest) -> str:
        answer = self.functions.call(f"manifest::{function}", payload, Caller(TENANT, SOMEBODY, 0.0))
        assert isinstance(answer, RegistryRefusal), answer
        return answer.message

    def publish(self, *, prune: bool = False, **manifest: Any) -> Any:
        """As the command does it: definitions first, then all that names them."""
        return self.ask("publish", self.named(manifest, prune=prune))

    def named(self, manifest: Manifest, *, prune: bool = False) -> Manifest:
        parts = [self.ask("bodies", {"definitions": {"version": 1, **manifest}})["part"]]
        settings = {name: manifest[name] for name in ("connections", "discovery", "audit") if name in manifest}
        return {**names(manifest), **settings, "prune": prune, "parts": parts}

    @property
    def snapshot(self) -> CachedCatalogue:
        return self.view.load(TENANT, fresh=True)

    def leads_to(self, name: str) -> str | None:
        found = self.definitions.find_current(TENANT, name)
        return found.definition.states["open"].transitions["go"].target if found else None

    def capabilities(self) -> list[str]:
        found = self.definitions.find_current(TENANT, PROXY_WORKFLOW)
        return list(found.definition.states["ready"].transitions) if found else []

    def told(self) -> list[tuple[str, str]]:
        told = [(event.op, event.key) for event in self.content.events]
        self.content.events.clear()
        return told


def names(manifest: Manifest) -> Manifest:
    sent = compile_definitions({"version": 1, **manifest})
    assert isinstance(sent, SentDefinitions), sent
    spoken = {"workflow": "workflows" in manifest, "capability": "proxy" in manifest}
    named = {
        kind: [{"id": item.id, "digest": item.definition} for item in sent.items if item.kind == kind]
        for kind, is_spoken in spoken.items()
        if is_spoken
    }
    return {{"workflow": "workflows", "capability": "capabilities"}[kind]: listed for kind, listed in named.items()}


def changes(answer: Any, kind: str = "workflows") -> tuple[list[str], ...]:
    return tuple(list(answer[kind][what]) for what in ("added", "changed", "same", "removed"))


@pytest.fixture
def world() -> World:
    return World()


class TestWorkflows:
    def test_are_added_changed_the_same_and_removed(self, world: World) -> None:
        world.publish(workflows={"a": workflow(), "b": workflow(), "d": workflow()})
        answer = world.publish(workflows={"a": workflow(), "b": workflow("shipped"), "c": workflow()}, prune=True)
        assert changes(answer) == (["c"], ["b"], ["a"], ["d"])
        assert [item.id for item in world.snapshot.items] == ["a", "b", "c"]
        assert (world.leads_to("a"), world.leads_to("b"), world.leads_to("d")) == ("done", "shipped", None)

    def test_stay_without_prune_and_where_a_publication_does_not_speak_of_them(self, world: World) -> None:
        world.publish(workflows={"a": workflow()})
        world.publish(workflows={"b": workflow()})
        world.publish(proxy={"expose": [{"name": "ping"}]}, prune=True)
        assert [item.id for item in world.snapshot.items] == ["a", "b", "ping"]

    def test_are_told_of_when_they_are_others_than_before(self, world: World) -> None:
        world.publish(workflows={"a": workflow(), "b": workflow()})
        assert world.told() == [("register", "a"), ("register", "b")]
        world.publish(workflows={"a": workflow(), "b": workflow("shipped")})
        assert world.told() == [("register", "b")]
        world.publish(workflows={"b": workflow("shipped")}, prune=True)
        assert world.told() == [("unregister", "a")]
        world.publish(workflows={"b": workflow("shipped")})
        assert world.told() == []

    def test_are_planned_without_a_change(self, world: World) -> None:
        world.publish(workflows={"a": workflow()})
        before = world.content.catalogue(TENANT)
        plan = world.ask("plan", names({"workflows": {"a": workflow("shipped"), "b": workflow()}}))
        assert changes(plan) == (["b"], ["a"], [], [])
        assert world.content.catalogue(TENANT) == before

    def test_whose_definition_was_not_sent_are_refused_and_nothing_changes(self, world: World) -> None:
        world.publish(workflows={"a": workflow()})
        named = names({"workflows": {"a": workflow(), "b": workflow("shipped")}})
        assert "'b'" in world.refusal("publish", named)
        assert [item.id for item in world.snapshot.items] == ["a"]

    def test_that_cannot_be_read_are_refused_before_anything_is_kept(self, world: World) -> None:
        manifest: Manifest = {"version": 1, "workflows": {"broken": {"states": {}}}}
        assert "broken" in world.refusal("bodies", {"definitions": manifest})

    def test_are_published_with_documents_or_not_at_all(self, world: World) -> None:
        named = world.named({"workflows": {"a": workflow()}})
        assert "UPPER" in world.refusal("publish", {**named, "skills": [{"id": "UPPER", "skill": "# A"}]})
        assert world.content.catalogue(TENANT) is None
        world.ask("publish", {**named, "skills": [{"id": "lower", "skill": "# A"}]})
        assert [item.id for item in world.snapshot.items] == ["a"]
        assert [skill.id for skill in world.content.skills(TENANT)] == ["lower"]


class TestCapabilities:
    def test_of_several_publications_are_ways_into_one_workflow(self, world: World) -> None:
        world.publish(proxy={"expose": [{"name": "zeta"}, {"name": "alpha"}]})
        world.publish(proxy={"expose": [{"name": "middle"}]})
        assert world.capabilities() == ["zeta", "alpha", "middle"]
        assert [item.id for item in world.snapshot.items] == ["alpha", "middle", "zeta"]

    def test_change_and_go(self, world: World) -> None:
        world.publish(proxy={"expose": [{"name": "one"}, {"name": "two"}]})
        answer = world.publish(proxy={"expose": [{"name": "one", "title": "The first"}]}, prune=True)
        assert changes(answer, "capabilities") == ([], ["one"], [], ["two"])
        assert world.capabilities() == ["one"]
        (item,) = world.snapshot.items
        assert item.title == "The first"
        world.publish(proxy={"expose": []}, prune=True)
        assert world.capabilities() == []
        assert world.snapshot.proxy == ""

    def test_are_told_of_as_the_workflow_that_they_are_ways_into(self, world: World) -> None:
        world.publish(proxy={"expose": [{"name": "one"}]})
        assert world.told() == [("register", PROXY_WORKFLOW)]
        world.publish(proxy={"expose": []}, prune=True)
        assert world.told() == [("unregister", PROXY_WORKFLOW)]

    def test_and_workflows_of_the_same_id_stand_beside_each_other(self, world: World) -> None:
        world.publish(workflows={"deploy": workflow()}, proxy={"expose": [{"name": "deploy"}]})
        assert world.leads_to("deploy") == "done"
        assert world.capabilities() == ["deploy"]


class TestSettings:
    def test_say_what_is_shown_and_how_it_is_ranked(self, world: World) -> None:
        world.publish(workflows={"a": workflow()}, connections={"crm": {"kind": "rest"}})
        assert [item.id for item in world.snapshot.items] == ["a"]
        world.publish(discovery={"include": ["connections"], "ranking": "fused"})
        assert [item.id for item in world.snapshot.items] == ["connection:crm"]
        assert world.snapshot.ranking == "fused"
        assert world.leads_to("a") == "done"

    def test_of_connections_add_up_and_are_pruned(self, world: World) -> None:
        world.publish(connections={"crm": {"kind": "rest"}})
        assert changes(world.publish(connections={"mail": {"kind": "mcp"}}), "connections") == (["mail"], [], [], [])
        assert world.snapshot.snapshot.connections == {"crm": {"kind": "rest"}, "mail": {"kind": "mcp"}}
        world.publish(connections={"mail": {"kind": "mcp"}}, prune=True)
        assert list(world.snapshot.snapshot.connections) == ["mail"]

    def test_a_connection_with_its_members_in_another_order_is_unchanged(self, world: World) -> None:
        world.publish(connections={"crm": {"kind": "rest", "url": "https://crm.example"}})
        reordered = {"crm": {"url": "https://crm.example", "kind": "rest"}}
        assert changes(world.publish(connections=reordered), "connections") == ([], [], ["crm"], [])


class TestSwitching:
    def test_off_outlasts_publications_until_it_is_on_again(self, world: World) -> None:
        world.publish(workflows={"a": workflow()})
        world.told()
        assert world.ask("switch", {"id": "a", "enabled": False}) == {"id": "a", "enabled": False, "changed": True}
        world.publish(workflows={"a": workflow("shipped")})
        assert world.leads_to("a") is None
        assert world.snapshot.items == []
        world.ask("switch", {"id": "a", "enabled": True})
        assert world.leads_to("a") == "shipped"
        assert world.told() == [("unregister", "a"), ("register", "a")]

    def test_off_outlasts_a_publication_without_it(self, world: World) -> None:
        world.publish(workflows={"a": workflow()})
        world.ask("switch", {"id": "a", "enabled": False})
        world.publish(workflows={"b": workflow()}, prune=True)
        world.publish(workflows={"a": workflow()})
        assert (world.leads_to("a"), world.leads_to("b")) == (None, "done")

    def test_twice_changes_nothing(self, world: World) -> None:
        world.publish(workflows={"a": workflow()})
        assert world.ask("switch", {"id": "a", "enabled": True})["changed"] is False

    def test_what_is_not_there_is_refused(self, world: World) -> None:
        assert "'b'" in world.refusal("switch", {"id": "b", "enabled": False})
        assert "boolean" in world.refusal("switch", {"id": "b"})


class Overtaking(MemoryContentStore):
    """Somebody else publishes between the reading of the catalogue and what is made of it, once."""

    other: "World | None" = None

    def catalogue(self, tenant: str) -> str | None:
        found = super().catalogue(tenant)
        other, self.other = self.other, None
        if other is not None:
            other.publish(workflows={"theirs": workflow()})
        return found


@pytest.mark.invariant(8)
def test_who_is_overtaken_decides_anew() -> None:
    content = Overtaking(FunctionTable())
    world = World(content)
    named = world.named({"workflows": {"ours": workflow()}})
    content.other = world
    world.ask("publish", named)
    assert [item.id for item in world.snapshot.items] == ["ours", "theirs"]


class Together(MemoryContentStore):
    """Who looks at the catalogue first waits until all others have."""

    def __init__(self, publishers: int) -> None:
        super().__init__(FunctionTable())
        self._barrier, self._publishers = Barrier(publishers), publishers
        self._waited = set[int]()

    def catalogue(self, tenant: str) -> str | None:
        found = super().catalogue(tenant)
        if len(self._waited) < self._publishers and get_ident() not in self._waited:
            self._waited.add(get_ident())
            self._barrier.wait(10)
        return found


@pytest.mark.invariant(8)
def test_of_many_publications_at_once_none_is_lost() -> None:
    many = 6
    worlds = World(Together(many))
    manifests: list[Manifest] = [{"version": 1, "workflows": {f"w{number}": workflow()}} for number in range(many)]
    parts = [worlds.ask("bodies", {"definitions": manifest})["part"] for manifest in manifests]

    def publish(number: int) -> None:
        worlds.ask("publish", {**names(manifests[number]), "parts": [parts[number]]})

    with ThreadPoolExecutor(many) as pool:
        list(pool.map(publish, range(many)))
    assert len(worlds.snapshot.items) == many


def test_of_a_long_workflow_a_search_goes_over_the_beginning(world: World) -> None:
    states = {"open": {"terminal": True, "guidance": "zebra " + "x" * 100_000}}
    world.publish(workflows={"long": {"initialState": "open", "states": states}})
    assert [found for _, found in world.snapshot.search.find("zebra")] == ["long"]
    assert len(world.snapshot.items[0].text) == LONGEST_TEXT


class TestLimits:
    def test_a_catalogue_has_so_many_bytes_at_most(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogue_publisher, "LARGEST_CATALOGUE", 1_000)
        named = world.named({"workflows": {"a": workflow(description="x" * 1_000)}})
        assert "at most" in world.refusal("publish", named)
        assert world.content.catalogue(TENANT) is None

    def test_a_catalogue_has_so_many_items_at_most(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(catalogue_publisher, "MOST_ITEMS", 2)
        world.publish(workflows={"a": workflow(), "b": workflow()})
        named = world.named({"workflows": {"c": workflow()}})
        assert "2 items at most" in world.refusal("publish", named)
        assert [item.id for item in world.snapshot.items] == ["a", "b"]

    def test_so_many_definitions_are_sent_at_once(self, world: World) -> None:
        manifest: Manifest = {"version": 1, "workflows": {f"w{n}": workflow() for n in range(MOST_BODIES + 1)}}
        assert f"send at most {MOST_BODIES}" in world.refusal("bodies", {"definitions": manifest})

    def test_of_thousands_of_problems_the_first_thousand_are_told(self, world: World) -> None:
        unsent = [{"id": f"w{number}", "digest": "0" * 64} for number in range(5_000)]
        answer = world.functions.call("manifest::publish", {"workflows": unsent}, Caller(TENANT, SOMEBODY, 0.0))
        assert isinstance(answer, RegistryRefusal)
        told: Any = answer.data["problems"]
        assert len(told) == 1_000
        assert "And 4995 more" in answer.message

    @pytest.mark.parametrize(
        "said",
        [
            {"connections": {"": {}}},
            {"connections": {"a": 5}},
            {"discovery": 5},
            {"audit": []},
            {"discovery": {"x": "\ud800"}},
        ],
    )
    def test_what_no_manifest_may_say_is_refused(self, world: World, said: Manifest) -> None:
        world.refusal("publish", said)
        assert world.content.catalogue(TENANT) is None

    def test_the_workflow_of_all_capabilities_is_of_nothing_else(self, world: World) -> None:
        own: Manifest = {"initialState": "ready", "states": {"ready": {"transitions": {"a": {"target": "ready"}}}}}
        documents: list[Manifest] = [{**own, "title": "Mine"}, {**own, "title": "Capabilities", "readers": []}]
        for document in documents:
            assert PROXY_WORKFLOW in world.refusal(
                "bodies", {"definitions": {"version": 1, "workflows": {PROXY_WORKFLOW: document}}}
            )
