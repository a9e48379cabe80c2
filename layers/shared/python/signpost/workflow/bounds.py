"""How much an instance may hold: all of it is read and written with every step, and shown with every answer."""

import json
from collections.abc import Mapping

from signpost.workflow.guards import Tally
from signpost.workflow.instance import Instance
from signpost.workflow.steps import Move

LARGEST_PROOF = 100_000
"""Characters of the kinds of evidence and who gave it: every step reads and writes them, in one row."""
LARGEST_CONTEXT = 1_000_000
"""Characters. Every answer shows it, and an answer has a few megabytes at most."""


def too_much(move: Move, after: Instance) -> str | None:
    """A sentence on what the move would leave that is not kept."""
    if move.transition and (size := len(json.dumps(after.context))) > LARGEST_CONTEXT:
        return f"The context would have {size} characters, and {LARGEST_CONTEXT} are the most that are kept."
    if move.gathered and (size := _size_of(after.evidence)) > LARGEST_PROOF:
        return f"What is proven would have {size} characters, and {LARGEST_PROOF} are the most that are kept."
    return None


def _size_of(evidence: Mapping[str, Tally]) -> int:
    return sum(len(kind) + sum(map(len, tally.subjects)) for kind, tally in evidence.items())
