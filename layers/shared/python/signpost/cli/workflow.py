"""`signpost workflow`: what can be started, and what has become of what was."""

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli import failed_work, orders, outline, remote, stack, terminal, timeline
from signpost.cli.failure import CommandFailed
from signpost.model import CatalogueItem
from signpost.workflow.picture import Trail, mermaid, pictured, trail_of

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.runs import Runs
    from signpost.registry.catalogue import Snapshot
    from signpost.workflow.definition import Definition

HEADINGS = ("ID", "KIND", "STATE", "TITLE")
SWITCHED: Mapping[bool, str] = {
    True: "is switched on: it is listed and can be started, if its author says so too (`enabled` in the manifest).",
    False: "is switched off: it is not listed and cannot be started, whatever is published, until somebody enables it. "
    "What runs already goes on.",
}
NO_FILE_NAME = re.compile(r"^\.+|[^\w.-]")
LONGEST_FILE_NAME = 100


def register(commands: "Commands") -> None:
    parser = commands.add_parser("workflow", help="workflows: what there is, how they look, what became of one")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _register_reading(actions)
    for name, enabled, purpose in (
        ("enable", True, "let a workflow be started again"),
        ("disable", False, "keep a workflow from being started; runs go on"),
    ):
        action = actions.add_parser(name, help=purpose, description=_whose(purpose))
        action.add_argument("id", help="from `signpost workflow list`")
        action.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
        stack.add_option(action)
        action.set_defaults(handler=_switch, enabled=enabled)
    orders.register(actions)
    failed_work.register(actions)


def _whose(purpose: str) -> str:
    return (
        f"Will {purpose}. With a credential in {remote.AUTHORIZATION} it is a workflow of the credential's tenant, "
        "without one of the operator's."
    )


def _register_reading(actions: "Commands") -> None:
    listing = actions.add_parser("list", help="all that the catalogue of a tenant has, also what is switched off")
    listing.set_defaults(handler=_list)
    showing = actions.add_parser("show", help="the states of a workflow, and who may do what in them")
    showing.add_argument("id", help="from `signpost workflow list`")
    showing.set_defaults(handler=_show)
    telling = actions.add_parser("timeline", help="what has happened in a run of a workflow")
    telling.add_argument("run", metavar="WF", help="the id of the run, wf_…")
    telling.set_defaults(handler=_timeline)
    drawing = actions.add_parser("graph", help="write a picture of a workflow as Mermaid and as SVG")
    drawing.add_argument("id", nargs="?", help="from `signpost workflow list`; not needed with --instance")
    drawing.add_argument("--instance", metavar="WF", help="mark where this run stands, and the way it came")
    drawing.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="default: the folder you are in")
    drawing.set_defaults(handler=_graph)
    for action in (listing, showing):
        action.add_argument("--json", action="store_true", help="print JSON")
    for action in (listing, showing, telling, drawing):
        stack.add_tenant_option(action)
        stack.add_option(action)


def _list(arguments: argparse.Namespace) -> int:
    with stack.runs(arguments.stack) as runs:
        snapshot = runs.snapshot(arguments.tenant)
    states = [(item, _state(item, snapshot)) for item in snapshot.published.items]
    if arguments.json:
        for item, state in states:
            print(json.dumps({**_described(item), "state": state}, ensure_ascii=False))
    elif states:
        for line in terminal.table(HEADINGS, [(item.id, item.kind, state, item.title) for item, state in states]):
            print(line)
    else:
        print(f"Tenant {arguments.tenant} has published nothing that could be started: see `signpost publish`.")
    return 0


def _described(item: CatalogueItem) -> Mapping[str, object]:
    return {name: value for name, value in asdict(item).items() if name != "text"}


def _state(item: CatalogueItem, snapshot: "Snapshot") -> str:
    if item.switched_off:
        return "switched off"
    if not item.enabled:
        return "disabled by its author"
    return "on" if (item.kind, item.id) in snapshot.by_kind else "on, not listed"


def _show(arguments: argparse.Namespace) -> int:
    with stack.runs(arguments.stack) as runs:
        digest = runs.current(arguments.tenant, arguments.id)
        definition = runs.definition(arguments.tenant, arguments.id, digest)
        text = runs.text(arguments.tenant, digest)
        items = runs.snapshot(arguments.tenant).published.items
    workflows = [item for item in items if item.kind == "workflow" and item.id == arguments.id]
    if arguments.json:
        print(json.dumps(json.loads(text), indent=2, ensure_ascii=False))
        return 0
    for line in outline.outlined(definition):
        print(line)
    if any(item.switched_off for item in workflows):
        print("\nIt is switched off: `signpost workflow enable` lets it be started again.")
    return 0


def _timeline(arguments: argparse.Namespace) -> int:
    with stack.runs(arguments.stack) as runs:
        instance = runs.instance(arguments.tenant, arguments.run)
        definition = runs.pinned(arguments.tenant, instance)
        events = runs.instances.audit(arguments.tenant, instance.id)
        steps = runs.instances.history(arguments.tenant, instance.id)
        now = runs.clock.now()
    for line in timeline.told(definition, instance, events, steps, now):
        print(line)
    return 0


def _graph(arguments: argparse.Namespace) -> int:
    with stack.runs(arguments.stack) as runs:
        name, definition, trail = _pictured(runs, arguments)
    from signpost.workflow.drawing import drawn  # noqa: PLC0415 - what writes XML brings HTTP with it

    picture = pictured(definition, trail)
    _write(arguments.out, name, {"mmd": mermaid(picture), "svg": drawn(picture)})
    return 0


def _pictured(runs: "Runs", arguments: argparse.Namespace) -> "tuple[str, Definition, Trail | None]":
    """What the files are called, and what they show."""
    tenant, asked = arguments.tenant, arguments.id
    if arguments.instance is None:
        if asked is None:
            raise CommandFailed("Say which workflow, or with --instance which run of one.")
        return asked, runs.definition(tenant, asked, runs.current(tenant, asked)), None
    instance = runs.instance(tenant, arguments.instance)
    if asked not in (None, instance.definition_id):
        message = f"{instance.id} is a run of {instance.definition_id}, not of {asked}."
        raise CommandFailed(terminal.visible(message))
    hops = [hop for step, _ in runs.instances.history(tenant, instance.id) for hop in step]
    return instance.id, runs.pinned(tenant, instance), trail_of(instance, hops, runs.clock.now())


def _write(folder: Path, name: str, texts: Mapping[str, str]) -> None:
    called = NO_FILE_NAME.sub("_", name)[:LONGEST_FILE_NAME]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in texts.items():
            path = folder / f"{called}.{suffix}"
            path.write_text(text, "utf-8")
            print(path)
    except OSError as fault:
        message = f"{folder} cannot be written to ({fault.strerror}). Choose another one with --out."
        raise CommandFailed(message) from fault


def _switch(arguments: argparse.Namespace) -> int:
    with remote.registry(arguments.stack, arguments.url, lambda line: print(line, file=sys.stderr)) as ask:
        changed = ask("manifest::switch", {"id": arguments.id, "enabled": arguments.enabled}).get("changed")
    if not changed:
        print("That it was already.", file=sys.stderr)
    print(f"{terminal.visible(arguments.id)} {SWITCHED[arguments.enabled]}")
    return 0
