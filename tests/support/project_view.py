"""The project in a folder of its own, for commands that write beside its sources."""

import shutil
from pathlib import Path

from local.stack import PROJECT

TOOL_OUTPUT = (".aws-sam", ".local", ".git")
TEMPLATE = "template.yaml"
"""Copied. SAM follows a link, and looks for the sources in a wrong folder if the project is directly below /tmp."""


def link_project(folder: Path) -> Path:
    """Create a folder with all files of the project except the output of tools, so that concurrent builds do not share
    it."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in PROJECT.iterdir():
        if entry.name == TEMPLATE:
            shutil.copyfile(entry, folder / entry.name)
        elif entry.name not in TOOL_OUTPUT:
            (folder / entry.name).symlink_to(entry)
    return folder
