"""All attacks, in the order of their ids."""

from collections.abc import Sequence

from tests.attacks.access_attacks import ACCESS_ATTACKS
from tests.attacks.attack import Attack
from tests.attacks.audit_changes import AUDIT_ATTACKS
from tests.attacks.breaker_attacks import BREAKER_ATTACKS
from tests.attacks.client_questions import CLIENT_QUESTION_ATTACKS
from tests.attacks.look_alikes import LOOK_ALIKE_ATTACKS
from tests.attacks.outgoing_requests import OUTGOING_REQUEST_ATTACKS
from tests.attacks.protocol_attacks import PROTOCOL_ATTACKS
from tests.attacks.tool_changes import TOOL_CHANGE_ATTACKS
from tests.attacks.tool_descriptions import TOOL_DESCRIPTION_ATTACKS
from tests.attacks.tool_values import TOOL_VALUE_ATTACKS
from tests.attacks.workflow_attacks import WORKFLOW_ATTACKS


def sort_key(attack: Attack) -> tuple[str, Sequence[int]]:
    """Return the letter of an id and its numbers, so that A10.1 follows A9.8."""
    return attack.id[0], [int(number) for number in attack.id[1:].split(".")]


ATTACKS: Sequence[Attack] = sorted(
    (
        *ACCESS_ATTACKS,
        *AUDIT_ATTACKS,
        *BREAKER_ATTACKS,
        *CLIENT_QUESTION_ATTACKS,
        *LOOK_ALIKE_ATTACKS,
        *PROTOCOL_ATTACKS,
        *OUTGOING_REQUEST_ATTACKS,
        *TOOL_CHANGE_ATTACKS,
        *TOOL_DESCRIPTION_ATTACKS,
        *TOOL_VALUE_ATTACKS,
        *WORKFLOW_ATTACKS,
    ),
    key=sort_key,
)
