"""Reads the gauges of a tenant from the lists in memory, which a read of the revision rows keeps up to date."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signpost import __version__
from signpost.calling.function_access import FunctionAccess
from signpost.calling.lookup import FunctionLists
from signpost.catalogue.cache import CatalogueView
from signpost.content.api.functions import addressable_skills
from signpost.content.cache import ContentView
from signpost.mcp.surface import Surface
from signpost.metrics import gauges
from signpost.metrics.gauges import Gauge, GaugeReading
from signpost.model import Call, Principal

if TYPE_CHECKING:
    from signpost.calling.ports import Breakers
    from signpost.ports import Clock

type SamplesByLabels = Mapping[tuple[str, ...], int]


class Meter:
    """Reads the gauges of a tenant. `surfaces` are the ones that clients see, by path."""

    def __init__(
        self,
        *,
        surfaces: Mapping[str, Surface],
        function_lists: FunctionLists,
        content: ContentView,
        catalogue: CatalogueView,
        access: FunctionAccess,
        breakers: "Breakers",
        clock: "Clock",
    ) -> None:
        self._surfaces = surfaces
        self._function_lists = function_lists
        self._content = content
        self._catalogue = catalogue
        self._access = access
        self._breakers = breakers
        self._clock = clock

    def read(self, call: Call) -> Sequence[GaugeReading]:
        """Reads all gauges of the caller's tenant."""
        tenant = call.principal.tenant
        samples: Mapping[Gauge, SamplesByLabels] = {
            gauges.BUILD: {(__version__,): 1},
            gauges.TOOLS: self._tool_samples(call),
            gauges.FUNCTIONS: self._function_samples(tenant),
            **self._content_samples(tenant),
            **self._catalogue_samples(tenant),
            **self._breaker_samples(call.principal),
        }
        return [GaugeReading(gauge, samples[gauge]) for gauge in gauges.GAUGES]

    def _tool_samples(self, call: Call) -> SamplesByLabels:
        return {
            (path,): sum(len(provider.tools(call)) for provider in surface.tools)
            for path, surface in self._surfaces.items()
        }

    def _function_samples(self, tenant: str) -> SamplesByLabels:
        lists = self._function_lists.of(tenant)
        return {("own",): len(lists.own), ("shipped",): len(lists.functions) - len(lists.own)}

    def _content_samples(self, tenant: str) -> Mapping[Gauge, SamplesByLabels]:
        return {
            gauges.SKILL_DOCUMENTS: {(): len(addressable_skills(self._content.skills(tenant)))},
            gauges.PROMPTS: {(): len(self._content.prompts(tenant))},
            gauges.CONTENT_VERSION: {(): self._content.version(tenant)},
        }

    def _catalogue_samples(self, tenant: str) -> Mapping[Gauge, SamplesByLabels]:
        snapshot = self._catalogue.load(tenant)
        published = snapshot.snapshot
        offered = [item.is_offered for item in published.items if item.kind == "workflow"]
        return {
            gauges.WORKFLOWS: {("enabled",): offered.count(True), ("disabled",): offered.count(False)},
            gauges.CAPABILITIES: {(): sum(item.kind == "capability" for item in published.items)},
            gauges.CONNECTIONS: {(): len(published.connections)},
            gauges.CATALOGUE: {(snapshot.digest,): 1} if snapshot.digest is not None else {},
        }

    def _breaker_samples(self, principal: Principal) -> Mapping[Gauge, SamplesByLabels]:
        """Counts the breakers of functions that the caller may use, since these samples name functions."""
        now = self._clock.now()
        permitted = {
            function: opened
            for function, opened in sorted(self._breakers.of_tenant(principal.tenant).items())
            if self._access.allows(principal, function)
        }
        failures = {
            (function, "open" if breaker.opened_until > now else "half_open"): breaker.failures
            for function, opened in permitted.items()
            if (breaker := opened.for_all) is not None
        }
        states = Counter(state for _, state in failures)
        return {
            gauges.BREAKERS: {(state,): states[state] for state in ("open", "half_open")},
            gauges.BREAKER_FAILURES: failures,
            gauges.STOPPED_PRINCIPALS: {
                (function,): len(opened.by_principal) for function, opened in permitted.items() if opened.by_principal
            },
        }
