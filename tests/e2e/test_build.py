"""What `sam build` makes, by itself, for the architecture the template names."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from local.account import Account
from local.progress import Progress
from local.project import Project
from local.sam import tool_environment
from local.stack import PROJECT, build
from tests.support.project_view import link_project

pytestmark = pytest.mark.cloud

ELF_MACHINES = {"arm64": 183, "x86_64": 62}
LARGEST_LAYER = 47_000_000


@pytest.fixture(scope="module", params=["arm64", "x86_64"])
def build_output(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    directory = tmp_path_factory.mktemp(f"build-{request.param}")
    overrides = [] if request.param == "arm64" else ["--parameter-overrides", f"Architecture={request.param}"]
    command = ["sam", "build", "--build-dir", str(directory), *overrides]
    project = link_project(tmp_path_factory.mktemp("project"))
    built = subprocess.run(command, cwd=project, env=tool_environment(), check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return request.param, directory


def test_every_library_is_built_for_the_architecture(build_output: tuple[str, Path]) -> None:
    architecture, directory = build_output
    libraries = list(directory.rglob("*.so"))
    assert libraries
    for library in libraries:
        head = library.read_bytes()[:20]
        assert head[:4] == b"\x7fELF", library
        assert int.from_bytes(head[18:20], "little") == ELF_MACHINES[architecture], library


def test_the_layer_is_at_most_47_megabytes(build_output: tuple[str, Path]) -> None:
    files = (path for path in (build_output[1] / "SharedLayer").rglob("*") if path.is_file())
    assert sum(path.stat().st_size for path in files) <= LARGEST_LAYER


def test_the_layer_contains_no_package_that_no_function_imports(build_output: tuple[str, Path]) -> None:
    package = build_output[1] / "SharedLayer/python/signpost"
    assert (package / "wiring/gateway.py").exists()
    assert [
        room for room in ("cli", "adapters/memory", "testing", "workflow/pictures") if (package / room).exists()
    ] == []


def test_byte_code_does_not_depend_on_file_times(build_output: tuple[str, Path]) -> None:
    """The second word of a .pyc is 1 for unchecked-hash; anything else is compiled anew on a read-only disk."""
    compiled = list((build_output[1] / "SharedLayer/python").rglob("*.pyc"))
    sources = list((build_output[1] / "SharedLayer/python").rglob("*.py"))
    assert len(compiled) >= 0.95 * len(sources)
    assert {path.read_bytes()[4:8] for path in compiled} == {b"\x01\x00\x00\x00"}


def test_the_core_function_contains_its_own_libraries_as_byte_code(build_output: tuple[str, Path]) -> None:
    folder = build_output[1] / "ExecutorCoreFunction"
    assert {path.name for path in folder.iterdir()} >= {"app.py", "core_skills", "jinja2", "markupsafe"}
    assert {path.read_bytes()[4:8] for path in folder.rglob("*.pyc")} == {b"\x01\x00\x00\x00"}
    assert not (build_output[1] / "SharedLayer/python/jinja2").exists()


@pytest.mark.invariant(17)
def test_a_product_build_contains_nothing_of_the_test_stage(build_output: tuple[str, Path]) -> None:
    assert not (build_output[1] / "SharedLayer/python/stage").exists()
    text = "\n".join(path.read_text() for path in (build_output[1] / "SharedLayer/python/signpost").rglob("*.py"))
    assert "test_simple_text" not in text


def test_every_handler_can_be_imported_with_only_layer_and_code_on_the_path(tmp_path: Path) -> None:
    """The emulator lends functions its own packages; this does not."""
    built = build("product", log=tmp_path / "log", progress=Progress(io.StringIO()))
    project = Project(build=built.directory)
    libraries = "import boto3, cryptography.x509, jsonschema, jwt, pydantic, rapidfuzz.process, yaml"
    program = f"import sys; sys.path[:0] = sys.argv[1:]; {libraries}; import app; assert callable(app.handler)"
    for folder in sorted((PROJECT / "functions").iterdir()):
        function = project.built_function(folder.name, {"AuthMode": "api-key"}, Account())
        isolated = [sys.executable, "-I", "-S", "-c", program, *map(str, function.search_path)]
        variables = {**function.environment, **Account().variables()}
        subprocess.run(isolated, env=variables, check=True, timeout=60)
