"""The subjects of the issuer: sample people, each named after their role, and one machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from signpost.workflow.engine.permissions import MAY_CANCEL, MAY_RESOLVE


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    abilities: str
    """The sentence on the page about the things that this person can do."""
    permissions: tuple[str, ...] = ()
    more_roles: tuple[str, ...] = ()
    """The roles besides the one with the subject's name."""
    human: bool = True

    def claims(self) -> dict[str, object]:
        claims: dict[str, object] = {
            "sub": self.name,
            "tenant": "default",
            "roles": [self.name, *self.more_roles],
            "scope": " ".join(self.permissions),
        }
        return claims | {"amr": ["user"]} if self.human else claims


DECISIONS = ("workflow.approve",)
EXAMPLE_ROLES = ("release_manager", "manager", "finance", "editor", "system_owner", "board", "change_manager")
"""The roles that the workflows of examples/ require of approvers; a test compares them with the examples."""
_PEOPLE = (
    Subject(
        "operator",
        "Publishes, loads executors, changes settings, reads the audit, cancels workflows and resolves stopped steps.",
        ("signpost.admin", MAY_RESOLVE, MAY_CANCEL),
    ),
    Subject("author", "Writes skills, prompts and workflows, and tries them out."),
    Subject("approver", "Decides the human steps of a workflow.", DECISIONS, EXAMPLE_ROLES),
    Subject("second-approver", "Gives the second approval where two are needed.", DECISIONS, EXAMPLE_ROLES),
    Subject("reader", "Searches and reads, and does everything that your policies allow every caller."),
)
PEOPLE: Mapping[str, Subject] = MappingProxyType({person.name: person for person in _PEOPLE})
AGENT = Subject("agent", "A client that works without a person.", human=False)
SUBJECTS: Mapping[str, Subject] = MappingProxyType({**PEOPLE, AGENT.name: AGENT})
_PERMISSIONS = dict.fromkeys(permission for person in _PEOPLE for permission in person.permissions)
SCOPES = ("openid", "offline_access", *_PERMISSIONS)
