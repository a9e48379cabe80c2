"""Takes the gauges of a tenant from what the lists have in memory, which a look at a row keeps up to date."""

from collections import Counter
from collections.abc import Mapping, Sequence

from signpost import __version__
from signpost.execution.function_access import FunctionAccess
from signpost.execution.functions import FunctionLists
from signpost.metrics import gauges
from signpost.metrics.gauges import Gauge, Measured
from signpost.model import Call, Principal
from signpost.ports import Breakers, Clock
from signpost.protocol.surface import Surface
from signpost.registry.catalogue import CatalogueView
from signpost.registry.functions import readable
from signpost.registry.view import ContentView

type Samples = Mapping[tuple[str, ...], int]


class Meter:
    """`surfaces` are those that clients see, by their paths."""

    def __init__(
        self,
        *,
        surfaces: Mapping[str, Surface],
        function_lists: FunctionLists,
        content: ContentView,
        catalogue: CatalogueView,
        access: FunctionAccess,
        breakers: Breakers,
        clock: Clock,
    ) -> None:
        self._surfaces = surfaces
        self._function_lists = function_lists
        self._content = content
        self._catalogue = catalogue
        self._access = access
        self._breakers = breakers
        self._clock = clock

    def read(self, call: Call) -> Sequence[Measured]:
        """Of the caller's tenant, and of no other."""
        tenant = call.principal.tenant
        found: Mapping[Gauge, Samples] = {
            gauges.BUILD: {(__version__,): 1},
            gauges.TOOLS: self._tools(call),
            gauges.FUNCTIONS: self._functions(tenant),
            **self._documents(tenant),
            **self._catalogued(tenant),
            **self._not_closed(call.principal),
        }
        return [Measured(gauge, found[gauge]) for gauge in gauges.GAUGES]

    def _tools(self, call: Call) -> Samples:
        return {
            (path,): sum(len(provider.tools(call)) for provider in surface.tools)
            for path, surface in self._surfaces.items()
        }

    def _functions(self, tenant: str) -> Samples:
        found = self._function_lists.of(tenant)
        return {("own",): len(found.own), ("shipped",): len(found.functions) - len(found.own)}

    def _documents(self, tenant: str) -> Mapping[Gauge, Samples]:
        return {
            gauges.SKILL_DOCUMENTS: {(): len(readable(self._content.skills(tenant)))},
            gauges.PROMPTS: {(): len(self._content.prompts(tenant))},
            gauges.CONTENT_VERSION: {(): self._content.version(tenant)},
        }

    def _catalogued(self, tenant: str) -> Mapping[Gauge, Samples]:
        snapshot = self._catalogue.snapshot(tenant)
        published = snapshot.published
        offered = [item.is_offered for item in published.items if item.kind == "workflow"]
        return {
            gauges.WORKFLOWS: {("enabled",): offered.count(True), ("disabled",): offered.count(False)},
            gauges.CAPABILITIES: {(): sum(item.kind == "capability" for item in published.items)},
            gauges.CONNECTIONS: {(): len(published.connections)},
            gauges.CATALOGUE: {(snapshot.digest,): 1} if snapshot.digest is not None else {},
        }

    def _not_closed(self, principal: Principal) -> Mapping[Gauge, Samples]:
        """These samples name functions: of those only that the caller may use."""
        now = self._clock.now()
        failures = {
            (function, "open" if breaker.opened_until > now else "half_open"): breaker.failures
            for function, breaker in sorted(self._breakers.of_tenant(principal.tenant).items())
            if self._access.allows(principal, function)
        }
        states = Counter(state for _, state in failures)
        return {
            gauges.BREAKERS: {(state,): states[state] for state in ("open", "half_open")},
            gauges.BREAKER_FAILURES: failures,
        }
