"""Podman as SAM's container engine: its packages, its image, and a service in a network namespace of its own.

The bridge, the firewall's rules and the ports of containers exist in that namespace only, and vanish with it.
"""

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from local.emulator import PROJECT
from local.errors import CloudError
from local.processes import stop_group, tail
from local.progress import Progress
from local.sam_local.engine import Engine
from local.sam_local.image import image_digest, write_context
from local.stack import machine_architecture

STATE = PROJECT / ".local/sam-local"
"""The folder of the image and of podman's settings."""
PACKAGES: Mapping[str, str] = {
    "podman": "podman",
    "runc": "runc",
    "/usr/lib/podman/netavark": "netavark",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "ip": "iproute2",
    "nsenter": "util-linux",
}
"""The Debian package of each program that is needed."""

_BRIDGE = "10.88.0.1"
_DIGEST = "signpost.digest"
_SECONDS_TO_START = 60.0
_SECONDS_TO_END = 20.0
_POLL_SECONDS = 0.05
# As many files and processes as Lambda allows. Podman's own defaults are above the limits of some machines.
_CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{state}/run/libpod"
[network]
network_backend = "netavark"
default_subnet = "10.88.0.0/16"
network_config_dir = "{state}/networks"
"""
_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{state}/graph"
runroot = "{state}/run"
"""
_NETWORKS = "/run/containers"
"""The folder in which the network plugin notes addresses, whatever podman's settings are."""
_SERVICE = f"""\
mkdir -p {_NETWORKS} && mount -t tmpfs none {_NETWORKS} && ip link set lo up && \
exec podman system service --time=0 "$0"
"""


def missing_packages() -> list[str]:
    """Return the Debian packages whose programs this machine lacks."""
    return sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})


def explain_refusal(missing: Sequence[str], *, is_root: bool, has_apt: bool) -> str | None:
    """Return the reason why podman cannot run here, with the remedy; None if packages can be installed or none is
    missing."""
    if is_root and (has_apt or not missing):
        return None
    lacking = f" Podman lacks Debian packages. Install them: sudo {' '.join(_install(missing))}" if missing else ""
    root = "" if is_root else " Podman needs root: start Docker, or run this command as root."
    return f"No Docker engine answers.{root}{lacking}"


def install_packages(progress: Progress) -> None:
    """Install the missing packages if this user may, or raise an error that names them."""
    missing = missing_packages()
    has_apt = shutil.which("apt-get") is not None
    if refusal := explain_refusal(missing, is_root=os.geteuid() == 0, has_apt=has_apt):
        raise CloudError(refusal)
    if missing:
        with progress.step(f"installing Debian packages: {' '.join(missing)}"):
            command = _install(missing)
            _run(command, {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, f"Run it by hand: {' '.join(command)}")


def _install(packages: Sequence[str]) -> list[str]:
    return ["apt-get", "install", "--yes", "--no-install-recommends", *packages]


@contextlib.contextmanager
def podman(progress: Progress, state: Path = STATE) -> Generator[Engine]:
    """Provide a podman service with the image of functions. Its containers and network end with the block."""
    install_packages(progress)
    with _claim(state):
        environment = _write_settings(state)
        _provide_image(state, environment, progress)
        with tempfile.TemporaryDirectory(prefix="podman-") as folder:
            address = f"unix://{folder}/podman.sock"
            with _service(state, environment, address) as process:
                # SAM would look for a newer image in a registry.
                yield Engine("podman", _BRIDGE, {"DOCKER_HOST": address, "SAM_SKIP_PULL_IMAGE": "1"}, process)


def remove(progress: Progress, state: Path = STATE) -> None:
    """Delete the image and everything else that podman has stored for this project."""
    if not state.exists():
        progress.say(f"{state} does not exist, so there is nothing to delete.")
        return
    with _claim(state):
        shutil.rmtree(state)
    progress.say(f"Deleted {state}.")


@contextlib.contextmanager
def _claim(state: Path) -> Generator[None]:
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CloudError(f"Another `make sam-local` uses {state}. Wait for its end.") from error
        yield


def _write_settings(state: Path) -> dict[str, str]:
    """Write podman's configuration, and return the environment of its commands."""
    for folder in ("networks", "tmp"):
        (state / folder).mkdir(exist_ok=True)
    for name, text in (("containers.conf", _CONTAINERS), ("storage.conf", _STORAGE)):
        (state / name).write_text(text.format(state=state))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DOCKER_"))}
    return {
        **inherited,
        "TMPDIR": str(state / "tmp"),
        "CONTAINERS_CONF": str(state / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(state / "storage.conf"),
    }


def has_image(state: Path = STATE) -> bool:
    """Whether podman can run functions here at once: it has its packages, root, and an image of these sources."""
    if missing_packages() or os.geteuid() != 0 or not state.is_dir():
        return False
    label = f'{{{{index .Labels "{_DIGEST}"}}}}'
    return (
        _print_of(["podman", "image", "inspect", "--format", label, _image()], _write_settings(state)) == image_digest()
    )


def _image() -> str:
    return f"public.ecr.aws/lambda/python:3.13-{machine_architecture()}"


def _provide_image(state: Path, environment: Mapping[str, str], progress: Progress) -> None:
    if has_image(state):
        return
    context = state / "context"
    try:
        with progress.step("building the image of functions from Debian packages") as step:
            write_context(context, step.show)
            step.show("podman build")
            options = ["--network", "none", "--label", f"{_DIGEST}={image_digest()}", "--tag", _image()]
            _run(["podman", "build", "--quiet", *options, str(context)], environment, "Try again.")
    finally:
        shutil.rmtree(context, ignore_errors=True)


@contextlib.contextmanager
def _service(state: Path, environment: Mapping[str, str], address: str) -> Generator[int]:
    """Run the service in new namespaces. It ends with this process, however that ends."""
    isolated = ["unshare", "--net", "--mount", "--", "setpriv", "--pdeathsig", "TERM", "--"]
    log = state / "service.log"
    with log.open("wb") as out:
        service = subprocess.Popen(
            [*isolated, "sh", "-c", _SERVICE, address],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    inside = ["nsenter", "--target", str(service.pid), "--net", "--mount", "--", "podman"]
    remove_containers = [*inside, "rm", "--force", "--all", "--time", "0"]
    try:
        _wait_until_ready(service, address.removeprefix("unix://"), log)
        _print_of(remove_containers, environment)  # those of a run that was killed
        yield service.pid
    finally:
        _print_of(remove_containers, environment)
        _print_of([*inside, "image", "prune", "--force"], environment)  # earlier forms of the images that SAM makes
        stop_group(service, _SECONDS_TO_END)
        service.kill()
        service.wait()


def _wait_until_ready(service: "subprocess.Popen[bytes]", path: str, log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while not _is_listening(path):
        if service.poll() is not None or time.monotonic() > deadline:
            raise CloudError(f"podman's service did not start. The end of {log}:\n{tail(log, 20)}")
        time.sleep(_POLL_SECONDS)


def _is_listening(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


def _run(command: Sequence[str], environment: Mapping[str, str], advice: str) -> None:
    try:
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise CloudError(f"{' '.join(command[:3])} failed:\n{error.stderr[-2000:]}\n{advice}") from error


def _print_of(command: Sequence[str], environment: Mapping[str, str]) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()
