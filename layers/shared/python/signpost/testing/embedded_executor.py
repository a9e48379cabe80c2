"""An executor in this process: the real harness, with keys of its own, behind the gateway's transport."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost.adapters.memory import MemoryDirectory, MemoryMasterKeys
from signpost.adapters.memory.link import MemoryLambdaTransport
from signpost.contract import Executor
from signpost.directory.keys import keys_of
from signpost.directory.manifest import parse_manifest
from signpost.model import Json, JsonObject
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.signing.capability_tokens import TokenVerifier
from signpost.signing.key_ring import KeyRing
from signpost.testing.embedded_gateway import FUNCTION_MS, MASTER_KEYS, NESTED_CALLS_ARN, EmbeddedGateway
from signpost.toolkit.context import ContextServices
from signpost.toolkit.deadline import nested_alarm
from signpost.toolkit.function import ExecutorFunctions
from signpost.toolkit.gateway_calls import GatewayCalls
from signpost.toolkit.harness import Harness
from signpost.toolkit.secrets import Secrets

if TYPE_CHECKING:
    from signpost.contract import HostedFunction

EXECUTOR = Executor("arn:toolkits", "secret:toolkits", FUNCTION_MS)
EVERY_PROGRESS = 0.0
"""Seconds between two log lines about progress, so that a test sees each of them."""


@dataclass(frozen=True, slots=True)
class NamedTexts:
    """The texts of secrets by their names, in place of Secrets Manager."""

    texts: Mapping[str, str]

    def read(self, secret: str) -> str:
        return self.texts[secret]


class KeptTexts:
    """The results that were too long to be sent, in place of the content bucket."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def keep(self, key: str, body: bytes) -> None:
        self.kept[key] = body


class RecordedLog:
    """The log of an executor, line by line."""

    def __init__(self) -> None:
        self.lines: list[JsonObject] = []

    def write_event(self, level: str, message: str, **facts: Json) -> None:
        self.lines.append(json.loads(json.dumps({"level": level, "message": message, **facts})))

    def find_faults(self, since: int) -> str:
        """Return the faults of the lines from this number on."""
        return "\n".join(str(line["fault"]) for line in self.lines[since:] if "fault" in line)


class EmbeddedExecutor:
    """Hosts functions for a gateway. The log outlives `start`, which begins a new sandbox."""

    def __init__(self, gateway: EmbeddedGateway, hosting: ExecutorFunctions, secrets: Mapping[str, str]) -> None:
        self.log = RecordedLog()
        self._gateway = gateway
        self._hosting = hosting
        self._secret_texts = NamedTexts(secrets)
        self.start()

    @property
    def hosted(self) -> "Sequence[HostedFunction]":
        return [function.hosted for function in self._hosting.functions.values()]

    def start(self) -> None:
        """Start a sandbox: a harness that has handled nothing yet. Modules of the author stay imported."""
        clock, executors = self._gateway.clock, self._gateway.executors
        nested_calls = GatewayCalls(MemoryLambdaTransport(executors), NESTED_CALLS_ARN)
        names = {name: name for name in self._secret_texts.texts}
        self._harness = Harness(
            self._hosting,
            tokens=TokenVerifier(
                KeyRing(store=MemoryMasterKeys(keys_of(EXECUTOR.arn, MASTER_KEYS)), clock=clock), clock=clock
            ),
            clock=clock,
            validators=Validators(nested_alarm),
            services=ContextServices(
                nested=nested_calls,
                operations=nested_calls,
                secrets=Secrets(names, self._secret_texts, clock),
                log=self.log,
                progress_every=EVERY_PROGRESS,
            ),
            kept_results=KeptTexts(),
        )
        executors[EXECUTOR.arn] = self._handle

    def place(self, tenant: str) -> None:
        """Place the functions for a tenant."""
        manifest = self._harness.handle({"signpost": 1, "operation": "manifest"}, FUNCTION_MS)
        functions = parse_manifest(json.dumps(manifest).encode()).functions
        MemoryDirectory(self._gateway.functions).place(tenant, EXECUTOR, functions)

    def _handle(self, message: JsonObject) -> JsonObject:
        return self._harness.handle(message, FUNCTION_MS)
