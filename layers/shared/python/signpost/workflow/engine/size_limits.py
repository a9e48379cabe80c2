"""The limits on the size of an instance: every step reads and writes all of it, and every answer shows it."""

import json
from collections.abc import Mapping

from signpost.workflow.engine.steps import Move
from signpost.workflow.guards import Tally
from signpost.workflow.instance import Instance

LARGEST_INSTANCE_EVIDENCE = 100_000
"""Characters of the kinds and subjects of evidence: every step reads and writes them, in one row."""
LARGEST_CONTEXT = 1_000_000
"""Characters. Every answer shows the context, and an answer has a few megabytes at most."""


def find_size_violation(move: Move, after: Instance) -> str | None:
    """Return a sentence that names the limit that the instance would exceed after the move; None if it is kept."""
    if move.transition and (size := len(json.dumps(after.context))) > LARGEST_CONTEXT:
        return f"The context would have {size} characters; at most {LARGEST_CONTEXT} are kept."
    if move.gathered and (size := _size_of(after.evidence)) > LARGEST_INSTANCE_EVIDENCE:
        return f"The evidence would have {size} characters; at most {LARGEST_INSTANCE_EVIDENCE} are kept."
    return None


def _size_of(evidence: Mapping[str, Tally]) -> int:
    return sum(len(kind) + sum(map(len, tally.subjects)) for kind, tally in evidence.items())
