"""The table of docs/clients.md with the frameworks that drove the workflow, written by `make clients`."""

from collections.abc import Sequence

from local.marked_part import MarkedPart
from tests.frameworks.drives import Drive

TABLE = MarkedPart("<!-- frameworks: filled by make clients -->", "<!-- /frameworks -->")
COLUMNS = ("framework", "version", "endpoint", "tool names", "revision", "result", "seconds")


def format_rows(drives: Sequence[Drive]) -> Sequence[Sequence[str]]:
    """Return the cells of each drive, under those of the columns."""
    return [COLUMNS, *(_format_drive(drive) for drive in drives)]


def _format_drive(drive: Drive) -> Sequence[str]:
    names = "`?names=portable`" if drive.framework.block.is_portable else "as they are"
    version = f"{drive.framework.package} {drive.framework.version}"
    revisions = ", ".join(drive.revisions)
    result = drive.result.replace("|", "/")  # a bar would end the cell
    return (drive.framework.name, version, f"`{drive.endpoint}`", names, revisions, result, f"{drive.seconds:.1f}")


def replace_table(page: str, drives: Sequence[Drive], date: str) -> str:
    """Return the page with the table of these drives. A table that differs in its date and seconds alone stays as it
    is, so that a run that finds it right changes no file."""
    new_rows = format_rows(drives)[1:]
    if [row[:-1] for row in read_table(page)] == [list(row[:-1]) for row in new_rows]:
        return page
    return TABLE.replaced(page, f"\n{format_table(drives, date)}\n")


def format_table(drives: Sequence[Drive], date: str) -> str:
    """Format the sentence with the totals, and a row for each drive."""
    header, *body = format_rows(drives)
    finished = sum(drive.has_passed for drive in drives)
    lines = [
        f"On {date} {finished} of {len(drives)} drives came to the end of the workflow.",
        "",
        _line(header),
        "|---|---|---|---|---|---|---|",
        *(_line(row) for row in body),
    ]
    return "\n".join([*lines, ""])


def read_table(page: str) -> Sequence[Sequence[str]]:
    """Return the rows of the table in the page, without their header."""
    part = page.partition(TABLE.begin)[2].partition(TABLE.end)[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
