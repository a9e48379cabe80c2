"""A stack of an earlier release is upgraded to this one, and goes back: as operators and clients see it.

The earlier release comes from the history of the repository, with its own template, pins and commands.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.earlier_release import EarlierRelease, unpack_release
from tests.support.laptop import Laptop
from tests.support.release_content import EXECUTOR, MANIFEST_NAME
from tests.support.release_journey import OPERATOR_LISTS, ReleasedStack, deploy_and_fill, parse_lines
from tests.support.stored_rows import FILE, StoredTenant, read_file, take_tenant, write_file
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.cloud, pytest.mark.prove]


@pytest.fixture(scope="module")
def earlier() -> EarlierRelease:
    return unpack_release()


@pytest.fixture
def released(laptop: Laptop, earlier: EarlierRelease, tmp_path: Path) -> Iterator[ReleasedStack]:
    yield deploy_and_fill(laptop, earlier, "released", tmp_path)
    laptop.delete(EXECUTOR)
    laptop.delete("released")


@pytest.mark.invariant(113)
def test_an_upgrade_loses_nothing_and_running_workflows_go_on(released: ReleasedStack) -> None:
    purchase, order, bundle, fire, lease = map(released.start, ("purchase", "order", "bundle", "fire", "lease"))
    released.client.submit(purchase, "ask", item="ink")
    released.client.submit(purchase, "approve", released.make_person_token("ann"))
    child = released.client.submit(bundle, "check")["pending"]["workflowId"]
    assert released.client.submit(fire, "burn")["inDoubt"]["transition"] == "burn"
    session = released.client.call("workflow.start", definitionId="proxy_default", input={})["workflowId"]
    assert released.client.submit(order, "book", item="ink")["pending"]["transition"] == "book"
    documents, catalogue = released.read_documents(), released.read_catalogue()
    lists = [parse_lines(released.run_earlier(*command)) for command in OPERATOR_LISTS]
    runs = {run: released.client.get(run)["version"] for run in (purchase, bundle, child, fire, session)}
    taken = take_rows(released, purchase=purchase, bundle=bundle, child=child, fire=fire, session=session, lease=lease)

    released.deploy_this()

    assert released.read_documents() == documents
    assert released.read_catalogue() == catalogue
    assert [parse_lines(released.run(*command)) for command in OPERATOR_LISTS] == lists
    assert {run: released.client.get(run)["version"] for run in runs} == runs
    released.open_shop()
    assert released.client.submit(purchase, "approve", released.make_person_token("bob"))["state"] == "bought"
    released.client.submit(child, "finish")
    released.record_as_done(fire)
    assert released.client.get(fire)["state"] == "burnt"
    assert released.client.submit(session, "notes.add", note="x")["state"] == "ready"
    released.wait_until(order, "booked")
    released.wait_until(bundle, "shipped")
    released.wait_until(lease, "lapsed")
    assert released.book_item()["structuredContent"] == {"booked": "ink"}
    assert taken.shape == read_file().shape, f"copy .local/releases/rows.json to {FILE}"


def take_rows(released: ReleasedStack, **runs: str) -> StoredTenant:
    """Take the rows, which are of the kinds that `make test` puts into a stack (`test_stored_rows.py`)."""
    taken = take_tenant(released.laptop, released.stack, released.key, runs)
    write_file(taken, released.earlier.root.parent / "rows.json")
    return taken


@pytest.mark.invariant(114)
def test_a_stack_goes_back_to_the_earlier_release_and_works_as_before(
    released: ReleasedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = released.start("purchase")
    released.client.submit(first, "ask", item="ink")
    shipped = released.read_shipped_documents()

    released.deploy_this()
    assert released.read_shipped_documents() != shipped
    released.run("publish", released.write_documents("# Handbook\n\nThe second edition.\n"))
    released.use_layer()
    released.run("executors", "place", EXECUTOR)
    key = released.run("keys", "create", "another").strip()
    released.client.submit(first, "approve", released.make_person_token("ann"))
    runs = start_runs(released)
    documents, catalogue = released.read_documents(), released.read_catalogue()
    assert released.find_obstacles(monkeypatch) == []

    released.deploy_earlier()

    assert released.read_documents() == documents
    assert released.read_catalogue() == catalogue
    assert released.read_shipped_documents() == shipped
    assert released.client.request("tools/list", by=key)["tools"]
    assert released.client.submit(first, "approve", released.make_person_token("bob"))["state"] == "bought"
    finish_runs(released, runs)
    assert released.book_item()["structuredContent"] == {"booked": "ink"}
    published = released.run_earlier("publish", released.write_documents("# Handbook\n\nThe third edition.\n"))
    assert "~ handbook\n" in published


def start_runs(released: ReleasedStack) -> Mapping[str, str]:
    """Start runs that wait for a second person, for a step, for another run and for their deadline."""
    runs = {name: released.start(name) for name in ("purchase", "review", "order", "bundle", "lease")}
    released.client.submit(runs["purchase"], "ask", item="pen")
    released.client.submit(runs["purchase"], "approve", released.make_person_token("ann"))
    released.client.submit(runs["review"], "ask")
    released.client.submit(runs["review"], "approve", released.make_person_token("ann"), note="fine")
    assert released.client.submit(runs["order"], "book", item="ink")["pending"]["transition"] == "book"
    return {**runs, "child": released.client.submit(runs["bundle"], "check")["pending"]["workflowId"]}


def finish_runs(released: ReleasedStack, runs: Mapping[str, str]) -> None:
    released.open_shop()
    assert released.client.submit(runs["purchase"], "approve", released.make_person_token("bob"))["state"] == "bought"
    # An earlier release does not know what the first person added, and asks again for everything.
    released.client.submit(runs["review"], "ask_again")
    for person in ("ann", "bob"):
        released.client.submit(runs["review"], "approve", released.make_person_token(person), note="fine")
    released.client.submit(runs["child"], "finish")
    for name, state in (("review", "agreed"), ("order", "booked"), ("bundle", "shipped"), ("lease", "lapsed")):
        released.wait_until(runs[name], state)


@pytest.mark.invariant(114)
def test_rows_that_keep_a_stack_from_going_back_are_named_and_not_lost(
    released: ReleasedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    released.deploy_this()
    owned = released.run("keys", "create", "of-ann", "--owner", "ann").strip()
    expired = released.run("keys", "create", "brief", "--expires-in", "1h").strip()
    released.expire_key(expired)
    released.run("settings", "set", "undeclared_arguments", "refuse")
    ann = f"identity:{released.laptop.issuer.url}#ann"
    released.run("publish", released.write_rule({"kind": "deny", "who": [ann], "what": ["orders::book"]}))
    order, checks = released.start("order", owned), released.start("checks")
    assert released.client.submit(order, "book", owned, item="ink")["pending"]["transition"] == "book"
    found = released.find_obstacles(monkeypatch)
    assert [obstacle.code for obstacle in found] == [
        "owned_step", "identity_rule", "owned_key", "key_accepted_longer", "arguments_accepted"
    ]  # fmt: skip
    assert found[0].subject == f"{order} of tenant default"
    assert released.client.submit(checks, "finish", x=1)["error"]["code"] == "INPUT_SCHEMA_VIOLATION"
    assert released.send(expired).status == 401
    assert "orders__book" not in released.list_tools(released.make_person_token("ann"))

    released.deploy_earlier()

    assert released.send(expired).status == 200
    assert "orders__book" not in released.list_tools(released.key), "a rule that cannot be read denies everything"
    released.run_earlier("publish", str(released.home / MANIFEST_NAME), "--prune")
    ann_token = released.make_person_token("ann")
    wait_for("the rule to be gone", lambda: released.list_tools(ann_token), lambda tools: "orders__book" in tools)
    assert released.client.submit(checks, "finish", x=1)["state"] == "done"
    assert "error" in released.send(released.key, "workflow.get", workflowId=order).json

    released.deploy_this()

    released.open_shop()
    released.wait_until(order, "booked")
    assert released.send(expired).status == 401
