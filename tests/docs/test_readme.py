"""The README's blocks, run as pasted: from an empty registry to a skill that is read, a slash command rendered and a
workflow listed; and from a folder of an author's own to a tool that a client calls. And those of the example that is
loaded at run time."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.emulator import PROJECT
from tests.support import client_programs
from tests.support.client_programs import NODE_MODULES
from tests.support.line_output import ShowLine
from tests.support.make_run import MakeRunProcess, find_free_ports

pytestmark = pytest.mark.cloud
PAGE = (PROJECT / "README.md").read_text()
OPERATOR, CLIENT, AUTHOR = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
APP, TEST = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(PRINTED,) = re.findall(r"^```\n(Signpost answers on .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
POINT, ENV = 'eval "$(make env)"\n', f"{sys.executable} -m local env --home"
AT_MOST = 5 * 60


@pytest.fixture(scope="module")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeRunProcess]:
    running = MakeRunProcess(tmp_path_factory.mktemp("readme") / "home", find_free_ports())
    try:
        running.start()
        yield running
    finally:
        running.stop()


def run_operator_block(make_run: MakeRunProcess) -> str:
    assert POINT in OPERATOR
    block = OPERATOR.replace(POINT, f'eval "$({ENV} {make_run.home})"\n')
    command = ["bash", "-euo", "pipefail", "-c", block]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=120).stdout


def client_block(make_run: MakeRunProcess, home: Path) -> str:
    """The block of the client, for the cloud of this run."""
    (home / "node_modules").symlink_to(NODE_MODULES)
    block = CLIENT
    for written, here in (
        ("http://localhost:8765", f"http://localhost:{make_run.port}"),
        (".local/cloud/sample-api-key", str(make_run.home / "sample-api-key")),
    ):
        assert written in block
        block = block.replace(written, here)
    return block


def run(block: str, home: Path, *, within: float = 120) -> str:
    return client_programs.run_program(["bash", "-euo", "pipefail", "-c", block], home, within=within)


def test_make_run_prints_the_lines_that_the_page_shows(make_run: MakeRunProcess) -> None:
    for line in PRINTED.replace("localhost:8765", f"localhost:{make_run.port}").splitlines():
        pattern = ".*".join(map(re.escape, line.split("…")))
        assert re.search(pattern, make_run.output), (line, make_run.output)


def test_the_operator_blocks_publish_a_skill_a_prompt_and_a_workflow(make_run: MakeRunProcess, tmp_path: Path) -> None:
    said = run_operator_block(make_run)
    assert "+ welcome/greeting\n" in said
    assert "+ prompt:greet\n" in said
    assert "+ workflow:deploy_pipeline\n" in said
    seen = run(client_block(make_run, tmp_path), tmp_path)
    document = (PROJECT / "examples/welcome/skills/welcome/greeting.md").read_text()
    assert document.partition("\n")[0] in seen
    assert "Greet Ada warmly" in seen
    assert "Deploy a service" in seen


def test_publishing_again_changes_no_entry(make_run: MakeRunProcess) -> None:
    run_operator_block(make_run)
    assert "0 added, 0 changed, 3 same, 0 removed" in run_operator_block(make_run)


@pytest.mark.invariant(64)
def test_the_author_blocks_lead_from_a_folder_to_a_called_tool(
    make_run: MakeRunProcess, tmp_path: Path, show_line: ShowLine
) -> None:
    """What an author pastes, in one shell; it is the second terminal of the page, so `inspect` is defined there."""
    assert len([line for line in APP.splitlines() if line]) < 20
    began = time.monotonic()
    folder = tmp_path / "yard"
    folder.mkdir()
    (folder / "app.py").write_text(APP)
    (folder / "test_app.py").write_text(TEST)
    defined = client_block(make_run, tmp_path).partition("\n}\n")[0] + "\n}\n"
    terminal = f'eval "$(cd {PROJECT} && {ENV} {make_run.home})"\n{defined}'
    seen = run(terminal + AUTHOR, tmp_path, within=AT_MOST)
    took = time.monotonic() - began
    show_line(f"from the text of the README to a client's call of a tool: {took:.0f} s, of {AT_MOST} s at most")
    assert "1 passed" in seen
    assert '"functions": ["yard::hello", "yard::price"]' in seen
    assert re.search(r'"text": "80"', seen)
    assert re.search(r'capability\\?": *\\?"price', seen)
    assert took < AT_MOST
    again = run(f"{terminal}sed -i s/40,/41,/ ~/yard/app.py\n{AUTHOR.partition('pytest ~/yard')[2]}", tmp_path)
    assert re.search(r'"text": "82"', again)


def test_the_system_info_example_is_loaded_listed_and_unloaded_as_documented(
    make_run: MakeRunProcess,
) -> None:
    page = (PROJECT / "examples/system-info/README.md").read_text()
    (block, _) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for written, here in (
        (
            ".venv/bin/python -m local example system-info",
            f"{sys.executable} -m local example system-info --home {make_run.home}",
        ),
        ("make env", f"{sys.executable} -m local env --home {make_run.home}"),
    ):
        assert written in block
        block = block.replace(written, here)
    command = ["bash", "-euo", "pipefail", "-c", block]
    said = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=120).stdout
    assert '"loaded": ["system_info"]' in said
    assert '"functions": ["system::system_info"], "version": "1.0.0"' in said
    assert '"unloaded": ["system_info"]' in said
