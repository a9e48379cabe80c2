"""`signpost workflow`: lists, shows, draws and switches workflows, and shows the timeline of an instance."""

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli import failed_work, overrides, remote, run_list, stack, terminal, verification
from signpost.cli.failure import CommandFailed
from signpost.cli.runs import outline, timeline
from signpost.model import CatalogueItem
from signpost.workflow.pictures.mermaid import render_mermaid
from signpost.workflow.pictures.model import Trail, build_picture, trail_of

if TYPE_CHECKING:
    from signpost.catalogue.cache import CachedCatalogue
    from signpost.cli import Commands
    from signpost.cli.runs.store import WorkflowReader
    from signpost.workflow.definition import Definition

HEADINGS = ("ID", "KIND", "STATE", "TITLE")
SWITCH_MESSAGES: Mapping[bool, str] = {
    True: "is switched on: it is listed and can be started, unless its author disabled it (`enabled` in the manifest).",
    False: "is switched off: it is not listed and cannot be started until it is enabled again, also after a new "
    "publication. Its current runs continue.",
}
UNSAFE_IN_FILE_NAME = re.compile(r"^\.+|[^\w.-]")
LONGEST_FILE_NAME = 100


def register(commands: "Commands") -> None:
    parser = commands.add_parser("workflow", help="list, show, draw and switch workflows; show and change their runs")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    _register_reading(actions)
    run_list.register(actions)
    verification.register(actions)
    for name, enabled, purpose in (
        ("enable", True, "let a workflow be started again"),
        ("disable", False, "keep a workflow from being started; its runs continue"),
    ):
        action = actions.add_parser(name, help=purpose, description=_switch_description(purpose))
        action.add_argument("id", help="from `signpost workflow list`")
        action.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
        stack.add_option(action)
        action.set_defaults(handler=_switch, enabled=enabled)
    overrides.register(actions)
    failed_work.register(actions)


def _switch_description(purpose: str) -> str:
    return (
        f"{purpose.capitalize()}. With a credential in {remote.AUTHORIZATION}, the workflow belongs to the tenant of "
        "the credential; without one, to the tenant of the operator."
    )


def _register_reading(actions: "Commands") -> None:
    listing = actions.add_parser("list", help="list the catalogue of a tenant, with workflows that are switched off")
    listing.set_defaults(handler=_list)
    showing = actions.add_parser("show", help="show the states of a workflow and their transitions")
    showing.add_argument("id", help="from `signpost workflow list`")
    showing.set_defaults(handler=_show)
    timeline_action = actions.add_parser("timeline", help="show the timeline of a run of a workflow")
    timeline_action.add_argument("run", metavar="WF", help="the id of the run, wf_…")
    timeline_action.set_defaults(handler=_timeline)
    drawing = actions.add_parser("graph", help="write a picture of a workflow as Mermaid and as SVG")
    drawing.add_argument("id", nargs="?", help="from `signpost workflow list`; not needed with --instance")
    drawing.add_argument("--instance", metavar="WF", help="mark the current state of this run, and the path to it")
    drawing.add_argument("--out", type=Path, default=Path(), metavar="FOLDER", help="default: the current folder")
    drawing.set_defaults(handler=_graph)
    for action in (listing, showing):
        action.add_argument("--json", action="store_true", help="print JSON")
    for action in (listing, showing, timeline_action, drawing):
        stack.add_tenant_option(action)
        stack.add_option(action)


