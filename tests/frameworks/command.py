"""The command that lets agent frameworks drive a workflow, and writes their table."""

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from local.emulator import PROJECT
from local.interruption import STOPPING, Interruption
from local.progress import Progress
from signpost.identity.permissions import ADMINISTRATION
from tests.frameworks.drives import ENDPOINTS, Drive, drive
from tests.frameworks.frameworks import FRAMEWORKS, Framework
from tests.frameworks.office_move import MANIFEST
from tests.frameworks.table import format_rows, replace_table
from tests.support.client_blocks import PAGE
from tests.support.commands import build_process_runner
from tests.support.laptop import Laptop, Stack

STACK = "clients"
TENANT = "default"
LOGS = PROJECT / ".local/clients"


def main() -> int:
    options = _parser().parse_args()
    progress = Progress(sys.stdout)
    frameworks = [it for it in FRAMEWORKS if not options.only or it.name in options.only]
    if options.list:
        progress.say("\n".join(f"{it.name}: {it.package} {it.version}" for it in frameworks))
        return 0
    if not frameworks:
        progress.say("There is no framework with this name. List the frameworks: --list")
        return 2
    drives: list[Drive] = []
    with contextlib.suppress(KeyboardInterrupt), Interruption(progress, STOPPING):
        _drive_all(frameworks, progress, drives)
    return _report(drives, len(frameworks) * len(ENDPOINTS), progress, writes_page=len(frameworks) == len(FRAMEWORKS))


def publish_workflow(laptop: Laptop, stack: Stack, tenant: str, home: Path) -> None:
    """Publish the workflow that frameworks drive, with the command and a key of an administrator."""
    manifest = home / "office-move.json"
    manifest.write_text(json.dumps(MANIFEST))
    key = laptop.make_key(stack, tenant, "author", permissions=[ADMINISTRATION])
    run = build_process_runner(laptop)
    published = run("publish", str(manifest), "--stack", stack.deployed.name, SIGNPOST_AUTHORIZATION=key)
    assert published.returncode == 0, published.stderr


def _drive_all(frameworks: Sequence[Framework], progress: Progress, drives: list[Drive]) -> None:
    with tempfile.TemporaryDirectory(prefix="signpost-clients-") as folder, _deploy(Path(folder)) as (stack, key):
        for framework in frameworks:
            for endpoint in ENDPOINTS:
                done = drive_in_folder(framework, endpoint, stack, key, LOGS)
                progress.say(f"{done}  {progress.dim(f'{done.seconds:.1f} s')}")
                drives.append(done)


@contextlib.contextmanager
def _deploy(home: Path) -> Generator[tuple[Stack, str]]:
    with Laptop(home) as laptop:
        stack = laptop.deploy(STACK, AuthMode="both")
        publish_workflow(laptop, stack, TENANT, home)
        yield stack, laptop.make_key(stack, TENANT)


def drive_in_folder(framework: Framework, endpoint: str, stack: Stack, key: str, logs: Path) -> Drive:
    """Let the framework drive the workflow, and leave its program and its output in a folder below `logs`."""
    home = logs / f"{framework.name}{endpoint}".replace("/", "-").replace(" ", "-").lower()
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return drive(framework, endpoint, stack, key, home)


def _report(drives: Sequence[Drive], planned: int, progress: Progress, *, writes_page: bool) -> int:
    rows = format_rows(drives)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        progress.say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    finished = sum(drive.has_passed for drive in drives)
    progress.say(f"\n{finished} of {planned} drives came to the end of the workflow. Programs and output: {LOGS}")
    if writes_page and len(drives) == planned:
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        PAGE.write_text(replace_table(PAGE.read_text("utf-8"), drives, date), "utf-8")
        progress.say(f"The table is in {PAGE.relative_to(PROJECT)}.")
    return 0 if finished == planned else 1


def _parser() -> argparse.ArgumentParser:
    description = "Agent frameworks drive a workflow to its end at /mcp and /mcp/flat, with a model that follows links."
    parser = argparse.ArgumentParser(prog="python -m tests.frameworks", description=description)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this framework")
    parser.add_argument("--list", action="store_true", help="list the frameworks without running them")
    return parser
