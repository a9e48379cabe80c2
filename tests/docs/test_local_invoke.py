"""The commands of docs/local-invoke.md exist. `make sam-local` runs those of SAM."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.sam_local.page import Page

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs/local-invoke.md"


def commands() -> Iterator[list[str]]:
    for block in re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith(("make ", ".venv/bin/python ", "sam ", "eval ")):
                yield shlex.split(line)


MODULES = [words for words in commands() if words[0] == ".venv/bin/python"]


@pytest.mark.parametrize("words", MODULES, ids=" ".join)
def test_a_module_of_the_page_has_the_options(words: list[str]) -> None:
    assert words[1] == "-m"
    command = [sys.executable, "-m", words[2], "--help"]
    shown = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    missing = [word for word in words[3:] if word.startswith("--") and word not in shown]
    assert not missing, shown


def test_a_target_of_the_page_is_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    named = {words[1] for words in commands() if words[0] == "make"}
    assert named >= {"invoke", "sam-local", "sam-local-shell"}
    assert named <= targets


def test_the_variables_of_the_page_are_those_of_the_shell() -> None:
    page = Page.read(PROJECT)
    used = set(re.findall(r"\$(\w+)", f"{page.invoke} {page.start_api} {page.generate}"))
    assert used == {"ARCHITECTURE", "ENV_VARS"}


def test_the_example_of_a_build_names_the_parameter() -> None:
    def planned(*arguments: str) -> str:
        command = ["make", "--dry-run", "build", *arguments]
        return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout

    assert "make build ARCHITECTURE=$ARCHITECTURE" in PAGE.read_text()
    assert planned("ARCHITECTURE=x86_64").endswith("sam build --parameter-overrides Architecture=x86_64\n")
    assert planned().endswith("sam build\n")
