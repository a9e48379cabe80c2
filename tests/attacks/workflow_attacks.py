"""Attacks on workflows: their steps, links, approvals and records."""

from collections.abc import Sequence

from tests.attacks.attack import Attack
from tests.attacks.workflow_approvals import APPROVAL_ATTACKS
from tests.attacks.workflow_definitions import DEFINITION_ATTACKS
from tests.attacks.workflow_links import LINK_ATTACKS
from tests.attacks.workflow_races import RACE_ATTACKS
from tests.attacks.workflow_records import RECORD_ATTACKS
from tests.attacks.workflow_values import VALUE_ATTACKS

WORKFLOW_ATTACKS: Sequence[Attack] = (
    *RACE_ATTACKS,
    *LINK_ATTACKS,
    *APPROVAL_ATTACKS,
    *DEFINITION_ATTACKS,
    *VALUE_ATTACKS,
    *RECORD_ATTACKS,
)
