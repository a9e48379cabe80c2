"""Folders that an author other than their publisher has made: nothing outside of them is read, and nothing hangs."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signpost.adapters.source_files import UnreadableFile, read_source
from signpost.cli import main
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.collection import CollectedPublication
from signpost.cli.publish.files import read_folder_publication, read_publication
from signpost.content.documents import LARGEST_BODY

MANIFEST = "version: 1\nworkflows: { w: { initialState: a, states: { a: { terminal: true } } } }\n"
NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "yard"
    (made / "skills").mkdir(parents=True)
    (made / "skills" / "yard.md").write_text("# Yard\n")
    return made


@pytest.fixture
def private(tmp_path: Path) -> Path:
    made = tmp_path / "private"
    made.mkdir()
    (made / "diary.md").write_text("# Diary\n")
    (made / "manifest.yaml").write_text(MANIFEST)
    (made / "prompts.yaml").write_text("[]")
    return made


def read(folder: Path) -> CollectedPublication:
    publication = read_folder_publication(folder, CheckRules())
    assert publication is not None
    assert publication == read_publication(folder, CheckRules())
    return publication


@contextmanager
def without_rights() -> Generator[None]:
    """Root reads every folder, so root reads as another user meanwhile."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.invariant(146)
@pytest.mark.parametrize("name", ["manifest.yaml", "prompts.yaml"])
def test_a_file_that_is_a_link_out_of_the_folder_is_refused(folder: Path, private: Path, name: str) -> None:
    (folder / name).symlink_to(private / name)
    with pytest.raises(CommandFailed, match=f"{name} is a link out of the folder"):
        read_folder_publication(folder, CheckRules())


@pytest.mark.invariant(146)
@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("../private", "out of the folder"), ("..", "out of the folder"), ("/nowhere", "to nothing"),
        ("skills", "to nothing"),
    ],
)  # fmt: skip
def test_skills_that_are_a_link_out_of_the_folder_are_refused(
    folder: Path, private: Path, target: str, problem: str
) -> None:
    (folder / "skills").rename(folder / "documents")
    (folder / "skills").symlink_to(target)
    with pytest.raises(CommandFailed, match=f"skills is a link {problem}"):
        read_folder_publication(folder, CheckRules())
    assert read_publication(private / "manifest.yaml", CheckRules()).definitions  # what could have been read


@pytest.mark.invariant(146)
@pytest.mark.parametrize("name", ["manifest.yaml", "skills"])
def test_a_check_names_the_links_that_a_publication_refuses(
    folder: Path, private: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "skills").rename(folder / "documents")
    (folder / "yard.yaml").write_text(MANIFEST)
    (folder / name).symlink_to(private / name)
    assert main(["check", str(folder)]) == 1
    assert f"{name} is a link" in capsys.readouterr().out


@pytest.mark.invariant(146)
@pytest.mark.parametrize(("name", "target"), [("notes.yaml", "prompts.yaml"), ("skils", ".")])
def test_a_link_out_of_the_folder_is_not_searched_for_content(
    folder: Path, private: Path, name: str, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (private / "prompts.yaml").write_text("workflws: {}")
    (folder / "manifest.yaml").write_text(MANIFEST)
    (folder / name).symlink_to(private / target)
    assert main(["check", str(folder)]) == 0
    assert name not in capsys.readouterr().out


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    (folder / "skills").rename(folder / "documents")
    (folder / "skills").symlink_to("documents")
    assert read(folder).bodies == {"yard": "# Yard\n"}


@pytest.mark.invariant(146)
@pytest.mark.parametrize("name", ["skills/pipe.md", "prompts.yaml", "manifest.yaml", "notes.yaml", "webhook.json"])
def test_a_pipe_is_not_waited_for(folder: Path, name: str) -> None:
    os.mkfifo(folder / name)
    assert read(folder).bodies == {"yard": "# Yard\n"}


def test_a_pipe_that_a_manifest_names_is_refused(folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "pipe.yaml")
    (folder / "manifest.yaml").write_text("include: [pipe.yaml]\nskills: { piped: pipe.md }\n")
    with pytest.raises(CommandFailed) as refused:
        read_publication(folder, CheckRules())
    assert str(refused.value).count("it is no regular file") == 2


def test_a_huge_file_is_refused_before_it_is_read(folder: Path) -> None:
    for name in ("skills/big.md", "big.yaml"):
        with (folder / name).open("wb") as file:
            file.truncate(10**12)
    with pytest.raises(CommandFailed, match="it has 1000000000000 bytes, at most"):
        read_publication(folder, CheckRules())
    with pytest.raises(UnreadableFile, match="it has 1000000000000 bytes"):
        read_source(folder / "big.yaml")


def test_a_document_of_the_largest_size_is_read(folder: Path) -> None:
    (folder / "skills" / "yard.md").write_bytes(b"\xef\xbb\xbf" + b"#" * LARGEST_BODY)
    assert read(folder).bodies == {"yard": "#" * LARGEST_BODY}


@pytest.mark.invariant(146)
def test_a_folder_that_cannot_be_read_is_a_problem(tmp_path: Path, folder: Path) -> None:
    """Its documents would look as if they were gone, and a pruning publication would remove them."""
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o555)
    closed = folder / "skills" / "closed"
    closed.mkdir(mode=0o000)
    with without_rights(), pytest.raises(CommandFailed, match="closed: cannot be read"):
        read_publication(folder, CheckRules())


def test_a_name_reaches_no_terminal_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "skills" / "a\x1b[2Jb\n.md").write_text("# A\n")
    (folder / "skills" / os.fsdecode(b"\xff.md")).write_text("# B\n")
    assert main(["publish", str(folder)]) == 1
    printed = capsys.readouterr().err
    assert "\x1b" not in printed
    assert "\\x1b[2J" in printed
    assert len(printed.splitlines()) == 3
