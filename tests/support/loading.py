"""An account with executors of other stacks that a tenant may load, and the registry functions that load them."""

from collections.abc import Sequence
from typing import Any

from signpost.adapters.memory import FunctionTable, MemoryBreakers, MemoryLoadedExecutors
from signpost.calling.ports import Breakers
from signpost.content.api.errors import RegistryRefusal
from signpost.content.api.load_functions import LoadFunctions
from signpost.content.callers import Caller
from signpost.content.names import is_internal
from signpost.contract import Executor, HostedFunction
from signpost.directory.allow_list import AllowList
from signpost.directory.loader import Loader
from signpost.directory.manifest import manifest_message
from signpost.directory.ports import Directory, LoadedExecutors
from signpost.model import Json, JsonObject, Principal
from tests.support.placing import Placing

TENANT = "acme"
PLACE = "arn:aws:lambda:us-east-1:000000000000:function:"
SECRETS = "arn:aws:secretsmanager:us-east-1:000000000000:secret:"
ALLOWED = (f"{PLACE}team-*", f"{PLACE}single")


def lambda_function(name: str) -> Executor:
    return Executor(f"{PLACE}{name}", f"{SECRETS}{name}", 30_000)


class Loadable(Placing):
    """Executors, some of which may be loaded, and the registry functions that load them."""

    def __init__(self, table: FunctionTable | None = None) -> None:
        super().__init__(table=table)
        self.breakers = MemoryBreakers(self.table)
        self.loads = MemoryLoadedExecutors(self.table)
        self.functions = self.loading_into(self.loads, self.directory, self.breakers)

    def loading_into(self, loads: LoadedExecutors, directory: Directory, breakers: Breakers) -> LoadFunctions:
        loader = Loader(
            allowed=AllowList(ALLOWED),
            offers=self.offers,
            keys=self.keys_by(directory),
            directory=loads,
            breakers=breakers,
            is_reserved=is_internal,
        )
        return LoadFunctions(loader)

    def offer(self, name: str, *hosted: HostedFunction | str, version: str | None = None) -> Executor:
        """Deploy an executor, or change its manifest."""
        executor = lambda_function(name)
        self.deploy(executor)
        functions = [HostedFunction(item) if isinstance(item, str) else item for item in hosted]
        self.manifests[executor.arn] = manifest_message(functions, version)
        return executor

    def call(self, operation: str, executor: Json, tenant: str | None = TENANT) -> Json | RegistryRefusal:
        principal = Principal("admin", tenant or "", "signpost:operator")
        return self.functions.call(f"skills::{operation}", {"executor": executor}, Caller(tenant, principal, 0.0))

    def done(self, operation: str, executor: str, tenant: str = TENANT) -> Any:
        """Return the answer of a call that must succeed."""
        answer = self.call(operation, executor, tenant)
        assert not isinstance(answer, RegistryRefusal), answer
        return answer

    def refused(self, operation: str, executor: Json, tenant: str = TENANT) -> str:
        """Return the code of the refusal of a call that must fail."""
        answer = self.call(operation, executor, tenant)
        assert isinstance(answer, RegistryRefusal), answer
        return answer.code

    def hosted(self, tenant: str | None = TENANT) -> Sequence[HostedFunction]:
        """Return the hosted functions that can be called."""
        return [placement.hosted for (scope, _), placement in self.table.placements.items() if scope == tenant]

    def told(self) -> Sequence[JsonObject]:
        return [{"op": event.op, "name": event.key} for event in self.table.load_events]
