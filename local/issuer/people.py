"""Who exists on a laptop: four people, one for each role, and one machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    may: str
    permissions: tuple[str, ...] = ()
    human: bool = True

    def claims(self) -> dict[str, object]:
        claims: dict[str, object] = {
            "sub": self.name,
            "tenant": "default",
            "roles": [self.name],
            "scope": " ".join(self.permissions),
        }
        return claims | {"amr": ["user"]} if self.human else claims


_PEOPLE = (
    Subject("operator", "Publishes, loads executors, changes settings and reads the audit.", ("signpost.admin",)),
    Subject("author", "Writes skills, prompts and workflows, and tries them out."),
    Subject("approver", "Decides the human steps of a workflow.", ("workflow.approve",)),
    Subject("reader", "Searches and reads, and does what your policies leave to everyone."),
)
PEOPLE: Mapping[str, Subject] = MappingProxyType({person.name: person for person in _PEOPLE})
AGENT = Subject("agent", "A program that works without a person.", human=False)
SUBJECTS: Mapping[str, Subject] = MappingProxyType({**PEOPLE, AGENT.name: AGENT})
SCOPES = ("openid", "offline_access", *(scope for person in _PEOPLE for scope in person.permissions))
