"""Finds the symbolic links of a folder that lead out of it where content is read."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from signpost.cli.publish.collection import LISTS, SKILLS
from signpost.cli.publish.list_entries import find_list_files


def find_foreign_links(folder: Path, manifests: Sequence[Path]) -> Iterable[str]:
    """Find the links that lead out of the folder, or nowhere, where content is read. The author of the folder may be
    another person than its publisher, and must not make the publisher send any file of the machine."""
    lists = (path for name in LISTS for path in find_list_files(folder, name))
    for path in (folder / SKILLS, *lists, *manifests):
        if not path.is_symlink():
            continue
        if not path.exists():
            yield f"{path} is a link to nothing; remove it"
        elif not path.resolve().is_relative_to(folder.resolve()):
            yield f"{path} is a link out of the folder; put the files themselves into it"
