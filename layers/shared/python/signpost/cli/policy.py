"""`signpost policy`: who may use what, and which rule says so."""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.model import Principal
from signpost.policy import items
from signpost.policy.items import Item
from signpost.policy.rules import Policies, decide, showing
from signpost.records import dataclass
from signpost.spelling import meant

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.execution.functions import FunctionLists
    from signpost.ports import Texts
    from signpost.registry.catalogue import CatalogueView


PROMPT, AGENT_SKILL = "prompt:", "skill://"


@dataclass(frozen=True, slots=True)
class Rulebook:
    """What the tables of a stack say of who may use what."""

    catalogue: "CatalogueView"
    texts: "Texts"
    lists: "FunctionLists"

    def policies(self, tenant: str) -> Policies:
        from signpost.registry.policies import read_policies  # noqa: PLC0415 - with what reads catalogues

        digest = self.catalogue.policies(tenant)
        return Policies() if digest is None else read_policies(self.texts, tenant, digest)

    def items(self, tenant: str) -> Iterator[Item]:
        """Functions with what they are to clients, and the catalogue."""
        from signpost.execution.function_access import items_of  # noqa: PLC0415 - as above
        from signpost.registry.catalogue_access import item_of  # noqa: PLC0415 - as above

        yield from items_of(self.lists.of(tenant)).values()
        snapshot = self.catalogue.snapshot(tenant)
        yield from (item_of(item, snapshot) for item in snapshot.published.items)

    def at(self, tenant: str, uri: str) -> Iterator[Item]:
        """What is read from there, if toolkits have anything at such a URI."""
        from signpost.execution.function_access import items_of  # noqa: PLC0415 - as above
        from signpost.surfaces.component_index import ComponentIndex  # noqa: PLC0415 - as above

        found = self.lists.of(tenant)
        known = items_of(found)
        index = ComponentIndex(found, lambda _: False)
        yield from (items.at(uri, known[hosted.function]) for hosted, _ in index.at(uri))


def register(commands: "Commands") -> None:
    parser = commands.add_parser("policy", help="who may use what, and which rule says so")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the rules of a tenant, and what goes where none decides")
    listing.set_defaults(handler=_list)
    explaining = actions.add_parser("explain", help="what is decided about something, for somebody")
    explaining.add_argument("name", help="as a list shows it: skill:web_search, workflow:Deploy it, iii://guide, …")
    explaining.add_argument("--subject", default="", help="of the principal, as logs say it")
    explaining.add_argument("--role", action="append", default=[], help="that it has; more than once for several")
    explaining.add_argument("--permission", action="append", default=[], help="likewise")
    explaining.set_defaults(handler=_explain)
    for action in actions.choices.values():
        stack.add_tenant_option(action)
        stack.add_option(action)


def _list(arguments: argparse.Namespace) -> int:
    with stack.rulebook(arguments.stack) as rulebook:
        policies = rulebook.policies(arguments.tenant)
    print(json.dumps({"default": policies.default}))
    for rule in policies.rules:
        print(json.dumps(asdict(rule)))
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    roles, permissions = frozenset(arguments.role), frozenset(arguments.permission)
    principal = Principal(arguments.subject, arguments.tenant, "", roles, permissions)
    with stack.rulebook(arguments.stack) as rulebook:
        policies = rulebook.policies(arguments.tenant)
        concerned = _named(rulebook, arguments.tenant, arguments.name)
    for item in concerned:
        print(json.dumps(_explained(policies, principal, item)))
    return 0


def _explained(policies: Policies, principal: Principal, item: Item) -> dict[str, object]:
    shown = showing(policies.rules, principal, item)
    for_clients, for_functions = (
        asdict(decide(policies.rules, policies.default, principal, item, over_mcp=over_mcp))
        for over_mcp in (True, False)
    )
    return {
        "names": list(item),
        "for_clients": for_clients,
        "for_functions": for_functions,
        "shown_by": None if shown is None else shown.id,
    }


def _named(rulebook: Rulebook, tenant: str, name: str) -> Sequence[Item]:
    # Any id may be one of a document or a prompt: which there are, rules do not depend on.
    everything = list(dict.fromkeys(rulebook.items(tenant)))
    found = [item for item in everything if name in item]
    if found:
        return found
    if name.startswith(PROMPT):
        return [items.prompt(name.removeprefix(PROMPT))]
    if name.startswith(items.DOCUMENT):
        return [(name,)]
    if name.startswith(AGENT_SKILL):
        raise CommandFailed(f"As an Agent Skill it is the same document: ask about it as {items.DOCUMENT}….")
    if at := list(rulebook.at(tenant, name)):
        return at
    close = meant(name, [one for item in everything for one in item])
    advice = f"Did you mean {close}?" if close else "Lists say what there is."
    raise CommandFailed(f"Tenant {tenant!r} has nothing of the name {name!r}. {advice}")
