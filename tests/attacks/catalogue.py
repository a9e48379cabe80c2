"""All attacks, in the order of their ids."""

from collections.abc import Sequence

from tests.attacks.attack import Attack
from tests.attacks.outgoing_requests import OUTGOING_REQUEST_ATTACKS
from tests.attacks.workflow_attacks import WORKFLOW_ATTACKS


def sort_key(attack: Attack) -> tuple[str, Sequence[int]]:
    """Return the letter of an id and its numbers, so that A10.1 follows A9.8."""
    return attack.id[0], [int(number) for number in attack.id[1:].split(".")]


ATTACKS: Sequence[Attack] = sorted((*OUTGOING_REQUEST_ATTACKS, *WORKFLOW_ATTACKS), key=sort_key)
