"""Attacks on workflows: their steps, links, approvals and records."""

from collections.abc import Sequence

from tests.attacks.attack import Attack

WORKFLOW_ATTACKS: Sequence[Attack] = ()
