"""Errors and their stable codes: JSON-RPC, registry functions, loads and workflows.

A refusal is a value; each surface maps the codes to its wire form in one table. Codes that have a row of their own are
in that table: failures of calls in `calling/failures.py`, failures of web requests in `web.py`.
"""

from typing import Literal

from signpost.model import Json
from signpost.records import dataclass

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
CAPABILITY_MISSING = -32021
VERSION_UNSUPPORTED = -32022
RESOURCE_NOT_FOUND_LEGACY = -32002
"""The code of a missing resource for clients of older revisions."""

type RegistryCode = Literal[
    "unknown_function",  # the registry has no function of this id
    "invalid_payload",  # a field is missing or has the wrong type
    "invalid_id",
    "invalid_name",
    "invalid_content",  # the entry to be registered is not valid
    "invalid_uri",
    "internal_namespace",
    "not_found",
    "too_much",  # more than one answer can hold
    "function_failed",  # the function behind a section or a prompt
    "unsupported_shape",  # the answer of that function has no supported shape
    "unauthorized",  # the credential is not accepted
    "forbidden",  # the credential is accepted but lacks the permission
    "unavailable",  # now; the same request may succeed later
    "fault",  # an internal error of the registry
]
"""The codes of registry functions."""
type PlacementCode = Literal[
    "not_allowed",  # the allow list of the deployment does not name it
    "no_executor",  # there is no such Lambda function, or it is not set up as an executor
    "not_reached",  # it did not answer the request for its manifest
    "invalid_manifest",  # its manifest is malformed, or describes functions that cannot be called or listed
    "invalid_namespace",  # one of its functions has an id that is reserved for the registry
    "invalid_secret",  # the secret for its keys cannot be written
    "name_conflicts_with_core",  # the deployment ships a function of this id or name
    "name_taken",  # another executor of the tenant has this id or name
    "too_large",  # the change does not fit into one transaction
    "no_version",  # it reports no version that could be compared with the loaded one
    "same_version",
    "lower_version",
    "contract_changed",  # its functions changed, and its version did not rise
    "has_warnings",  # a strict load of an executor whose functions have warnings
    "not_found",
    "cannot_unload_core",
]
"""The codes of placements and loads of executors, which registry functions answer too."""
type RegistryRefusalCode = RegistryCode | PlacementCode

type WarningCode = Literal[
    "invisible_character",  # clients read it, and people do not see it
    "bidirectional_control",  # it shows a text in another order than clients read it
    "tag_character",  # one of the invisible characters that can spell a text
    "control_character",
    "hidden_comment",  # a comment in markdown, outside of code
    "hidden_element",  # an element of HTML in markdown that no page shows
    "mixed_scripts",  # a letter in a name looks like a letter of another script
    "look_alike_name",  # a name looks like another one
    "literal_secret",  # a setting has a secret in clear
    "slow_pattern",  # a pattern repeats a repetition, or may split a text between two repetitions in many ways
    "order_to_model",  # visible text gives orders to a model over its instructions
    "unchecked_arguments",  # a transition without inputSchema hands on or reads arguments that nothing has checked
    "idle_kind",  # nothing in the deployment runs executors of this kind
    "unhosted_function",  # no executor hosts the function that an entry names
    "dead_link",  # a link of a document leads to no document and no section
    "rule_about_nothing",  # a rule names an item that does not exist
    "denied_function",  # a rule denies a function, and not the capability that calls it
    "shadowed_skill",  # a capability has the name of a callable skill, which it hides
    "unread_setting",  # nothing reads a setting or a file
    "impossible_value",  # an expression in a mapping is always null
]
"""The codes of warnings about a publication, which a strict publication refuses."""

type StepRefusalCode = Literal[
    "STALE_WORKFLOW_VERSION",
    "INVALID_TRANSITION",
    "ACTOR_MISMATCH",
    "INPUT_SCHEMA_VIOLATION",
    "GUARD_REJECTED",
    "EXECUTOR_FAILED",
    "CHAIN_FAILED",
    "IN_DOUBT",
]
"""The codes of refusals that an instance answers with its state and its links."""
type WorkflowRefusalCode = Literal["NOT_FOUND", "INPUT_SCHEMA_VIOLATION", "EXECUTOR_FAILED", "ALREADY_STARTED"]
"""The codes of refusals without an instance to show."""
type GatewayToolCode = StepRefusalCode | WorkflowRefusalCode
"""The codes of errors that the gateway tools answer."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A JSON-RPC error for a request that was not carried out."""

    code: int
    message: str
    data: Json = None


class Unavailable(Exception):  # noqa: N818 - named after a state, as HTTP status 503 is
    """A dependency cannot be reached now; the same request may succeed later."""


class PermanentlyUnavailable(Exception):  # noqa: N818 - named after a state, as above
    """A dependency does not exist or is withheld from this stack; the same request will fail again."""


class DeadlinePassed(BaseException):
    """The deadline of the answer has passed. A BaseException, so that no handler of ordinary exceptions catches it."""
