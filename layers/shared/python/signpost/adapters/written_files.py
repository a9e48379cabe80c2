"""Files in YAML or JSON that people write, with the place of everything that they say."""

from pathlib import Path
from typing import Any

from signpost.records import dataclass
from signpost.workflow.written import NOWHERE, Place, Written, plain

SUFFIXES = (".yaml", ".yml", ".json")
DEEPEST = 100
"""Values within values. No manifest needs as many, and what walks them recurses."""
MOST_VALUES = 1_000_000
"""A few lines of YAML whose aliases stand for aliases would be gigabytes."""


class Unreadable(Exception):  # noqa: N818 - it names what happened
    """The message is a sentence for whoever wrote the file."""

    def __init__(self, message: str, fault: str = "", place: Place = NOWHERE) -> None:
        super().__init__(message)
        self.fault = fault or message
        """Without the file, for those who say the place."""
        self.place = place


@dataclass(slots=True)
class Misread(Exception):  # noqa: N818 - it names what happened
    """What is written somewhere is not what it should be."""

    fault: str
    line: int = 1
    column: int = 1


def parsed(path: Path) -> Any:
    """What the file says. A name that is given twice is a mistake: one of the two would be lost without a word."""
    return plain(read(path))


def read(path: Path, name: str | None = None) -> Written:
    """The same, with where it says so: in the file of that name."""
    file = name or str(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        return _json(text, file) if path.suffix == ".json" else _yaml(text, file)
    except FileNotFoundError as fault:
        raise Unreadable(f"There is no file {path}.", place=Place(file)) from fault
    except OSError as fault:
        raise Unreadable(f"{path} cannot be read: {fault.strerror}.", place=Place(file)) from fault
    except Misread as fault:
        place = Place(file, fault.line, fault.column)
        message = f"{path} cannot be understood: {fault.fault} (line {fault.line}, column {fault.column})."
        raise Unreadable(message, fault.fault, place) from fault
    except UnicodeDecodeError as fault:
        message = f"it is no UTF-8 text (byte {fault.start})"
        raise Unreadable(f"{path} cannot be understood: {message}.", message, Place(file, 1, 1)) from fault


def _json(text: str, file: str) -> Written:
    from signpost.adapters.written_json import written_json  # noqa: PLC0415 - few commands read a file

    return written_json(text, file)


def _yaml(text: str, file: str) -> Written:
    from signpost.adapters.written_yaml import written_yaml  # noqa: PLC0415 - slow to import, and few commands need it

    return written_yaml(text, file)
