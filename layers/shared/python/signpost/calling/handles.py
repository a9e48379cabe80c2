"""Handles: values that functions keep between calls, under an id that their callers pass on.

A handle belongs to one principal, and to the functions of one namespace on one executor. For everybody else there is no
such handle.
"""

import re

from signpost.calling.breaker import digest_of
from signpost.calling.components import COMPLETE_SUFFIX, ENUMERATE_SUFFIX
from signpost.calling.text_digests import digest_of_texts
from signpost.records import dataclass
from signpost.signing.capability_tokens import CapabilityGrant

CREATE, READ, WRITE, DELETE, LIST = (f"handles.{name}" for name in ("create", "read", "write", "delete", "list"))
"""The context operations of handles."""
LARGEST_VALUE = 100_000
"""Characters of JSON of the value of a handle, which is kept in one row."""
SHORTEST_SECONDS, LONGEST_SECONDS = 1.0, 90 * 86_400.0
"""Bounds of the time for which a handle is kept."""
MOST_LISTED = 100
"""Handles in a list."""
HANDLE_KIND = re.compile(r"[a-z][a-z0-9-]{0,31}")
HANDLE_ID = re.compile(rf"({HANDLE_KIND.pattern})_[a-z2-7]{{26}}")
"""A kind, and 128 random bits in base32."""
EXTENDED_AFTER = 0.1
"""Part of its time after which the use of a sliding handle extends it, so that not every use is a write."""


@dataclass(frozen=True, slots=True)
class HandleOwner:
    """The principal that a handle belongs to, and the functions that may use it."""

    tenant: str
    principal: str
    scope: str


@dataclass(frozen=True, slots=True)
class StoredHandle:
    id: str
    version: int
    text: str
    """The value as JSON text."""
    schema: int
    """The version of the form of the value, which its author counts."""
    seconds: float
    """The seconds for which it is kept."""
    is_sliding: bool
    """Whether each use begins this time anew."""
    expires_at: float
    write: str
    """The text by which its writer recognises it after a lost answer."""


@dataclass(frozen=True, slots=True)
class ListedHandle:
    """An entry of a list of handles."""

    id: str
    version: int
    expires_at: float


def owner_of(grant: CapabilityGrant) -> HandleOwner:
    """Return the owner of the handles that a call may use. The functions of one toolkit share them; another executor
    that hosts a function of the same namespace cannot reach them."""
    function = grant.function.removesuffix(COMPLETE_SUFFIX).removesuffix(ENUMERATE_SUFFIX)
    namespace = function.rpartition("::")[0]
    return HandleOwner(grant.tenant, digest_of(grant.principal), digest_of_texts(grant.executor, namespace))


def is_live(handle: StoredHandle | None, now: float) -> bool:
    """Tell whether a handle exists at this time. The table deletes expired rows late."""
    return handle is not None and handle.expires_at > now


def find_extension(handle: StoredHandle, now: float) -> float | None:
    """Return the new expiry of a sliding handle that is used now; None if it stays."""
    expires_at = now + handle.seconds
    is_due = handle.is_sliding and expires_at - handle.expires_at >= handle.seconds * EXTENDED_AFTER
    return expires_at if is_due else None
