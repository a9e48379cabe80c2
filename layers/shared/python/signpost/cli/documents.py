"""Files in YAML or JSON that people write."""

import json
from pathlib import Path
from typing import Any

from signpost.cli.failure import CommandFailed

SUFFIXES = (".yaml", ".yml", ".json")


def parsed(path: Path) -> Any:
    """What the file says. A name that is given twice is a mistake: one of the two would be lost without a word."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return _json(text) if path.suffix == ".json" else _yaml(text)
    except FileNotFoundError as fault:
        raise CommandFailed(f"There is no file {path}.") from fault
    except OSError as fault:
        raise CommandFailed(f"{path} cannot be read: {fault.strerror}.") from fault
    except (ValueError, RecursionError) as fault:
        raise CommandFailed(f"{path} cannot be understood: {_in_one_line(fault)}.") from fault


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen = set[str]()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise ValueError(f"{twice!r} is there twice")
    return members


def _yaml(text: str) -> Any:
    import yaml  # noqa: PLC0415 - slow to import, and few commands read a file

    class Loader(yaml.SafeLoader):
        """Refuses a name that is given twice."""

    def mapping(loader: Loader, node: yaml.MappingNode) -> dict[Any, Any]:
        loader.flatten_mapping(node)
        pairs: list[tuple[Any, Any]] = [
            (loader.construct_object(key, deep=True), loader.construct_object(value, deep=True))
            for key, value in node.value
        ]
        return _unique(pairs)

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, TypeError) as fault:
        raise ValueError(_in_one_line(fault)) from fault


def _in_one_line(fault: Exception) -> str:
    return " ".join(str(fault).split()).rstrip(".")
