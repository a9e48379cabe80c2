"""The limits that callers may read. Imported at the first request for the configuration: they lie in many modules."""

from signpost.calling import wire
from signpost.calling.runtime_settings import LONGEST_WAIT_MS
from signpost.catalogue.publishing import catalogue as publishing
from signpost.content import documents
from signpost.content.agent_skills import files
from signpost.entrypoints.http import front_door
from signpost.list_revisions import REVALIDATION_INTERVAL
from signpost.mcp import dispatch, messages, pages, retry_state
from signpost.model import MOST_SECTIONS
from signpost.signing.capability_tokens import DEEPEST_CALL
from signpost.surfaces.gateway import tool_specs
from signpost.surfaces.overview.configuration_overview import Limit
from signpost.workflow.engine import size_limits
from signpost.workflow.running.executors.child_workflow import MAX_CHILD_DEPTH

LIMITS = (
    Limit("request_bytes", front_door.LARGEST_BODY, "the longest request"),
    Limit("request_depth", messages.DEEPEST_MESSAGE, "the deepest nesting of a request"),
    Limit("batch_messages", dispatch.LARGEST_BATCH, "messages of a batch, in the revisions that have batches"),
    Limit("answer_bytes", dispatch.LONGEST_ANSWER, "the longest answer; a longer tool result is a link"),
    Limit("list_entries", pages.PAGE_SIZE, "entries of a page of a list"),
    Limit("catalogue_items", tool_specs.PAGE, "items of an answer that lists or finds items"),
    Limit("list_delay_ms", int(REVALIDATION_INTERVAL * 1000), "how far lists lag behind a change"),
    Limit("question_lifetime_ms", int(retry_state.STATE_LIFETIME * 1000), "how long a question waits for its answer"),
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
    Limit("workflow_depth", MAX_CHILD_DEPTH, "workflows that start each other to get to one"),
)
