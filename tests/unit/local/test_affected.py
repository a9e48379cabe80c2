"""A change selects the tests that can reach it, in a small repository on disk."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from local.affected.__main__ import summarize
from local.affected.changes import Repository
from local.affected.selection import Selection, select

LAYER = "layers/shared/python/signpost"
FILES: Mapping[str, str] = {
    "pyproject.toml": "[tool.pytest]\n",
    f"{LAYER}/__init__.py": "",
    f"{LAYER}/birds.py": (
        "from signpost.seeds import SEEDS\n\n\ndef sing():\n    return 'tweet'\n\n\ndef feed():\n    return SEEDS\n"
    ),
    f"{LAYER}/seeds.py": "SEEDS = 3\nUNUSED = 4\n",
    f"{LAYER}/late.py": "def call():\n    from signpost.birds import sing\n\n    return sing()\n",
    f"{LAYER}/kit.py": "class Kit:\n    def tool(self, run):\n        return run\n\n\nKIT = Kit()\n",
    f"{LAYER}/tools.py": (
        "from signpost.kit import KIT\nfrom signpost.late import call\n\n\n@KIT.tool\ndef tool():\n    return call()\n"
    ),
    f"{LAYER}/lazy/__init__.py": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from signpost.lazy.found import found\n\n\n"
        "def __getattr__(name):\n    ...\n"
    ),
    f"{LAYER}/lazy/found.py": "def found():\n    ...\n",
    f"{LAYER}/wiring/registry.py": "from signpost.birds import feed\n\n\ndef registry():\n    return feed()\n",
    "local/__init__.py": "",
    "local/emulator.py": "def start():\n    ...\n",
    "docs/birds.md": "Birds sing.\n",
    "docs/lazy.md": "```python\nfrom signpost.lazy import found\n\nfound()\n```\n\n```python\nno program\n```\n",
    "tests/docs/test_lazy_page.py": "PAGE = open('docs/lazy.md').read()\n\n\ndef test_page():\n    exec(PAGE)\n",
    "docs/other.md": "Nothing.\n",
    "template.yaml": "Resources: {}\n",
    "tests/conftest.py": (
        "import pytest\n\nfrom local.emulator import start\nfrom signpost.birds import feed\n\n\n"
        "@pytest.fixture\ndef laptop():\n    return start()\n\n\n@pytest.fixture\ndef fed():\n    return feed()\n"
    ),
    "tests/unit/test_song.py": "from signpost.birds import sing\n\n\ndef test_song():\n    assert sing()\n",
    "tests/unit/test_late.py": "from signpost.late import call\n\n\ndef test_late():\n    assert call()\n",
    "tests/unit/test_fixture.py": "def test_fed(fed):\n    assert fed\n\n\ndef test_nothing():\n    ...\n",
    "tests/unit/test_text.py": "def test_text(monkeypatch):\n    monkeypatch.setattr('signpost.seeds.UNUSED', 5)\n",
    "tests/unit/test_kit.py": (
        "import signpost.tools\nfrom signpost.kit import KIT\n\n\ndef test_kit():\n    assert KIT\n"
    ),
    "tests/unit/test_lazy.py": "from signpost.lazy import found\n\n\ndef test_lazy():\n    found()\n",
    "tests/docs/test_pages.py": (
        "from pathlib import Path\n\nBIRDS = Path('docs/birds.md')\n"
        "ALL = sorted((Path.cwd() / 'docs').glob('*'))\n\n\n"
        "def test_birds():\n    assert BIRDS\n\n\n"
        "def test_all():\n    assert ALL\n\n\n"
        "def test_docs():\n    word = 'docs'\n\n\n"
        "def test_client():\n    accepted = '*/*' + '/'\n\n\n"
        "def test_pattern(tmp_path):\n    assert tmp_path.glob('docs/*.md')\n"
    ),
    "tests/e2e/test_stack.py": (
        "import pytest\n\npytestmark = pytest.mark.cloud\n\n\n"
        "def test_registry(laptop):\n    assert 'RegistryFunctionName'\n\n\ndef test_gateway(laptop):\n    ...\n"
    ),
}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True, capture_output=True)
    commit(tmp_path)
    return Repository(tmp_path)


def commit(root: Path) -> None:
    author = ["-c", "user.name=t", "-c", "user.email=t@t"]
    for arguments in (["add", "-A"], [*author, "commit", "-qm", "-"]):
        subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def select_after(repository: Repository, **changes: str) -> Sequence[str]:
    """The arguments for pytest after replacing texts: `path="old|new"`, with `__` for `/` and the suffix left out."""
    for name, change in changes.items():
        old, new = change.split("|")
        path = next(
            repository.root / path for path in FILES if path.rpartition(".")[0].endswith(name.replace("__", "/"))
        )
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    return sorted(select(repository).arguments)


def write(repository: Repository, path: str, text: str) -> Selection:
    (repository.root / path).write_text(text)
    return select(repository)


def test_without_a_change_nothing_is_selected(repository: Repository) -> None:
    found = select(repository)
    assert found.selected == []
    assert list(summarize(found, "HEAD", explain=True)) == ["Nothing has changed since HEAD."]


def test_a_function_selects_its_tests_also_through_late_imports_and_registrations(repository: Repository) -> None:
    """`test_kit` imports the module whose decorator hands the function to KIT."""
    found = select_after(repository, birds="'tweet'|'chirp'")
    assert found == ["tests/unit/test_kit.py", "tests/unit/test_late.py", "tests/unit/test_song.py"]


def test_a_value_selects_tests_that_use_it_through_fixtures(repository: Repository) -> None:
    assert select_after(repository, seeds="SEEDS = 3|SEEDS = 4") == ["tests/unit/test_fixture.py::test_fed"]


def test_comments_and_layout_select_nothing(repository: Repository) -> None:
    assert select_after(repository, birds="    return 'tweet'|    # Softly.\n    return (  'tweet' )") == []


def test_a_name_in_a_text_is_a_dependency(repository: Repository) -> None:
    assert select_after(repository, seeds="UNUSED = 4|UNUSED = 6") == ["tests/unit/test_text.py"]


def test_a_removed_name_selects_tests_that_still_import_it(repository: Repository) -> None:
    found = select_after(repository, birds="def sing|def hum")
    assert found == ["tests/unit/test_kit.py", "tests/unit/test_late.py", "tests/unit/test_song.py"]


def test_a_removed_name_selects_tests_that_import_it_for_a_type(repository: Repository) -> None:
    typed = "from signpost.kit import Kit\n\n\ndef test_typed():\n    def use(kit: Kit): ...\n"
    (repository.root / "tests/unit/test_typed.py").write_text(typed)
    commit(repository.root)
    assert select_after(repository, signpost__kit="return run|return None") == ["tests/unit/test_kit.py"]
    assert "tests/unit/test_typed.py" in select_after(repository, signpost__kit="Kit|Box")


def test_the_nearest_fixture_of_a_name_counts(repository: Repository) -> None:
    own = "import pytest\n\n\n@pytest.fixture\ndef fed():\n    return 1\n\n\ndef test_own(fed): ...\n"
    (repository.root / "tests/unit/test_own.py").write_text(own)
    asks = "import pytest\n\n\n@pytest.fixture\ndef fed(fed):\n    return fed\n\n\ndef test_asks(fed): ...\n"
    (repository.root / "tests/unit/test_asks.py").write_text(asks)
    commit(repository.root)
    found = select_after(repository, seeds="SEEDS = 3|SEEDS = 4")
    assert found == ["tests/unit/test_asks.py", "tests/unit/test_fixture.py::test_fed"]


def test_a_name_imported_from_another_module_has_changed(repository: Repository) -> None:
    found = select_after(repository, birds="from signpost.seeds|from signpost.late")
    assert found == ["tests/unit/test_fixture.py::test_fed"]


def test_a_package_that_imports_at_first_use_passes_its_names_on(repository: Repository) -> None:
    assert "tests/unit/test_lazy.py" in select_after(repository, lazy__found="...|return 1")


def test_imports_in_examples_of_a_page_are_dependencies_of_its_tests(repository: Repository) -> None:
    assert select_after(repository, lazy__found="...|return 1") == [
        "tests/docs/test_lazy_page.py",
        "tests/unit/test_lazy.py",
    ]


def test_module_level_code_selects_all_tests_that_import_the_module(repository: Repository) -> None:
    assert select_after(repository, signpost__late="def call|print()\n\n\ndef call") == [
        "tests/unit/test_kit.py",
        "tests/unit/test_late.py",
    ]


def test_module_level_code_of_a_conftest_selects_all_tests_below_it(repository: Repository) -> None:
    found = select_after(repository, seeds="UNUSED = 4|UNUSED = 4\nprint(UNUSED)")
    assert set(found) == {path for path in FILES if "/test_" in path and "e2e" not in path}


def test_a_changed_test_is_selected_and_a_new_file_of_tests(repository: Repository) -> None:
    found = write(repository, "tests/unit/test_new.py", "def test_new():\n    ...\n")
    assert found.arguments == ["tests/unit/test_new.py"]
    more = write(
        repository, "tests/unit/test_fixture.py", FILES["tests/unit/test_fixture.py"].replace("...", "assert 1")
    )
    assert sorted(more.arguments) == ["tests/unit/test_fixture.py::test_nothing", "tests/unit/test_new.py"]


def test_a_new_automatic_fixture_selects_all_tests_around_it(repository: Repository) -> None:
    found = write(
        repository, "tests/unit/conftest.py", "import pytest\n\n\n@pytest.fixture(autouse=True)\ndef a(): ...\n"
    )
    assert {one.path for one in found.selected} == {path for path in FILES if path.startswith("tests/unit/")}
    assert all(one.is_whole for one in found.selected)


def test_a_page_selects_the_tests_that_name_it_or_its_folder(repository: Repository) -> None:
    named = "tests/docs/test_pages.py"
    assert select_after(repository, template="{}|{a: b}") == []
    tests = ["test_all", "test_birds", "test_pattern"]
    assert select_after(repository, docs__birds="sing|hum") == [f"{named}::{test}" for test in tests]


def test_the_configuration_of_pytest_selects_everything(repository: Repository) -> None:
    found = write(repository, "pyproject.toml", "[tool.pytest]\naddopts = '-x'\n")
    assert {one.path for one in found.selected} == {p for p in FILES if "/test_" in p and "e2e" not in p}


def test_cloud_tests_are_left_out_and_reported(repository: Repository) -> None:
    found = write(repository, "local/emulator.py", "def start():\n    return 1\n")
    assert found.selected == []
    assert [one.path for one in found.left_out] == ["tests/e2e/test_stack.py"]
    assert summarize(found, "HEAD", explain=False)[-1] == ("2 tests on the cloud are left out: tests/e2e/test_stack.py")


def test_cloud_tests_of_changed_functions_are_selected_on_demand(repository: Repository) -> None:
    folders = {"registry": "RegistryFunction", "gateway": "GatewayFunction"}
    (repository.root / f"{LAYER}/seeds.py").write_text("SEEDS = 5\nUNUSED = 4\n")
    found = select(repository, cloud=True, folders=folders)
    assert "tests/e2e/test_stack.py::test_registry" in found.arguments
    assert "tests/e2e/test_stack.py::test_gateway" not in found.arguments
    (repository.root / "functions/gateway").mkdir(parents=True)
    (repository.root / "functions/gateway/app.py").write_text("")
    assert "tests/e2e/test_stack.py" in select(repository, cloud=True, folders=folders).arguments


def test_the_explanation_names_the_path_to_the_change(repository: Repository) -> None:
    lines = summarize(write(repository, f"{LAYER}/seeds.py", "SEEDS = 5\nUNUSED = 4\n"), "HEAD", explain=True)
    assert lines[0] == f"1 changed file since HEAD: {LAYER}/seeds.py"
    assert lines[1] == "1 of 15 test functions in 1 file can be affected."
    way = "test_fed → tests.conftest.fed → signpost.birds.feed"
    assert lines[2].startswith(f"  tests/unit/test_fixture.py: 1 test: {way} → {LAYER}/seeds.py SEEDS")
