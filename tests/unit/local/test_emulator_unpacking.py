"""Sandboxes share what was unpacked once."""

import types
import zipfile
from pathlib import Path

import pytest

from local.emulator_unpacking import share_archives


@pytest.fixture
def runtime(tmp_path: Path) -> types.SimpleNamespace:
    runtime = types.SimpleNamespace(zipfile=zipfile)
    share_archives(runtime, tmp_path / "shared")
    return runtime


def unpack(runtime: types.SimpleNamespace, archive: Path, target: Path, text: str) -> Path:
    """What the emulator does for a sandbox."""
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(zipfile.ZipInfo("python/module.py"), text)  # the time of writing would make it another archive
    target.mkdir()
    with runtime.zipfile.ZipFile(archive) as opened:
        assert opened.namelist() == []
        opened.extractall(target)
    return target / "python/module.py"


def test_the_same_archive_is_unpacked_once(runtime: types.SimpleNamespace, tmp_path: Path) -> None:
    found = [unpack(runtime, tmp_path / "a.zip", tmp_path / f"sandbox-{number}", "A = 1") for number in range(2)]
    assert [file.read_text() for file in found] == ["A = 1", "A = 1"]
    assert len({file.stat().st_ino for file in found}) == 1
    assert not (tmp_path / "a.zip").exists()


def test_another_archive_of_the_same_name_is_unpacked_too(runtime: types.SimpleNamespace, tmp_path: Path) -> None:
    unpack(runtime, tmp_path / "a.zip", tmp_path / "first", "A = 1")
    assert unpack(runtime, tmp_path / "a.zip", tmp_path / "second", "A = 2").read_text() == "A = 2"


def test_a_broken_archive_raises_the_error_that_the_emulator_expects(
    runtime: types.SimpleNamespace, tmp_path: Path
) -> None:
    (tmp_path / "a.zip").write_bytes(b"none")
    with pytest.raises(runtime.zipfile.BadZipFile):
        runtime.zipfile.ZipFile(tmp_path / "a.zip")
