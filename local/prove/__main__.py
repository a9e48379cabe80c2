"""python -m local.prove [--fresh] [--workers N] [--only TEXT] | --page | --list"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial

from local.affected.changes import Repository
from local.errors import CloudError
from local.interruption import STOPPING, Interruption
from local.progress import Progress
from local.project import Project
from local.prove.page import PAGE, TABLE, format_report, format_table
from local.prove.parts import Part, find_parts, select_parts
from local.prove.records import Records, digest_sources
from local.prove.run import Proof, run_part

_INTERRUPTED = 130


def main() -> int:
    options = _parser().parse_args()
    project = Project()
    all_parts = find_parts(project.root)
    parts = select_parts(all_parts, options.only)
    if options.list:
        print("\n".join(part.name for part in parts))
        return 0
    progress = Progress(sys.stdout)
    proof = Proof(
        all_parts,
        Records(project.root / ".local/prove"),
        partial(digest_sources, Repository(project.root)),
        partial(run_part, workers=options.workers),
        progress,
    )
    if not parts:
        print("No part has this text in its name. List the parts: python -m local.prove --list", file=sys.stderr)
        return 2
    try:
        if options.page:
            return _write_page(proof, project)
        return _run(proof, parts, project, progress, fresh=options.fresh)
    except (CloudError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    description = "Runs all checks and tests exhaustively, part by part."
    parser = argparse.ArgumentParser(prog="python -m local.prove", description=description)
    parser.add_argument("--fresh", action="store_true", help="also run parts that have passed with the current sources")
    parser.add_argument("--workers", type=int, default=1, help="parallel workers of parts with quick tests")
    parser.add_argument("--only", action="append", default=[], help="only parts with this text in their names")
    parser.add_argument("--page", action="store_true", help=f"write the table of {PAGE} from the last results")
    parser.add_argument("--list", action="store_true", help="list the parts without running them")
    return parser


def _run(proof: Proof, parts: Sequence[Part], project: Project, progress: Progress, *, fresh: bool) -> int:
    report_file = project.root / ".local/prove/report.md"
    try:
        with Interruption(progress, STOPPING):
            proof.run(parts, fresh=fresh)
        interrupted = False
    except KeyboardInterrupt:
        interrupted = True
    records, missing = proof.results()
    report_file.parent.mkdir(parents=True, exist_ok=True)
    report_file.write_text(format_report(records, missing, proof.sources()), "utf-8")
    names = {part.name for part in parts}
    failed = sum(record.part in names and not record.has_passed for record in records)
    passed = sum(record.part in names and record.has_passed for record in records)
    progress.say(f"{passed} of {len(parts)} parts passed, {failed} failed. The report: {report_file}")
    if interrupted:
        progress.say("Interrupted. The next run continues with this part.")
        return _INTERRUPTED
    return 0 if passed == len(parts) else 1


def _write_page(proof: Proof, project: Project) -> int:
    file = project.root / PAGE
    records, missing = proof.results()
    file.write_text(TABLE.replaced(file.read_text("utf-8"), f"\n{format_table(records, missing)}\n"), "utf-8")
    print(f"{PAGE}: {len(records)} parts, {len(missing)} missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
