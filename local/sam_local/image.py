"""The container image of a Lambda function in Python, made from Debian packages and the Python of this machine.

It stands in for AWS's own image on a machine without a container registry. It has the same folders, environment and
runtime client; the system libraries and the patch version of Python are those of this machine.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from local.errors import CloudError
from local.interpreter import runtime_folder
from local.sources import digest_of_pairs

_HERE = Path(__file__).resolve().parent
_NOT_IN_THE_IMAGE = shutil.ignore_patterns(
    "_tkinter*",
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "ensurepip",
    "site-packages",
    "dist-packages",
    "config-3*",
    "*.a",
)
_LIBRARY = re.compile(r"=> (/\S+)")
_CERTIFICATES = "ca-certificates"


def image_digest() -> str:
    """Return the digest of everything that the image is made from."""
    texts = {name: (_HERE / name).read_text() for name in ("Containerfile", "bootstrap", "image.py")}
    return digest_of_pairs({**texts, "python": sys.version, "runtime": runtime_folder().name, "suite": debian_suite()})


def debian_suite() -> str:
    """Return the code name of this machine's Debian, whose C library its Python needs."""
    release = Path("/etc/os-release")
    values = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line)
    return values.get("VERSION_CODENAME", "stable").strip('"')


def write_context(folder: Path, show: Callable[[str], None]) -> None:
    """Write the folder from which the image is built, and show what is being done."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in ("Containerfile", "bootstrap"):
        shutil.copy(_HERE / name, folder)
    show("Python")
    _copy_python(folder / "lang")
    show("Debian packages, by mmdebstrap")
    _make_system(folder / "system.tar")
    shutil.copytree(runtime_folder(), folder / "runtime")


def _make_system(archive: Path) -> None:
    binaries = [*_python_binaries(), *runtime_folder().rglob("*.so")]
    packages = ",".join(sorted({_CERTIFICATES, *_packages_of(_libraries_of(binaries))}))
    command = ["mmdebstrap", "--quiet", "--variant=essential", f"--include={packages}", debian_suite(), str(archive)]
    _run(command)


def _copy_python(folder: Path) -> None:
    for part in ("bin", "lib"):
        (folder / part).mkdir(parents=True)
    shutil.copy2(os.path.realpath(sys.executable), folder / "bin/python3.13")
    for library in _python_libraries():
        shutil.copy2(library, folder / "lib")
    standard_library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(standard_library, folder / "lib/python3.13", symlinks=True, ignore=_NOT_IN_THE_IMAGE)


def _python_libraries() -> list[Path]:
    return sorted(Path(sysconfig.get_config_var("LIBDIR")).glob("libpython3.13.so.*"))


def _python_binaries() -> list[Path]:
    folder = Path(sysconfig.get_path("stdlib"), "lib-dynload")
    extensions = [file for file in folder.glob("*.so") if not file.name.startswith("_tkinter")]
    return [Path(os.path.realpath(sys.executable)), *_python_libraries(), *extensions]


def _libraries_of(binaries: Iterable[Path]) -> set[str]:
    """Return the shared libraries that the system's loader finds for these files."""
    listed = _run(["ldd", *map(str, binaries)])
    return {os.path.realpath(path) for path in _LIBRARY.findall(listed)}


def _packages_of(libraries: Iterable[str]) -> set[str]:
    """Return the Debian packages of these files, which dpkg may know by a path without /usr."""
    paths = [form for path in sorted(libraries) for form in (path, path.removeprefix("/usr"))]
    found = subprocess.run(["dpkg-query", "--search", *paths], capture_output=True, text=True, check=False)
    return {line.partition(":")[0] for line in found.stdout.splitlines() if not line.startswith("diversion")}


def _run(command: Sequence[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except subprocess.CalledProcessError as error:
        raise CloudError(f"{command[0]} failed while the image was made:\n{error.stderr[-2000:]}") from error
