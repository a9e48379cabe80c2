"""What is kept of a proof between runs: the result of each part, for the sources that it ran with."""

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
WRITTEN: Mapping[str, MarkedPart] = {PAGE: TABLE, "docs/testing.md": MarkedPart("<!-- times -->", "<!-- /times -->")}
"""Parts of pages that commands write."""


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
    """A file for each part in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, part: str) -> Record | None:
        """None if the part has not run, or if what was kept of it cannot be read."""
        try:
            return _record(json.loads(self._file(part).read_text("utf-8")))
        except (AttributeError, FileNotFoundError, KeyError, TypeError, ValueError):
            return None

    def write(self, record: Record) -> None:
        """Whole or not at all: a proof may be interrupted at any time."""
        file = self._file(record.part)
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps(asdict(record), indent=1), "utf-8")
        draft.replace(file)

    def log(self, part: str) -> Path:
        """The file for the output of a part."""
        return self._folder / "logs" / f"{_slug(part)}.log"

    def _file(self, part: str) -> Path:
        return self._folder / "parts" / f"{_slug(part)}.json"


def sources_of(repository: Repository) -> str:
    """A digest over all files that git knows or would take, but for what commands write about the time of runs."""
    files = repository.files()
    written = {name: part for name, part in WRITTEN.items() if name in files}
    digests: Mapping[str, str] = {
        **{name: part.removed((repository.root / name).read_text("utf-8")) for name, part in written.items()},
        "": digest_of_files(repository.root, [name for name in files if name not in written and name != SECONDS]),
    }
    if not files:
        raise CloudError("git knows no file here, so nothing says whether a part was proven for these sources.")
    return digest_of_pairs(digests)


def _record(kept: Any) -> Record:
    """Raises KeyError or TypeError for what is no record."""
    found = kept["outcome"]
    outcome = Outcome(
        found["exit_code"], found["seconds"], found["tests"], tuple(found["failed"]), tuple(found["skipped"])
    )
    return Record(kept["part"], kept["folder"], kept["sources"], kept["date"], outcome)


def _slug(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", part.removesuffix(".py"))
