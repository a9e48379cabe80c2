"""Where our answers may differ from those of the official SDK's kernel, and why. Anything else is a fault.

A difference belongs to the first class whose predicate holds.
"""

from collections.abc import Callable, Mapping, Sequence

from mcp_types import ClientCapabilities, Implementation
from mcp_types.methods import SPEC_CLIENT_METHODS
from pydantic import BaseModel, ValidationError

from signpost.mcp.revisions import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from signpost.model import as_object
from tests.differential.generated_requests import CLIENT_INFO, MODERN, NAME_IN
from tests.differential.outcome import Outcome, Sent

type Difference = Callable[[Sent, Outcome, Outcome], bool]

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
HEADER_MISMATCH, VERSION_UNSUPPORTED = -32020, -32022
SENTINEL = "=?base64?"
NOT_SERVED = {"logging/setLevel", "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"}
TEXT_ONLY = ("2025-03-26", "2024-11-05", None)
"""Revisions without structured content; a request that names none speaks the first."""


def invalid_requests_are_answered_under_their_id(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """JSON-RPC 2.0, section 5: the id is null only if it could not be detected. The SDK never echoes it here."""
    same = (ours.status, ours.code) == (theirs.status, theirs.code) == (400, INVALID_REQUEST)
    return same and ours.id == sent.document.get("id") and theirs.id is None


OBJECTS = ("arguments", "context", "inputResponses")


def params_and_object_members_must_be_objects_or_absent(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """JSON-RPC 2.0, sections 4.2 and 5.1: params are structured if present, and -32602 is the code for others, under
    the id of the request; the schemas have no null for `arguments`, `context` and `inputResponses` either. The
    SDK takes the whole message for invalid, and reads null as absent."""
    if not isinstance(sent.document.get("params", {}), Mapping):
        return _refused_params(ours, 400) and ours.id == sent.document.get("id")
    nulls = [name for name in OBJECTS if name in sent.params and sent.params[name] is None]
    return bool(nulls) and _refused_params(ours) and theirs.code in {None, -32002, -32021, -32603}


def a_missing_name_is_a_header_mismatch(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """2026-07-28, streamable-http, "Server Validation": `Mcp-Name` is required for these methods and must match, so
    the header is judged also where the body names nothing. The SDK goes on to the missing parameter."""
    field = NAME_IN.get(str(sent.method))
    nameless = field is not None and sent.params.get(field) is None
    return nameless and ours.code == HEADER_MISMATCH and theirs.code in {INVALID_PARAMS, VERSION_UNSUPPORTED}


def the_envelope_is_checked_before_its_contents(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """MCP 2026-07-28: the first check is that `_meta` is complete, which a version that is no text or
    capabilities that are no object are not. The SDK checks their presence first, their form last."""
    broken = not isinstance(sent.meta.get(PROTOCOL_VERSION), str) or not isinstance(
        sent.meta.get(CLIENT_CAPABILITIES), dict
    )
    return broken and _refused_params(ours, 400) and theirs.code in {
        HEADER_MISMATCH, METHOD_NOT_FOUND, VERSION_UNSUPPORTED,
    }  # fmt: skip


def encoded_values_are_decoded_in_every_mirrored_header(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """2026-07-28, streamable-http, "Client Behavior" 4: all mirrored values are encoded by the same rules. The SDK
    decodes `Mcp-Name` alone."""
    headers = {name.lower(): value for name, value in sent.headers.items()}
    encoded = any(headers.get(name, "").startswith(SENTINEL) for name in ("mcp-method", "mcp-protocol-version"))
    return encoded and theirs.code == HEADER_MISMATCH and ours.code != HEADER_MISMATCH


def an_unserved_method_is_not_found_with_any_params(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """Decision 10, and 2026-07-28, streamable-http: a method that is not implemented is -32601. The SDK reads the
    params of every method it has heard of first."""
    known = sent.method in NOT_SERVED and sent.method in SPEC_CLIENT_METHODS
    return known and ours.code == METHOD_NOT_FOUND and theirs.code == INVALID_PARAMS


def old_revisions_have_no_structured_content(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """`structuredContent` came with MCP 2025-06-18. The SDK shapes all older results by the schema of
    2025-11-25."""
    missing = theirs.keys - ours.keys == frozenset({"structuredContent"}) and ours.keys < theirs.keys
    return missing and sent.version in TEXT_ONLY and sent.method == "tools/call"


def unused_client_fields_are_not_validated(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """2026-07-28, basic, "Per-request protocol fields": clientInfo is for display and never changes behaviour, and a
    capability of a form we do not know is one we do not use. 2025-11-25, basic, "_meta": nothing in it is required,
    so that one which is no object says nothing. The SDK refuses all three."""
    meta = sent.params.get("_meta")
    unread = meta is not None and not isinstance(meta, dict) and not _is_modern(sent)
    strange = not _fits(Implementation, sent.meta.get(CLIENT_INFO)) or not _fits(
        ClientCapabilities, sent.meta.get(CLIENT_CAPABILITIES)
    )
    return (unread or strange) and _refused_params(theirs) and ours.code != INVALID_PARAMS


def unrequested_input_responses_are_ignored(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """2026-07-28, MRTR: what is not needed of `inputResponses` is ignored, hence its form too. Older revisions have
    neither it nor `requestState`: to them both are extra members, which the SDK judges all the same."""
    answers, state = sent.params.get("inputResponses"), sent.params.get("requestState")
    present = answers is not None or state is not None
    ignorable = isinstance(answers, dict | None) if _is_modern(sent) else True
    return present and ignorable and _refused_params(theirs) and ours.code != INVALID_PARAMS


def a_progress_token_is_text_or_an_integer(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """The schema's ProgressToken: the SDK takes true for 1. A null asks for nothing, and the SDK refuses it."""
    token = sent.meta.get("progressToken", "absent")
    refused, theirs_refused = _refused_params(ours), _refused_params(theirs)
    return (isinstance(token, bool) and refused) or (token is None and theirs_refused)


def notifications_are_accepted_and_ignored(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """2026-07-28, streamable-http: which headers a notification needs is not said, and nothing is done with one
    here. The SDK refuses those of a revision it does not speak."""
    return "id" not in sent.document and ours == Outcome(202) and theirs.code == VERSION_UNSUPPORTED


def portable_names_of_tools_are_callable(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """Decision 2: a tool can be called by its portable name as well."""
    portable = sent.method == "tools/call" and sent.params.get("name") == "gateway_home"
    return portable and ours.code is None and _refused_params(theirs)


def null_for_an_argument_counts_as_left_out(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """docs/flat.md: many hosts send null for what a model leaves out. Arguments of prompts are texts only, so the SDK
    refuses null there, and in the context of a completion. For an optional argument of a tool it answers that the
    schema does not take null."""
    of_prompt = sent.method in {"prompts/get", "completion/complete"} and _refused_params(theirs)
    of_tool = sent.method == "tools/call" and theirs.code is None and theirs.is_error is True
    return _has_null(sent) and ours.code is None and ours.is_error is False and (of_prompt or of_tool)


def _has_null(sent: Sent) -> bool:
    """Whether an argument of the request, or one that a completion is given as context, is null."""
    context = sent.params.get("context")
    given = [sent.params.get("arguments"), as_object(context).get("arguments")]
    return any(None in as_object(arguments).values() for arguments in given)


def a_log_level_is_accepted_and_not_kept(sent: Sent, ours: Outcome, theirs: Outcome) -> bool:
    """docs/architecture.md, "Lists, names, schemas, sizes": older clients are answered, and told of a level that is
    none. The SDK serves the method only where a handler for it advertises logging."""
    answered = ours.code in {None, INVALID_PARAMS} and sent.version != MODERN
    return sent.method == "logging/setLevel" and answered and theirs.code == METHOD_NOT_FOUND


DIFFERENCES: Sequence[Difference] = (
    a_log_level_is_accepted_and_not_kept,
    null_for_an_argument_counts_as_left_out,
    invalid_requests_are_answered_under_their_id,
    params_and_object_members_must_be_objects_or_absent,
    a_missing_name_is_a_header_mismatch,
    the_envelope_is_checked_before_its_contents,
    encoded_values_are_decoded_in_every_mirrored_header,
    an_unserved_method_is_not_found_with_any_params,
    old_revisions_have_no_structured_content,
    unused_client_fields_are_not_validated,
    unrequested_input_responses_are_ignored,
    a_progress_token_is_text_or_an_integer,
    notifications_are_accepted_and_ignored,
    portable_names_of_tools_are_callable,
)


def classify(sent: Sent, ours: Outcome, theirs: Outcome) -> Difference | None:
    return next((difference for difference in DIFFERENCES if difference(sent, ours, theirs)), None)


def _refused_params(found: Outcome, status: int | None = None) -> bool:
    return found.code == INVALID_PARAMS and status in {None, found.status}


def _is_modern(sent: Sent) -> bool:
    return sent.meta.get(PROTOCOL_VERSION) == MODERN


def _fits(model: type[BaseModel], value: object) -> bool:
    if value is None:
        return True
    try:
        model.model_validate(value, by_name=False)
    except ValidationError:
        return False
    return True
