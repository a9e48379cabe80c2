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
from signpost.directory.load_tenants import TENANTS_TAG, LoadTenants
from signpost.directory.loader import Loader
from signpost.directory.manifest import manifest_message
from signpost.directory.ports import Directory, LoadedExecutors
from signpost.model import Json, JsonObject, Principal
from tests.support.executor_placement import ExecutorPlacement

TENANT = "acme"
LAMBDA_ARN_PREFIX = "arn:aws:lambda:us-east-1:000000000000:function:"
SECRET_ARN_PREFIX = "arn:aws:secretsmanager:us-east-1:000000000000:secret:"
ALLOWED_ARNS = (f"{LAMBDA_ARN_PREFIX}team-*", f"{LAMBDA_ARN_PREFIX}single")


def build_loadable_executor(name: str) -> Executor:
    return Executor(f"{LAMBDA_ARN_PREFIX}{name}", f"{SECRET_ARN_PREFIX}{name}", 30_000)


class LoadableExecutors(ExecutorPlacement):
    """Executors, some of which may be loaded, and the registry functions that load them."""

    def __init__(self, table: FunctionTable | None = None) -> None:
        super().__init__(table=table)
        self.breakers = MemoryBreakers(self.table)
        self.loads = MemoryLoadedExecutors(self.table)
        self.functions = self.build_load_functions(self.loads, self.directory, self.breakers)

    def build_load_functions(self, loads: LoadedExecutors, directory: Directory, breakers: Breakers) -> LoadFunctions:
        loader = Loader(
            allowed=lambda: AllowList(ALLOWED_ARNS),
            tenants=LoadTenants(tags=self.account, operator_tenant=TENANT),
            offers=self.offers,
            keys=self.build_executor_keys(directory),
            directory=loads,
            breakers=breakers,
            is_reserved=is_internal,
        )
        return LoadFunctions(loader)

    def offer(self, name: str, *hosted: HostedFunction | str, version: str | None = None) -> Executor:
        """Deploy an executor, or change its manifest."""
        executor = build_loadable_executor(name)
        self.deploy(executor)
        functions = [HostedFunction(item) if isinstance(item, str) else item for item in hosted]
        self.manifests[executor.arn] = manifest_message(functions, version)
        return executor

    def tag(self, name: str, tenants: str) -> None:
        """Set the tag that names the tenants of an executor."""
        self.account.tags[build_loadable_executor(name).arn, TENANTS_TAG] = tenants

    def call(
        self, operation: str, executor: Json, tenant: str | None = TENANT, *, strict: bool = False
    ) -> Json | RegistryRefusal:
        principal = Principal("admin", tenant or "", "signpost:operator")
        payload: JsonObject = {"executor": executor, **({"strict": True} if strict else {})}
        return self.functions.call(f"skills::{operation}", payload, Caller(tenant, principal, 0.0))

    def expect_success(self, operation: str, executor: str, tenant: str = TENANT) -> Any:
        """Return the answer of a call that must succeed."""
        answer = self.call(operation, executor, tenant)
        assert not isinstance(answer, RegistryRefusal), answer
        return answer

    def expect_refusal(self, operation: str, executor: Json, tenant: str = TENANT) -> str:
        """Return the code of the refusal of a call that must fail."""
        answer = self.call(operation, executor, tenant)
        assert isinstance(answer, RegistryRefusal), answer
        return answer.code

    def list_hosted(self, tenant: str | None = TENANT) -> Sequence[HostedFunction]:
        """Return the hosted functions that can be called."""
        return [placement.hosted for (scope, _), placement in self.table.placements.items() if scope == tenant]

    def list_load_events(self) -> Sequence[JsonObject]:
        return [{"op": event.op, "name": event.key} for event in self.table.load_events]
