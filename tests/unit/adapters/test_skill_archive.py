"""Archives of Agent Skills, and what their makers may have had in mind."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from signpost.adapters import skill_archive
from signpost.adapters.skill_archive import LARGEST_UNPACKED, MOST_ENTRIES, skills_in_archive
from signpost.content.agent_skills.files import LARGEST_FILE, MOST_FILES
from signpost.content.agent_skills.folders import FoundFolders

MIB = 1024 * 1024


def skill_md(name: str = "pdf", description: str = "Fills forms.") -> bytes:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n# PDF\n".encode()


GOOD: Mapping[str, bytes] = {
    "pdf/SKILL.md": skill_md(),
    "pdf/references/FORMS.md": b"# Forms\r\n",
    "pdf/scripts/fill.py": b"print()\n",
    "pdf/assets/logo.png": b"\x89PNG\0",
    "pdf/nested/SKILL.md": skill_md("nested"),
    "pdf/nested/data.zip": b"PK\x03\x04 no archive at all",
}

type Members = Sequence[tuple[str, bytes]]


def make_zip(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        for name, body in members:
            info = zipfile.ZipInfo(name)
            info.filename = name  # as it is: making it, Python would mend some
            info.compress_type = method
            archive.writestr(info, body)
    return written.getvalue()


def make_tar(members: Members, mode: str = "w:gz") -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode=mode) as archive:  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType] - the mode is chosen at run time
        for name, body in members:
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return written.getvalue()


PACKERS: Mapping[str, Callable[[Members], bytes]] = {
    "pdf.zip": make_zip,
    "pdf.tar.gz": make_tar,
    "pdf.tgz": make_tar,
    "pdf.tar": lambda members: make_tar(members, "w"),
}


def read_archive(folder: Path, name: str, archive: bytes) -> FoundFolders:
    (folder / name).write_bytes(archive)
    return skills_in_archive(folder / name)


def with_skill(*members: tuple[str, bytes]) -> Members:
    return [("pdf/SKILL.md", skill_md()), *members]


@pytest.mark.parametrize("name", PACKERS)
def test_every_folder_with_a_skill_md_is_a_skill(tmp_path: Path, name: str) -> None:
    found = read_archive(tmp_path, name, PACKERS[name](list(GOOD.items())))
    assert found.problems == []
    pdf, nested = found.skills
    assert (pdf.id, pdf.body.encode()) == ("pdf", GOOD["pdf/SKILL.md"])
    assert dict(pdf.files) == {
        path.removeprefix("pdf/"): body
        for path, body in GOOD.items()
        if path.startswith(("pdf/ref", "pdf/scr", "pdf/assets"))
    }
    assert (nested.id, dict(nested.files)) == ("pdf/nested", {"data.zip": GOOD["pdf/nested/data.zip"]})


@pytest.mark.parametrize("name", PACKERS)
def test_a_skill_md_at_the_top_makes_the_archive_a_skill_of_its_name(tmp_path: Path, name: str) -> None:
    members = [("./SKILL.md", skill_md()), ("./a.txt", b"A"), ("./sub/SKILL.md", skill_md("sub")), ("./sub/b", b"B")]
    found = read_archive(tmp_path, name, PACKERS[name](members))
    assert found.problems == []
    assert [(skill.id, list(skill.files)) for skill in found.skills] == [("pdf", ["a.txt"]), ("pdf/sub", ["b"])]


@pytest.mark.parametrize("name", PACKERS)
def test_hidden_files_are_ignored(tmp_path: Path, name: str) -> None:
    hidden = ("pdf/.env", "pdf/.git/config", ".DS_Store", "__MACOSX/pdf/._SKILL.md", "pdf/._a.txt")
    found = read_archive(tmp_path, name, PACKERS[name](with_skill(*((path, b"secret") for path in hidden))))
    assert found.problems == []
    assert [dict(skill.files) for skill in found.skills] == [{}]


PATHS = {
    "../evil.txt": ". or ..",
    "../../evil.txt": ". or ..",
    "pdf/../../evil.txt": ". or ..",
    "pdf/../SKILL.md": ". or ..",
    "../.bashrc": ". or ..",
    "/etc/cron.d/evil": "absolute",
    "/pdf/x": "absolute",
    "//host/share/x": "absolute",
    "C:/Windows/x": "drive",
    "C:\\Windows\\x": "backslash",
    "\\\\host\\share\\x": "backslash",
    "pdf\\..\\..\\x": "backslash",
    "pdf/a\nb": "unprintable",
    "pdf/\u202egnp.exe": "unprintable",
    "pdf/a:stream": "one of",
    "pdf/NUL": "device",
    "pdf//x": "empty part",
    "evil.txt": "is not in a folder with a SKILL.md",
    "other/README.md": "is not in a folder with a SKILL.md",
    "pdf": "is both a file and a folder",
    "pdf/Skill.md": "has the name SKILL.md",
    "pdf/sub/skill.md": "has the name SKILL.md",
    "pdf/SKILL.md": "occurs twice",
}


@pytest.mark.invariant(41)
@pytest.mark.parametrize("name", ["pdf.zip", "pdf.tar.gz"])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_path_that_leads_out_or_belongs_to_no_skill_is_refused(tmp_path: Path, name: str, path: str) -> None:
    found = read_archive(tmp_path, name, PACKERS[name](with_skill((path, skill_md("evil")))))
    assert any(PATHS[path] in problem for problem in found.problems), found.problems
    assert all(str(tmp_path / name) in problem for problem in found.problems)
    assert not (tmp_path.parent / "evil.txt").exists()


@pytest.mark.invariant(41)
@pytest.mark.parametrize("name", ["pdf.zip", "pdf.tar.gz"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("pdf/README.md", "pdf/readme.md"),
        ("pdf/caf\u00e9.md", "pdf/cafe\u0301.md"),
        ("pdf/stra\u00dfe", "pdf/STRASSE"),
        ("pdf/docs/a", "pdf/Docs/b"),
        ("pdf/x", "pdf/x/y"),
    ],
)
def test_names_that_collide_on_some_file_systems_are_refused(
    tmp_path: Path, name: str, first: str, second: str
) -> None:
    found = read_archive(tmp_path, name, PACKERS[name](with_skill((first, b"1"), (second, b"2"))))
    assert len(found.problems) == 1
    assert found.skills == []


def make_special_tar(kind: bytes, target: str = "") -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        strange = tarfile.TarInfo("pdf/strange")
        strange.type, strange.linkname = kind, target
        archive.addfile(strange)
    return written.getvalue()


@pytest.mark.parametrize(
    ("kind", "target", "says"),
    [
        (tarfile.SYMTYPE, "../../../etc/passwd", "is a link"),
        (tarfile.SYMTYPE, "SKILL.md", "is a link"),
        (tarfile.LNKTYPE, "../../../etc/passwd", "is a link"),
        (tarfile.LNKTYPE, "pdf/SKILL.md", "is a link"),
        (tarfile.FIFOTYPE, "", "is neither a file nor a folder"),
        (tarfile.CHRTYPE, "", "is neither a file nor a folder"),
        (tarfile.BLKTYPE, "", "is neither a file nor a folder"),
        (tarfile.GNUTYPE_SPARSE, "", "is neither a file nor a folder"),
        (b"Z", "", "is neither a file nor a folder"),
    ],
)
def test_a_tar_entry_that_is_no_regular_file_is_refused(tmp_path: Path, kind: bytes, target: str, says: str) -> None:
    found = read_archive(tmp_path, "pdf.tar.gz", make_special_tar(kind, target))
    assert [f"'pdf/strange' {says}" in problem for problem in found.problems] == [True], found.problems


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (stat.S_IFLNK | 0o777, "is a link"),
        (stat.S_IFIFO | 0o644, "is neither a file nor a folder"),
        (stat.S_IFCHR | 0o644, "is neither a file nor a folder"),
        (stat.S_IFSOCK | 0o644, "is neither a file nor a folder"),
        (stat.S_IFDIR | 0o755, "is neither a file nor a folder"),
    ],
)
def test_a_zip_entry_that_is_no_regular_file_is_refused(tmp_path: Path, mode: int, says: str) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("pdf/SKILL.md", skill_md())
        info = zipfile.ZipInfo("pdf/id_rsa.example")
        info.external_attr = mode << 16
        archive.writestr(info, "../../../etc/passwd")
    found = read_archive(tmp_path, "pdf.zip", written.getvalue())
    assert [says in problem for problem in found.problems] == [True]


def test_file_modes_are_ignored(tmp_path: Path) -> None:
    """There is no place for them: a file of a skill is a path and bytes."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("pdf/SKILL.md", skill_md())
        info = zipfile.ZipInfo("pdf/tools/escalate")
        info.external_attr = (stat.S_IFREG | 0o4755) << 16
        archive.writestr(info, "#!")
    (skill,) = read_archive(tmp_path, "pdf.zip", written.getvalue()).skills
    assert dict(skill.files) == {"tools/escalate": b"#!"}


