"""Digests tell whether a build is still right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from local.sources import digest_of_files, digest_of_pairs


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "functions/gateway").mkdir(parents=True)
    (tmp_path / "functions/gateway/app.py").write_text("one")
    (tmp_path / "template.yaml").write_text("two")
    return tmp_path


def digest(root: Path) -> str:
    return digest_of_files(root, ["template.yaml", "functions", "not-there"])


CHANGES: dict[str, Callable[[Path], object]] = {
    "contents": lambda root: (root / "template.yaml").write_text("three"),
    "a name": lambda root: (root / "functions/gateway/app.py").rename(root / "functions/gateway/other.py"),
    "a new file": lambda root: (root / "functions/new.py").write_text(""),
    "a file less": lambda root: (root / "template.yaml").unlink(),
    "a mode": lambda root: (root / "functions/gateway/app.py").chmod(0o755),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_source_changes_the_digest(sources: Path, change: str) -> None:
    before = digest(sources)
    CHANGES[change](sources)
    assert digest(sources) != before


def test_compiled_files_and_other_files_do_not_change_the_digest(sources: Path) -> None:
    before = digest(sources)
    (sources / "functions/__pycache__").mkdir()
    (sources / "functions/__pycache__/app.pyc").write_text("x")
    (sources / "README.md").write_text("x")
    assert digest(sources) == before


def test_pairs_have_no_order() -> None:
    assert digest_of_pairs({"a": "1", "b": "2"}) == digest_of_pairs({"b": "2", "a": "1"})
    assert digest_of_pairs({"a": "1", "b": "2"}) != digest_of_pairs({"a": "2", "b": "1"})
