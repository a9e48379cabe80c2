"""The gauges of a tenant, under the names that monitoring uses."""

from collections.abc import Mapping, Sequence

from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class Gauge:
    name: str
    help_text: str
    labels: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class GaugeReading:
    gauge: Gauge
    samples: Mapping[tuple[str, ...], int]
    """The samples by the values of the gauge's labels, in their order."""


BUILD = Gauge("signpost_build_info", "The release that answers; always 1.", ("version",))
TOOLS = Gauge("signpost_tools", "Tools that the endpoint lists to the caller.", ("endpoint",))
FUNCTIONS = Gauge(
    "signpost_functions",
    "Functions that the tenant can call, by origin: its own, or shipped with the deployment.",
    ("origin",),
)
SKILL_DOCUMENTS = Gauge("signpost_skill_documents", "Skill documents that the tenant sees, shipped ones included.")
PROMPTS = Gauge("signpost_prompts", "Prompts of the registry that the tenant sees, shipped ones included.")
WORKFLOWS = Gauge(
    "signpost_workflows",
    "Workflows of the tenant by state: enabled, or disabled by their author or by an operator.",
    ("state",),
)
CAPABILITIES = Gauge("signpost_capabilities", "Capabilities in the tenant's catalogue.")
CONNECTIONS = Gauge("signpost_connections", "Connections in the tenant's catalogue, including hidden ones.")
CATALOGUE = Gauge(
    "signpost_catalogue_info",
    "The digest of the tenant's catalogue; always 1, and without a sample until something is published.",
    ("digest",),
)
CONTENT_VERSION = Gauge(
    "signpost_content_version",
    "Changes so far of the tenant's skill documents, prompts, subscriptions and catalogue.",
)
BREAKERS = Gauge(
    "signpost_breakers",
    "Breakers for all callers of functions that the caller may use: open, or half_open when a probe may run.",
    ("state",),
)
BREAKER_FAILURES = Gauge(
    "signpost_breaker_failures",
    "Failures in a row of each function that the caller may use and whose breaker for all callers is not closed.",
    ("function", "state"),
)
STOPPED_PRINCIPALS = Gauge(
    "signpost_stopped_principals",
    "Principals whose own breaker of a function is not closed, for each function that the caller may use.",
    ("function",),
)
GAUGES = (
    BUILD, TOOLS, FUNCTIONS, SKILL_DOCUMENTS, PROMPTS, WORKFLOWS, CAPABILITIES, CONNECTIONS, CATALOGUE,
    CONTENT_VERSION, BREAKERS, BREAKER_FAILURES, STOPPED_PRINCIPALS,
)  # fmt: skip
"""All gauges, in the order of the output."""
