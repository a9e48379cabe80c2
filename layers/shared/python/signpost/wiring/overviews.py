"""Builds the overviews. Imported at the first request for one, since a cold start does not need them."""

from signpost.calling import wire
from signpost.calling.runtime_settings import LONGEST_WAIT_MS
from signpost.catalogue.publishing import catalogue as publishing
from signpost.content import documents
from signpost.content.agent_skills import files
from signpost.entrypoints.http import front_door
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.mcp import dispatch, messages, pages, retry_state
from signpost.mcp.server_description import ServerDescriptions
from signpost.model import MOST_SECTIONS
from signpost.signing.capability_tokens import DEEPEST_CALL
from signpost.surfaces.gateway import tool_specs
from signpost.surfaces.overview.configuration_overview import ConfigurationOverview, Limit
from signpost.surfaces.overview.deployment_overview import DeploymentOverview
from signpost.surfaces.overview.overviews import Overviews, Topic
from signpost.surfaces.overview.run_overview import RunOverview
from signpost.surfaces.overview.workflow_overview import WorkflowOverview
from signpost.wiring.composition import GatewayComposition
from signpost.workflow.engine import size_limits
from signpost.workflow.running.executors.child_workflow import MAX_CHILD_DEPTH

LIMITS = (
    Limit("request_bytes", front_door.LARGEST_BODY, "the longest request"),
    Limit("request_depth", messages.DEEPEST_MESSAGE, "the deepest nesting of a request"),
    Limit("batch_messages", dispatch.LARGEST_BATCH, "messages of a batch, in the revisions that have batches"),
    Limit("answer_bytes", dispatch.LONGEST_ANSWER, "the longest answer; a longer tool result is a link"),
    Limit("list_entries", pages.PAGE_SIZE, "entries of a page of a list"),
    Limit("catalogue_items", tool_specs.PAGE, "items of an answer of gateway.home and gateway.search"),
    Limit("list_delay_ms", int(REVALIDATION_INTERVAL * 1000), "how far lists lag behind a change"),
    Limit("answer_delay_ms", int(retry_state.STATE_LIFETIME * 1000), "how long a question waits for its answer"),
    Limit("call_wait_ms", LONGEST_WAIT_MS, "how long a client waits for a call; a longer one is a run"),
    Limit("call_bytes", wire.LARGEST_PAYLOAD, "the longest arguments of a function, with all that goes with them"),
    Limit("reply_bytes", wire.LARGEST_REPLY, "the longest result of a function"),
    Limit("call_depth", DEEPEST_CALL, "functions that call each other to get to one"),
    Limit("sections", MOST_SECTIONS, "functions that sections of one request run"),
    Limit("document_bytes", documents.LARGEST_BODY, "the longest skill document"),
    Limit("documents_per_fetch", documents.MOST_URIS, "documents of one skill__fetch"),
    Limit("file_bytes", files.LARGEST_FILE, "the longest file beside a SKILL.md"),
    Limit("published_items", publishing.MOST_ITEMS, "items of a catalogue"),
    Limit("run_context_bytes", size_limits.LARGEST_CONTEXT, "the longest context of a run"),
    Limit("run_evidence_bytes", size_limits.LARGEST_INSTANCE_EVIDENCE, "the longest evidence of a run"),
    Limit("child_depth", MAX_CHILD_DEPTH, "workflows that start each other to get to one"),
)
"""The limits that callers may read."""


def build_overviews(composition: GatewayComposition) -> Overviews:
    policy, content = composition.policy, composition.documents
    deployment = DeploymentOverview(
        public_url=composition.adapters.public_url,
        server=ServerDescriptions(composition.revisions),
        catalogue=policy.catalogue,
        functions=policy.functions,
        skills=content.skills,
        prompts=content.prompts,
    )
    workflows = WorkflowOverview(catalogue=policy.catalogue, definitions=composition.definitions)
    configuration = ConfigurationOverview(revisions=composition.revisions, limits=LIMITS)
    runs = RunOverview(lambda: composition.workflow_services().workflows)
    return Overviews(
        (
            Topic("deployment", "Deployment", "What this server is, and how much of what you can use.", deployment),
            Topic("workflows", "Workflows", "Workflows that you can start: input, states, moves.", workflows, "id"),
            Topic("runs", "Runs", "Runs of workflows that you may see.", runs, "id", is_listed=False),
            Topic("config", "Configuration", "Settings and limits that apply to you.", configuration, "key"),
        ),
        policy.accesses,
    )
