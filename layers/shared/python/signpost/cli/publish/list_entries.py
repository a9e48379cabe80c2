"""Finds the fields of prompts, triggers and webhooks that nothing reads, in their files and in manifests."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from signpost.adapters.source_files import SUFFIXES, UnreadableFile, read_source
from signpost.cli.publish.collection import LISTS, PROMPTS, TRIGGERS, WEBHOOKS
from signpost.workflow.authoring.problems import Problem, suggestion_for, warning
from signpost.workflow.authoring.source_tree import SourceNode

_WRITTEN_BY_REGISTRY = "registered_at"
"""The field that the registry adds when it lists the entries."""
ENTRY_FIELDS: Mapping[str, Sequence[str]] = {
    PROMPTS: ("name", "description", "function_id", "arguments", _WRITTEN_BY_REGISTRY),
    TRIGGERS: (
        "trigger_type", "function_id", "workflow", "config", "metadata", "timeout_ms", _WRITTEN_BY_REGISTRY,
    ),
    WEBHOOKS: ("trigger_type", "url", _WRITTEN_BY_REGISTRY),
}  # fmt: skip
"""The fields of the entries of each list that the registry reads or writes."""
_ARGUMENT_FIELDS = ("name", "description", "required")


def find_list_files(folder: Path, name: str) -> Sequence[Path]:
    """List the files of a folder that hold a list of this name."""
    return [candidate for suffix in SUFFIXES if (candidate := folder / f"{name}{suffix}").is_file()]


def find_unread_fields(manifest: SourceNode) -> Iterator[Problem]:
    """Find the fields of prompts, triggers and webhooks in a manifest that nothing reads."""
    for name in LISTS:
        if (entries := manifest.get(name)) is not None:
            yield from find_in_list(name, entries)


def find_in_list(name: str, entries: SourceNode) -> Iterator[Problem]:
    """Find the fields that nothing reads in the entries of one list."""
    for entry in entries.entries:
        yield from _find_in_entry(entry, ENTRY_FIELDS[name])
        arguments = entry.get("arguments") if name == PROMPTS else None
        for argument in arguments.entries if arguments else ():
            yield from _find_in_entry(argument, _ARGUMENT_FIELDS)


def find_in_folder(folder: Path) -> Iterator[Problem]:
    """Find the fields that nothing reads in the lists of a folder. A file that cannot be read is reported when it is
    published."""
    for name in LISTS:
        for path in find_list_files(folder, name):
            try:
                yield from find_in_list(name, read_source(path))
            except UnreadableFile:
                continue


def _find_in_entry(entry: SourceNode, known: Sequence[str]) -> Iterator[Problem]:
    for name in entry.members:
        if name not in known:
            message = f"nothing reads the field {name!r}{suggestion_for(name, known)}"
            yield warning(entry.place_of_name(name), message, "unread_setting")