def _list(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        snapshot = reader.read_snapshot(arguments.tenant)
    states = [(item, _state(item, snapshot)) for item in snapshot.snapshot.items]
    if arguments.json:
        for item, state in states:
            print(json.dumps({**_item_fields(item), "state": state}, ensure_ascii=False))
    elif states:
        for line in terminal.format_table(
            HEADINGS, [(item.id, item.kind, state, item.title) for item, state in states]
        ):
            print(line)
    else:
        print(f"Tenant {arguments.tenant} has published no workflows or capabilities: see `signpost publish`.")
    return 0


def _item_fields(item: CatalogueItem) -> Mapping[str, object]:
    return {name: value for name, value in asdict(item).items() if name != "text"}


def _state(item: CatalogueItem, snapshot: "CachedCatalogue") -> str:
    if item.switched_off:
        return "switched off"
    if not item.enabled:
        return "disabled by its author"
    return "on" if (item.kind, item.id) in snapshot.by_kind else "on, not listed"


def _show(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        digest = reader.find_current_digest(arguments.tenant, arguments.id)
        definition = reader.read_definition(arguments.tenant, arguments.id, digest)
        text = reader.read_text(arguments.tenant, digest)
        items = reader.read_snapshot(arguments.tenant).snapshot.items
    workflows = [item for item in items if item.kind == "workflow" and item.id == arguments.id]
    if arguments.json:
        print(json.dumps(json.loads(text), indent=2, ensure_ascii=False))
        return 0
    for line in outline.describe_definition(definition):
        print(line)
    if any(item.switched_off for item in workflows):
        print("\nIt is switched off: `signpost workflow enable` lets it be started again.")
    return 0


def _timeline(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        instance = reader.find_instance(arguments.tenant, arguments.run)
        definition = reader.load_pinned(arguments.tenant, instance)
        events = reader.instances.audit(arguments.tenant, instance.id)
        steps = reader.instances.history(arguments.tenant, instance.id)
        now = reader.clock.now()
    for line in timeline.build_timeline(definition, instance, events, steps, now):
        print(line)
    return 0


def _graph(arguments: argparse.Namespace) -> int:
    with stack.open_workflows(arguments.stack) as reader:
        name, definition, trail = _find_picture_subject(reader, arguments)
    from signpost.workflow.pictures.svg import render_svg  # noqa: PLC0415 - the XML writer imports HTTP

    picture = build_picture(definition, trail)
    _write_pictures(arguments.out, name, {"mmd": render_mermaid(picture), "svg": render_svg(picture)})
    return 0


def _find_picture_subject(
    reader: "WorkflowReader", arguments: argparse.Namespace
) -> "tuple[str, Definition, Trail | None]":
    """Return the name of the files, the definition to draw, and the trail of the instance, if one is drawn."""
    tenant, definition_id = arguments.tenant, arguments.id
    if arguments.instance is None:
        if definition_id is None:
            raise CommandFailed("Name a workflow, or a run with --instance.")
        return (
            definition_id,
            reader.read_definition(tenant, definition_id, reader.find_current_digest(tenant, definition_id)),
            None,
        )
    instance = reader.find_instance(tenant, arguments.instance)
    if definition_id not in (None, instance.definition_id):
        message = f"{instance.id} is a run of {instance.definition_id}, not of {definition_id}."
        raise CommandFailed(terminal.make_printable(message))
    hops = [hop for step, _ in reader.instances.history(tenant, instance.id) for hop in step]
    return instance.id, reader.load_pinned(tenant, instance), trail_of(instance, hops, reader.clock.now())


def _write_pictures(folder: Path, name: str, texts: Mapping[str, str]) -> None:
    file_name = UNSAFE_IN_FILE_NAME.sub("_", name)[:LONGEST_FILE_NAME]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in texts.items():
            path = folder / f"{file_name}.{suffix}"
            path.write_text(text, "utf-8")
            print(path)
    except OSError as fault:
        message = f"{folder} cannot be written to ({fault.strerror}). Choose another one with --out."
        raise CommandFailed(message) from fault


def _switch(arguments: argparse.Namespace) -> int:
    with remote.connect_registry(arguments.stack, arguments.url, terminal.print_progress) as call_registry:
        changed = call_registry("manifest::switch", {"id": arguments.id, "enabled": arguments.enabled}).get("changed")
    if not changed:
        terminal.print_progress("Nothing changed: it was in this state already.")
    print(f"{terminal.make_printable(arguments.id)} {SWITCH_MESSAGES[arguments.enabled]}")
    return 0
