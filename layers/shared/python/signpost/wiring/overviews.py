"""Builds the overviews. Imported at the first request for one; each topic at the first request for it, since lists of
templates need none of them."""

from functools import cache
from typing import TYPE_CHECKING

from signpost.surfaces.overview.overviews import Overview, Overviews, Topic

if TYPE_CHECKING:
    from signpost.wiring.composition import GatewayComposition


def build_overviews(composition: "GatewayComposition") -> Overviews:
    return Overviews(
        (
            Topic(
                "deployment",
                "Deployment",
                "Name, release and endpoints of this server, and the number of items of each kind that you can use.",
                cache(lambda: _build_deployment_overview(composition)),
            ),
            Topic(
                "workflows",
                "Workflows",
                "Workflows that you can start: input, states, transitions.",
                cache(lambda: _build_workflow_overview(composition)),
                "id",
            ),
            Topic(
                "runs",
                "Runs",
                "Runs of workflows that you have started; one run that you may see.",
                cache(lambda: _build_run_overview(composition)),
                "id",
            ),
            Topic(
                "config",
                "Configuration",
                "Settings and limits that apply to you.",
                cache(lambda: _build_configuration_overview(composition)),
                "key",
            ),
        ),
        composition.policy.accesses,
    )


def _build_deployment_overview(composition: "GatewayComposition") -> Overview:
    from signpost.mcp.server_description import ServerDescriptions  # noqa: PLC0415 - as the module says
    from signpost.surfaces.documents import SlashCommands  # noqa: PLC0415 - as above
    from signpost.surfaces.overview.deployment_overview import DeploymentOverview  # noqa: PLC0415 - as above

    return DeploymentOverview(
        public_url=composition.adapters.public_url,
        server=ServerDescriptions(composition.revisions),
        catalogue=composition.policy.catalogue,
        callable_skills=composition.callable_skills(),
        skills=composition.documents.skills,
        prompts=(SlashCommands(composition.documents.prompts), composition.components),
    )


def _build_workflow_overview(composition: "GatewayComposition") -> Overview:
    from signpost.surfaces.overview.workflow_overview import WorkflowOverview  # noqa: PLC0415 - as above
    from signpost.wiring.composition import list_schedules  # noqa: PLC0415 - as above

    return WorkflowOverview(
        catalogue=composition.policy.catalogue,
        definitions=composition.definitions,
        list_schedules=lambda snapshot, item: list_schedules(composition, snapshot, item),
    )


def _build_run_overview(composition: "GatewayComposition") -> Overview:
    from signpost.surfaces.overview.run_overview import RunOverview  # noqa: PLC0415 - as above
    from signpost.wiring.run_lists import build_run_search  # noqa: PLC0415 - as above

    return RunOverview(composition.workflow_services().workflows, build_run_search(composition))


def _build_configuration_overview(composition: "GatewayComposition") -> Overview:
    from signpost.surfaces.overview.configuration_overview import ConfigurationOverview  # noqa: PLC0415 - as above
    from signpost.wiring.overview_limits import LIMITS  # noqa: PLC0415 - as above

    return ConfigurationOverview(revisions=composition.revisions, limits=LIMITS)
