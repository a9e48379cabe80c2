"""The project in a folder of its own, for commands that write beside its sources."""

from pathlib import Path

from local.stack import PROJECT

TOOL_OUTPUT = (".aws-sam", ".local", ".git")


def link_project(folder: Path) -> Path:
    """Create a folder with links to all files of the project except the output of tools, so that concurrent builds do
    not share it."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in PROJECT.iterdir():
        if entry.name not in TOOL_OUTPUT:
            (folder / entry.name).symlink_to(entry)
    return folder
