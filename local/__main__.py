"""The commands of the laptop cloud: python -m local run|up|down|clean|status|env|resources|example"""

import argparse
import json
import os
import sys
from pathlib import Path

from local import control
from local.cloud import STACK_NAME, Cloud
from local.emulator import Emulator
from local.errors import CloudError
from local.example import LOADABLE, load_example
from local.home import Home
from local.issuer import Issuer
from local.ports import Ports
from local.progress import Progress
from local.samples import sample_lines
from local.stack import find_stack, resource_names

_INTERRUPTED = 130
_ALLOWED_HOSTS = "ALLOWED_HOSTS"
"""The variable with the hosts of this machine that webhooks and `core::http_fetch` may reach: `127.0.0.1:9000`."""


def main() -> int:
    """Run one command, and print a CloudError as its message alone."""
    arguments = _parser().parse_args()
    progress = Progress(sys.stdout)
    try:
        return _dispatch(arguments, Home(arguments.home), Ports(arguments.port), progress)
    except CloudError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description="The laptop cloud.")
    parser.add_argument("command", choices=["run", "up", "down", "clean", "status", "env", "resources", "example"])
    parser.add_argument("name", nargs="?", choices=sorted(LOADABLE), help="the example to load")
    parser.add_argument(
        "--port",
        type=int,
        default=8765,
        help="port of the front door; the emulator and the token issuer use the next two ports",
    )
    parser.add_argument("--home", type=Path, default=control.default_home(), help="directory of its data")
    parser.add_argument("--detached", action="store_true", help="print how to stop a cloud in the background")
    return parser


def _dispatch(arguments: argparse.Namespace, home: Home, ports: Ports, progress: Progress) -> int:
    match arguments.command:
        case "run":
            how_to_stop = f"In the background; make down stops it. Its log: {home.log}"
            return _run(home, ports, progress, how_to_stop if arguments.detached else "Ctrl-C stops, data is kept")
        case "up":
            control.up(home, ports, progress)
        case "down":
            control.down(home, progress)
        case "clean":
            control.clean(home, progress)
        case "example":
            _load_example(arguments.name, home, progress)
        case "resources":
            _print_resources(home, progress)
        case "status":
            return 0 if control.status(home, progress) else 1
        case _:
            control.env(home, progress)
    return 0


def _run(home: Home, ports: Ports, progress: Progress, how_to_stop: str) -> int:
    _use_emulator(Emulator(home.path, ports.emulator))
    allowed_hosts = os.environ.get(_ALLOWED_HOSTS, "")
    cloud = Cloud(home, ports, Issuer, sample_lines, progress, how_to_stop, allowed_hosts)
    return 0 if cloud.run() else _INTERRUPTED


def _load_example(name: str | None, home: Home, progress: Progress) -> None:
    emulator = _running_emulator(home)
    if name is None:
        raise CloudError(f"Name an example: {', '.join(sorted(LOADABLE))}.")
    _use_emulator(emulator)
    load_example(name, emulator, find_stack(emulator, STACK_NAME), home.path, progress)


def _print_resources(home: Home, progress: Progress) -> None:
    """Print the names of the stack's resources, in the form that `python -m local.invoke --resources` reads."""
    progress.say(json.dumps(dict(resource_names(_running_emulator(home), STACK_NAME)), indent=1))


def _running_emulator(home: Home) -> Emulator:
    notice = home.ready_notice()
    if notice is None:
        raise CloudError("The laptop cloud is not running. Start it: make up")
    return Emulator(home.path, Ports(notice.port).emulator)


def _use_emulator(emulator: Emulator) -> None:
    # AWS clients that this process makes with the SDK's defaults must not reach an AWS account.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(emulator.environment())


if __name__ == "__main__":
    sys.exit(main())
