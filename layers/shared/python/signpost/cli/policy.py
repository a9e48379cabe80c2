"""`signpost policy`: lists the rules of a tenant, and explains which rule decides about an item for a principal."""

import argparse
import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.model import Principal
from signpost.policy import policy_items as items
from signpost.policy.policy_items import PolicyItem
from signpost.policy.rules import Policies, decide, find_show_rule
from signpost.records import dataclass
from signpost.spelling import suggest_name

if TYPE_CHECKING:
    from signpost.calling.lookup import FunctionLists
    from signpost.catalogue.cache import CatalogueView
    from signpost.cli import Commands
    from signpost.ports import TextStore


PROMPT, AGENT_SKILL = "prompt:", "skill://"


@dataclass(frozen=True, slots=True)
class PolicyReader:
    """Reads the policies of a tenant and the items that they decide about from the tables of a stack."""

    catalogue: "CatalogueView"
    texts: "TextStore"
    lists: "FunctionLists"

    def policies(self, tenant: str) -> Policies:
        from signpost.catalogue.policies import read_policies  # noqa: PLC0415 - it imports the readers of catalogues

        digest = self.catalogue.policies_digest(tenant)
        return Policies() if digest is None else read_policies(self.texts, tenant, digest)

    def items(self, tenant: str) -> Iterator[PolicyItem]:
        """Yield the items of a tenant: its functions, with all their names for clients, and the catalogue."""
        from signpost.calling.function_access import items_of  # noqa: PLC0415 - as above
        from signpost.catalogue.catalogue_access import item_of  # noqa: PLC0415 - as above

        yield from items_of(self.lists.of(tenant)).values()
        snapshot = self.catalogue.load(tenant)
        yield from (item_of(item, snapshot) for item in snapshot.snapshot.items)

    def items_documented_at(self, tenant: str, skill_id: str) -> Iterator[PolicyItem]:
        """Yield the functions that name the document as theirs: it is denied with all of them."""
        from signpost.calling.function_access import items_of  # noqa: PLC0415 - as above

        function_list = self.lists.of(tenant)
        items_by_function = items_of(function_list)
        yield from (items_by_function[one.function] for one in function_list.functions if one.doc == skill_id)

    def items_at(self, tenant: str, uri: str) -> Iterator[PolicyItem]:
        """Yield the resources of toolkits that are read from a URI."""
        from signpost.calling.function_access import items_of  # noqa: PLC0415 - as above
        from signpost.surfaces.toolkit_index import ComponentIndex  # noqa: PLC0415 - as above

        function_list = self.lists.of(tenant)
        items_by_function = items_of(function_list)
        index = ComponentIndex(function_list, unlisted=frozenset())
        yield from (items.resource_item(uri, items_by_function[hosted.function]) for hosted, _ in index.find_at(uri))


def register(commands: "Commands") -> None:
    parser = commands.add_parser("policy", help="list the rules of a tenant, and explain decisions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the rules of a tenant, and the default decision")
    listing.set_defaults(handler=_list)
    explaining = actions.add_parser("explain", help="show which rule decides about an item for a principal")
    explaining.add_argument("name", help="the name of the item: skill:web_search, workflow:Deploy it, iii://guide, …")
    explaining.add_argument("--subject", default="", help="the subject of the principal, as in logs")
    explaining.add_argument("--issuer", default="", help="the issuer of the principal, for rules about an identity")
    explaining.add_argument("--role", action="append", default=[], help="a role of the principal; may be repeated")
    explaining.add_argument(
        "--permission", action="append", default=[], help="a permission of the principal; may be repeated"
    )
    explaining.set_defaults(handler=_explain)
    for action in actions.choices.values():
        stack.add_tenant_option(action)
        stack.add_option(action)


@contextmanager
def _open_reader(name: str) -> Generator[PolicyReader]:
    with stack.open_adapters(name) as adapters:
        yield PolicyReader(adapters.catalogue, adapters.definitions, adapters.function_lists)


def _list(arguments: argparse.Namespace) -> int:
    with _open_reader(arguments.stack) as reader:
        policies = reader.policies(arguments.tenant)
    print(json.dumps({"default": policies.default}))
    for rule in policies.rules:
        print(json.dumps(asdict(rule)))
    return 0


def _explain(arguments: argparse.Namespace) -> int:
    roles, permissions = frozenset(arguments.role), frozenset(arguments.permission)
    principal = Principal(arguments.subject, arguments.tenant, arguments.issuer, roles, permissions)
    with _open_reader(arguments.stack) as reader:
        policies = reader.policies(arguments.tenant)
        explained_items = _find_items(reader, arguments.tenant, arguments.name)
    for item in explained_items:
        print(json.dumps(_explain_item(policies, principal, item)))
    return 0


def _explain_item(policies: Policies, principal: Principal, item: PolicyItem) -> dict[str, object]:
    show_rule = find_show_rule(policies.rules, principal, item)
    for_clients, for_functions = (
        asdict(decide(policies.rules, policies.default, principal, item, over_mcp=over_mcp))
        for over_mcp in (True, False)
    )
    return {
        "names": list(item),
        "for_clients": for_clients,
        "for_functions": for_functions,
        "shown_by": None if show_rule is None else show_rule.id,
    }


def _find_items(reader: PolicyReader, tenant: str, name: str) -> Sequence[PolicyItem]:
    # Documents and prompts are not looked up: rules decide about every id, whether it exists or not.
    known = list(dict.fromkeys(reader.items(tenant)))
    matching = [item for item in known if name in item]
    if matching:
        return matching
    if name.startswith(PROMPT):
        return [items.prompt_item(name.removeprefix(PROMPT))]
    if name.startswith(items.DOCUMENT_PREFIX):
        return [(name,), *reader.items_documented_at(tenant, name.removeprefix(items.DOCUMENT_PREFIX))]
    if name.startswith(AGENT_SKILL):
        raise CommandFailed(f"An Agent Skill is explained as its document: use the name {items.DOCUMENT_PREFIX}….")
    if resources := list(reader.items_at(tenant, name)):
        return resources
    close = suggest_name(name, [known_name for item in known for known_name in item])
    advice = f"Did you mean {close}?" if close else "See the lists of tools, documents and workflows for names."
    raise CommandFailed(f"Tenant {tenant!r} has no item named {name!r}. {advice}")
