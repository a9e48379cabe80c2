"""What the repository ships has no warnings: core documents and functions, and the examples."""

import json
from pathlib import Path

import pytest

from core_skills.hosted import core_toolkits
from signpost.cli import main
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.files import read_publication
from signpost.content.content_warnings import find_document_warnings
from signpost.directory.function_warnings import find_function_warnings
from signpost.directory.manifest import manifest_message, parse_manifest

PROJECT = Path(__file__).resolve().parents[3]
DOCUMENTS = sorted((PROJECT / "functions/registry/skills").rglob("*.md"))
MANIFESTS = sorted((PROJECT / "examples").glob("*/manifest.yaml"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_a_shipped_document_has_no_warnings(path: Path) -> None:
    assert find_document_warnings("a", path.read_text()) == []


def test_the_core_functions_have_no_warnings() -> None:
    hosted = [function.hosted for kit in core_toolkits({}) for function in kit.functions]
    functions = parse_manifest(json.dumps(manifest_message(hosted)).encode()).functions
    assert len(functions) >= 5
    assert find_function_warnings(functions) == []


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_an_example_passes_the_strict_check(path: Path) -> None:
    assert main(["check", str(path), "--strict"]) == 0


def test_the_documents_of_the_welcome_example_are_published_strictly() -> None:
    assert read_publication(PROJECT / "examples/welcome", CheckRules(strict=True)).warnings == ()
