"""The supervisor of a laptop cloud: start its parts, watch them, and stop them in order."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from botocore.exceptions import BotoCoreError, ClientError

from local.api_gateway import ApiAddress, ApiGateway
from local.door import Door
from local.emulator import REGION, Emulator
from local.errors import CloudError
from local.example import LOADABLE, WELCOME, provide_example
from local.home import Home, ReadyNotice
from local.interruption import Interruption
from local.logs import LogTail
from local.ports import Ports, ensure_free
from local.progress import Progress
from local.stack import DeployedStack, build, deploy, machine_architecture

STACK_NAME = "signpost"
AUTHOR_EXECUTORS = f"arn:aws:lambda:{REGION}:000000000000:function:{STACK_NAME}-executor-*"
"""The ARN pattern of the executors that `signpost executors deploy` creates."""

_POLL_SECONDS = 0.5

type MakeSamples = Callable[[DeployedStack, Path], Sequence[str]]
type MakeIssuer = Callable[[Path, int], "TokenIssuer"]


class TokenIssuer(Protocol):
    """A server that issues tokens to the sample people of a laptop."""

    @property
    def url(self) -> str:
        """The issuer's identifier, which is also its address."""
        ...

    def start(self) -> None:
        """Start to serve."""
        ...

    def stop(self) -> None:
        """Stop serving; may be called at any time."""
        ...


class Cloud:
    """A laptop cloud that runs in the foreground."""

    def __init__(
        self,
        home: Home,
        ports: Ports,
        make_issuer: MakeIssuer,
        samples: MakeSamples,
        progress: Progress,
        how_to_stop: str,
        allowed_hosts: str = "",
    ) -> None:
        self._home = home
        self._ports = ports
        self._make_issuer = make_issuer
        self._samples = samples
        self._progress = progress
        self._how_to_stop = how_to_stop
        self._allowed_hosts = allowed_hosts
        self._started = time.monotonic()
        self._emulator = Emulator(home.path, ports.emulator)
        self._gateway = ApiGateway(self._api)
        self._door = Door(ports.door, self._gateway.answer)
        self._interruption = Interruption(progress)
        self._is_up = False
        self._parameters: Mapping[str, str] = {}
        self._stack = DeployedStack(STACK_NAME, {}, {})

    def run(self) -> bool:
        """Serve until a signal arrives. Return whether everything was up by then."""
        with (
            self._home.claim(),
            self._interruption,
            contextlib.ExitStack() as stops,
            contextlib.suppress(KeyboardInterrupt),
        ):
            self._start_and_serve(stops)
        return self._is_up

    def _start_and_serve(self, stops: contextlib.ExitStack) -> None:
        try:
            self._start(stops)
            self._serve()
        except (BotoCoreError, ClientError) as error:
            raise CloudError(f"The emulator failed: {error}\nIts log: {self._emulator.log}") from error
        finally:
            self._interruption.ignore_signals()  # from here on the cloud only stops

    def _start(self, stops: contextlib.ExitStack) -> None:
        if self._emulator.stop_orphan():
            self._progress.say("! Stopped the emulator of a cloud that had been killed; its data is saved.")
        for port in self._ports:
            ensure_free(port)
        stops.callback(self._stop_emulator)  # stops run in the reverse order of their registration
        issuer = self._start_issuer(stops)
        self._start_emulator()
        self._parameters = self._parameters_with(issuer.url)
        lines = self._provide()
        stops.callback(self._gateway.close)
        stops.callback(self._door.stop)
        self._door.start()
        self._announce(lines)
        self._is_up = True

    def _start_issuer(self, stops: contextlib.ExitStack) -> TokenIssuer:
        issuer = self._make_issuer(self._home.path, self._ports.issuer)
        stops.callback(issuer.stop)
        issuer.start()
        return issuer

    def _start_emulator(self) -> None:
        with self._progress.step("starting the emulator"):
            with self._interruption.defer():
                self._emulator.launch()
            self._emulator.wait_until_ready()
        if self._emulator.loss:
            self._progress.say(f"! {self._emulator.loss}")

    def _provide(self) -> Sequence[str]:
        path = self._home.path
        built = build("product", log=path / "build.log", progress=self._progress)
        self._stack = deploy(
            self._emulator,
            STACK_NAME,
            built,
            self._parameters,
            log=path / "deploy.log",
            progress=self._progress,
        )
        provide_example(self._emulator, self._stack, path, self._progress)
        with self._progress.step("preparing sample content"):
            return self._samples(self._stack, path)

    def _parameters_with(self, issuer: str) -> Mapping[str, str]:
        return {
            "Stage": "dev",
            "Architecture": machine_architecture(),
            "EndpointUrl": self._emulator.url,
            "PublicUrl": self._door.url,
            "AuthMode": "both",
            "OidcIssuer": issuer,
            "ExecutorFunctions": ",".join(
                (*(example.function_arn for example in (WELCOME, *LOADABLE.values())), AUTHOR_EXECUTORS)
            ),
            # Nothing unless the developer names it: every caller could read all that listens on this machine.
            "AllowedPrivateHosts": self._allowed_hosts,
        }

    def _announce(self, lines: Sequence[str]) -> None:
        for note in self._door.notes:
            self._progress.say(f"! {note}")
        duration = time.monotonic() - self._started
        closing = "\n".join([f"Signpost answers on {self._door.url}/mcp", *lines, "", self._how_to_stop])
        self._progress.say(f"✓ ready {self._progress.dim(f'{duration:.1f} s')}\n\n{closing}\n")
        self._home.announce(ReadyNotice(self._ports.door, closing))

    def _serve(self) -> None:
        tail = self._follow_log()
        while True:
            if not self._emulator.is_alive:
                self._recover()
                tail = self._follow_log()
            for line in tail.poll():
                self._progress.say(line)
            time.sleep(_POLL_SECONDS)

    def _follow_log(self) -> LogTail:
        return LogTail(self._emulator, self._stack.outputs["GatewayLogGroup"], self._progress.dim)

    def _recover(self) -> None:
        self._progress.say("! The emulator ended unexpectedly; starting it again.")
        self._start_emulator()
        for line in self._provide():
            self._progress.say(line)
        self._progress.say("✓ serving again")

    def _stop_emulator(self) -> None:
        if self._emulator.is_alive:
            with self._progress.step("stopping; the emulator saves its data"):
                self._emulator.stop()

    def _api(self) -> ApiAddress:
        return ApiAddress(self._emulator.address, self._stack.outputs["ApiId"])
