"""An account with executors and their secrets, and their placement, on the in-memory adapters."""

from collections.abc import Mapping, Sequence
from typing import override

from signpost.adapters.memory import FunctionTable, MemoryDirectory, MemoryMasterKeys
from signpost.adapters.memory.link import ExecutorHandler, MemoryLambdaTransport
from signpost.contract import Executor, HostedFunction
from signpost.directory.keys import ExecutorKeys, keys_of
from signpost.directory.manifest import manifest_message
from signpost.directory.offers import Offers
from signpost.directory.placement import Placer
from signpost.directory.ports import Directory
from signpost.model import JsonObject, MasterKeys
from tests.support.memory_gateway import ManualClock

STACK_KEYS = MasterKeys("a" * 64, "b" * 64)
FOREIGN_KEYS = MasterKeys("nobody's")


def build_executor(name: str) -> Executor:
    return Executor(f"arn:{name}", f"secret:{name}", 30_000)


class KeysRotatedOnRead(MemoryMasterKeys):
    """Keys of a stack that are rotated concurrently, right after they have been read."""

    def __init__(self, keys: MasterKeys, rotated: MasterKeys, placer: Placer) -> None:
        super().__init__(keys)
        self._rotated = rotated
        self._placer = placer

    @override
    def read(self) -> MasterKeys:
        keys = super().read()
        if keys != self._rotated:
            self.write(self._rotated)
            assert self._placer.hand_out(self._rotated) == []
        return keys


class Account:
    """The Lambda functions and secrets of an AWS account."""

    def __init__(self) -> None:
        self.executors: dict[str, Executor] = {}
        self.secrets: dict[str, MasterKeys] = {}
        self.untagged: set[str] = set()
        self.tags: dict[tuple[str, str], str] = {}
        """The tags of Lambda functions, by ARN and name."""

    def inspect(self, lambda_function: str) -> Executor | str:
        return self.executors.get(lambda_function, f"There is no Lambda function {lambda_function}.")

    def read_tag(self, executor_arn: str, name: str) -> str | None:
        return self.tags.get((executor_arn, name))

    def problem_with(self, secret: str) -> str | None:
        if secret not in self.secrets:
            return f"there is no secret {secret}."
        return f"its secret {secret} has no tag." if secret in self.untagged else None

    def write(self, secret: str, keys: MasterKeys) -> bool:
        if secret not in self.secrets:
            return False
        self.secrets[secret] = keys
        return True


class ExecutorPlacement:
    """Executors that host the functions that the test names, and their placement."""

    def __init__(self, *executors: Executor, table: FunctionTable | None = None) -> None:
        self.account = Account()
        self.table = table or FunctionTable()
        self.directory = MemoryDirectory(self.table)
        self.stack_keys = MemoryMasterKeys(STACK_KEYS)
        self.manifests: dict[str, JsonObject] = {}
        self.handlers: dict[str, ExecutorHandler] = {}
        self.placer = self.build_placer(self.directory)
        for item in executors:
            self.deploy(item)

    def deploy(self, executor: Executor) -> None:
        """Deploy an executor with a secret for its keys."""
        self.account.executors[executor.arn] = executor
        self.account.secrets.setdefault(executor.key_secret_arn, FOREIGN_KEYS)
        self.handlers[executor.arn] = lambda _: self.manifests[executor.arn]

    def build_placer(self, directory: Directory) -> Placer:
        return Placer(offers=self.offers, keys=self.build_executor_keys(directory), directory=directory)

    @property
    def offers(self) -> Offers:
        return Offers(inspector=self.account, link=MemoryLambdaTransport(self.handlers), clock=ManualClock())

    def build_executor_keys(self, directory: Directory) -> ExecutorKeys:
        return ExecutorKeys(stack_keys=self.stack_keys, secrets=self.account, directory=directory)

    def set_manifest(self, executor: Executor, *functions: str) -> None:
        self.manifests[executor.arn] = manifest_message([HostedFunction(function) for function in functions])

    def list_placed(self, tenant: str | None = None) -> Mapping[str, Sequence[str]]:
        """Return the functions of every executor by its ARN."""
        return {
            placed.executor.arn: placed.functions for placed in self.directory.list_placed() if placed.tenant == tenant
        }

    def has_executor_keys(self, executor: Executor, stack_keys: MasterKeys = STACK_KEYS) -> bool:
        return self.account.secrets[executor.key_secret_arn] == keys_of(executor.arn, stack_keys)
