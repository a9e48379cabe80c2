"""Stores the result of each part of a proof between runs, with the digest of the sources that it ran with."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from local.affected.changes import Repository
from local.errors import CloudError
from local.marked_part import MarkedPart
from local.prove.page import PAGE, TABLE
from local.pytest_run import Outcome
from local.sources import digest_of_files, digest_of_pairs

SECONDS = "tests/seconds.json"
GENERATED_PARTS: Mapping[str, MarkedPart] = {
    PAGE: TABLE,
    "docs/clients.md": MarkedPart("<!-- frameworks: filled by make clients -->", "<!-- /frameworks -->"),
    "docs/security.md": MarkedPart("<!-- attacks: filled by make attacks -->", "<!-- /attacks -->"),
    "docs/testing.md": MarkedPart("<!-- times -->", "<!-- /times -->"),
}
"""Parts of pages that commands write; they do not count as sources."""


@dataclass(frozen=True, slots=True)
class Record:
    part: str
    folder: str
    sources: str
    """The digest of the sources; empty if they changed while the part ran."""
    date: str
    outcome: Outcome

    @property
    def has_passed(self) -> bool:
        return self.outcome.has_passed

    def holds_for(self, sources: str) -> bool:
        """Whether the part passed with these sources."""
        return self.has_passed and self.sources == sources


class Records:
    """Stores the records in one folder, with a file for each part."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, part: str) -> Record | None:
        """Return the record of a part, or None if the part has not run or its file cannot be read."""
        try:
            return _read_record(json.loads(self._file(part).read_text("utf-8")))
        except (AttributeError, FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def write(self, record: Record) -> None:
        """Write the file of a part atomically, because a proof may be interrupted at any time."""
        file = self._file(record.part)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps(asdict(record), indent=1), "utf-8")
        draft.replace(file)

    def log(self, part: str) -> Path:
        """Return the path of the file for the output of a part."""
        return self._folder / "logs" / f"{_slug(part)}.log"

    def _file(self, part: str) -> Path:
        return self._folder / "parts" / f"{_slug(part)}.json"


def digest_sources(repository: Repository) -> str:
    """Compute a digest over all files that git tracks or would add, without the times of runs that commands write."""
    files = repository.files()
    pages = {name: part for name, part in GENERATED_PARTS.items() if name in files}
    digests: Mapping[str, str] = {
        **{name: part.removed((repository.root / name).read_text("utf-8")) for name, part in pages.items()},
        "": digest_of_files(repository.root, [name for name in files if name not in pages and name != SECONDS]),
    }
    if not files:
        raise CloudError("git lists no files here, so the sources are unknown. Run it in a git work tree.")
    return digest_of_pairs(digests)


def _read_record(stored: Any) -> Record:
    """Convert the JSON value of a file into a record. Raises KeyError or TypeError if it is not one."""
    outcome = stored["outcome"]
    return Record(
        stored["part"],
        stored["folder"],
        stored["sources"],
        stored["date"],
        Outcome(
            outcome["exit_code"],
            outcome["seconds"],
            outcome["tests"],
            tuple(outcome["failed"]),
            tuple(outcome["skipped"]),
        ),
    )


def _slug(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", part.removesuffix(".py"))