def patch_header(archive: bytes, signature: bytes, offset: int, form: str, value: int) -> bytes:
    """With another value in the last header of a kind."""
    at = archive.rindex(signature) + offset
    return archive[:at] + struct.pack(form, value) + archive[at + struct.calcsize(form) :]


CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"


@pytest.mark.parametrize("bits", [0x1, 0x41, 0x2000])
def test_an_encrypted_entry_is_refused(tmp_path: Path, bits: int) -> None:
    archive = patch_header(make_zip(with_skill(("pdf/secret", b"x"))), CENTRAL, 8, "<H", bits)
    found = read_archive(tmp_path, "pdf.zip", archive)
    assert [problem.endswith("'pdf/secret' is encrypted") for problem in found.problems] == [True]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unsupported_compressions_are_refused(tmp_path: Path, method: int) -> None:
    found = read_archive(tmp_path, "pdf.zip", make_zip(with_skill(), method))
    assert "unsupported compression" in found.problems[0]


class TestBombs:
    def test_a_file_that_is_too_large_is_not_unpacked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def unpacked(*_: Any) -> bytes:
            raise AssertionError

        archive = make_zip([("pdf/bomb", b"\0" * (128 * MIB))])
        monkeypatch.setattr(skill_archive, "_read_zip_entry", unpacked)
        found = read_archive(tmp_path, "pdf.zip", archive)
        assert f"has {128 * MIB} bytes" in found.problems[0]

    @pytest.mark.parametrize("name", ["pdf.zip", "pdf.tar.gz"])
    def test_an_archive_with_too_high_a_compression_ratio_is_refused(self, tmp_path: Path, name: str) -> None:
        members = [(f"pdf/{number}", b"\0" * LARGEST_FILE) for number in range(8)]
        found = read_archive(tmp_path, name, PACKERS[name](with_skill(*members)))
        assert any("too much for an archive of its size" in problem for problem in found.problems)

    def test_an_archive_beyond_the_limit_of_unpacked_bytes_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(skill_archive, "LARGEST_RATIO", 1_000_000)
        members = [
            (f"s{number // 5}/{number}", b"\0" * LARGEST_FILE) for number in range(LARGEST_UNPACKED // LARGEST_FILE + 2)
        ]
        found = read_archive(tmp_path, "pdf.zip", make_zip(members))
        assert any(f"more than {LARGEST_UNPACKED} bytes" in problem for problem in found.problems)

    def test_a_tar_header_that_unpacks_without_end_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A header of a tar may say that gigabytes of headers follow."""
        monkeypatch.setattr(skill_archive, "LONGEST_TAR", 4 * MIB)
        header = tarfile.TarInfo("././@PaxHeader")
        header.type, header.size = tarfile.XHDTYPE, 1024 * MIB
        archive = gzip.compress(header.tobuf() + b"\0" * (16 * MIB))
        found = read_archive(tmp_path, "pdf.tar.gz", archive)
        assert "unpacks to more than" in found.problems[0]

    @pytest.mark.parametrize("name", ["pdf.zip", "pdf.tar.gz"])
    def test_an_archive_with_too_many_entries_is_refused(self, tmp_path: Path, name: str) -> None:
        members = [(f"pdf/{number}", b"") for number in range(MOST_ENTRIES + 1)]
        found = read_archive(tmp_path, name, PACKERS[name](members))
        assert any(f"more than {MOST_ENTRIES} entries" in problem for problem in found.problems)

    @pytest.mark.parametrize("name", ["pdf.zip", "pdf.tar.gz"])
    def test_a_skill_with_too_many_files_is_refused(self, tmp_path: Path, name: str) -> None:
        members = [(f"pdf/{number}", b"") for number in range(MOST_FILES)]
        found = read_archive(tmp_path, name, PACKERS[name](with_skill(*members)))
        assert [f"has {MOST_FILES + 1} files" in problem for problem in found.problems] == [True]

    def test_a_skill_with_too_many_bytes_is_refused(self, tmp_path: Path) -> None:
        noise = zlib.compress(b"") * 10  # something; random bytes would do
        members = [(f"pdf/{number}", (noise + bytes([number])) * 30_000) for number in range(8)]
        assert sum(len(body) for _, body in members) > 16 * MIB
        found = read_archive(tmp_path, "pdf.zip", make_zip(with_skill(*members), zipfile.ZIP_STORED))
        assert [f"a skill may have {16 * MIB} at most" in problem for problem in found.problems] == [True]

    @pytest.mark.parametrize("size", [1, 10 * MIB])
    def test_a_false_size_in_a_header_is_detected(self, tmp_path: Path, size: int) -> None:
        archive = make_zip(with_skill(("pdf/liar", b"\0" * MIB)))
        for signature, offset in ((CENTRAL, 24), (LOCAL, 22)):
            archive = patch_header(archive, signature, offset, "<L", size)
        found = read_archive(tmp_path, "pdf.zip", archive)
        assert found.problems
        assert all(skill.files == {} for skill in found.skills)


DAMAGED: Mapping[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda archive: archive[: len(archive) // 2],
    "something else": lambda _: b"%PDF-1.4" * 100,
    "flipped": lambda archive: archive[:60] + bytes([archive[60] ^ 255]) + archive[61:],
}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_archive_is_a_problem_or_read_intact(tmp_path: Path, name: str, damage: str) -> None:
    noise = bytes(range(256)) * 40
    archive = DAMAGED[damage](PACKERS[name](with_skill(("pdf/noise", noise))))
    found = read_archive(tmp_path, name, archive)
    assert found.problems or all(skill.files.get("noise") == noise for skill in found.skills)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([], "has no SKILL.md"),
        ([("pdf/skill.md", skill_md())], "is not in a folder with a SKILL.md"),
        ([("pdf/SKILL.md", b"\xff\xfe")], "is not valid UTF-8"),
        ([("pdf/SKILL.md", b"# No front matter")], "must begin with a front matter"),
        ([("pdf/SKILL.md", skill_md("other"))], "the name in SKILL.md is 'other', but the skill is called pdf"),
        ([("pdf/SKILL.md", skill_md(description='""'))], "must have a description"),
        ([("pdf/SKILL.md", skill_md(description="x" * 1025))], "more than 1024 characters"),
        ([("Pdf/SKILL.md", skill_md("Pdf"))], "may have lowercase letters"),
        ([("pdf--x/SKILL.md", skill_md("pdf--x"))], "is not a name of an Agent Skill"),
        ([("fn/SKILL.md", skill_md("fn"))], "reserved"),
    ],
)
@pytest.mark.parametrize("name", ["x.zip", "x.tar.gz"])
def test_an_invalid_skill_is_a_problem_with_its_reason(tmp_path: Path, name: str, members: Members, says: str) -> None:
    found = read_archive(tmp_path, name, (make_zip if name == "x.zip" else make_tar)(members))
    assert any(says in problem for problem in found.problems), found.problems
    assert found.skills == []


def test_all_problems_of_an_archive_are_reported_at_once(tmp_path: Path) -> None:
    members = [("../a", b""), ("pdf/b\\c", b""), ("stray", b""), ("pdf/SKILL.md", b"#"), ("two/SKILL.md", skill_md())]
    found = read_archive(tmp_path, "pdf.zip", make_zip(members))
    assert len(found.problems) == 5
