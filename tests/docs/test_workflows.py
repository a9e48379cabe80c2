"""The page on workflows: its manifest is sound, its output is what is printed, and it names what there is."""

import re
from pathlib import Path
from typing import get_args

import pytest

from signpost.cli import main
from signpost.errors import StepRefusalCode, WorkflowRefusalCode
from signpost.model import as_object
from signpost.workflow.authoring.json_schema import EXECUTOR_SETTINGS, manifest_schema
from signpost.workflow.guards import KINDS
from signpost.workflow.values import OPERATORS

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/workflows.md").read_text()


def test_the_documented_manifests_pass_the_strict_check(tmp_path: Path) -> None:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        path = tmp_path / "manifest.yaml"
        path.write_text(block)
        assert main(["check", str(path), "--strict"]) == 0


def test_the_documented_output_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ((command, output),) = re.findall(r"^```console\n\$ signpost (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    manifest = (PROJECT / "tests/data/faults/around-the-approval.yaml").read_text()
    (tmp_path / "manifest.yaml").write_text(manifest)
    monkeypatch.chdir(tmp_path)
    assert main(command.split()) == 0
    printed = capsys.readouterr()
    assert printed.out + printed.err == output


def test_the_page_names_every_part_kind_setting_and_operator() -> None:
    parts = [
        *as_object(manifest_schema()["properties"]),
        *as_object(as_object(as_object(manifest_schema()["$defs"])["transition"])["properties"]),
    ]
    known = {*parts, *KINDS, *EXECUTOR_SETTINGS, *OPERATORS} - {"$schema", "policies", "jsonpath"}
    assert [name for name in sorted(known) if not re.search(rf"\b{name}\b", PAGE)] == []


def test_it_names_every_error_code() -> None:
    codes = {*get_args(StepRefusalCode.__value__), *get_args(WorkflowRefusalCode.__value__)}
    assert [code for code in sorted(codes) if f"`{code}`" not in PAGE] == []
