"""A publication, and how it comes together from files of many kinds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from signpost.cli.checking import Rules, line
from signpost.cli.definitions import Collected, Definitions, Part
from signpost.model import Json
from signpost.records import dataclass
from signpost.registry.skill_trees import Found
from signpost.workflow.problems import Problem, error
from signpost.workflow.written import Place

SKILLS, PROMPTS, TRIGGERS, WEBHOOKS = "skills", "prompts", "triggers", "webhooks"
LISTS: Mapping[str, str] = {
    PROMPTS: "{name, description, function_id, arguments}",
    TRIGGERS: "{trigger_type, function_id, config}",
    WEBHOOKS: "{trigger_type, url}",
}
"""What is written as a list, and the form of its entries."""


@dataclass(frozen=True, slots=True)
class Publication:
    """What is None is not spoken of, and stays as it is even if the rest is pruned."""

    bodies: Mapping[str, str] | None
    """By id."""
    prompts: Sequence[Json] | None
    triggers: Sequence[Json] | None = None
    webhooks: Sequence[Json] | None = None
    files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    """Of documents that are Agent Skills, by id and path."""
    definitions: Definitions = field(default_factory=dict[Part, Mapping[str, Json]])
    warnings: Sequence[str] = ()
    """What looks wrong, and is published."""

    @property
    def lists(self) -> Mapping[str, Sequence[Json]]:
        """Those that it speaks of."""
        all_of_them = {PROMPTS: self.prompts, TRIGGERS: self.triggers, WEBHOOKS: self.webhooks}
        return {name: entries for name, entries in all_of_them.items() if entries is not None}


@dataclass(slots=True)
class Collection:
    """What files say, and everything that is wrong with them, to say it at once."""

    rules: Rules
    bodies: dict[str, str] = field(default_factory=dict[str, str])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """Where each document comes from."""
    files: dict[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    has_skills: bool = False
    """Whether it speaks of documents, if only to say that there are none."""
    lists: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    defined: Collected = field(default_factory=Collected)
    warnings: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])

    @property
    def publication(self) -> Publication:
        return Publication(
            bodies=self.bodies if self.has_skills else None,
            prompts=self.lists.get(PROMPTS),
            triggers=self.lists.get(TRIGGERS),
            webhooks=self.lists.get(WEBHOOKS),
            files=self.files,
            definitions=self.defined.definitions,
            warnings=tuple(self.warnings),
        )

    def take(self, found: Found) -> None:
        self.has_skills = True
        for skill in found.skills:
            self.bodies[skill.id] = skill.body
            self.sources[skill.id] = skill.place
            if skill.files:
                self.files[skill.id] = skill.files
        self.problems += found.problems

    def add(self, skill_id: str, body: str, source: str) -> None:
        if self.bodies.setdefault(skill_id, body) != body or skill_id in self.files:
            self.problems.append(f"{source}: {self.sources[skill_id]} is the document {skill_id!r} already")
        self.sources.setdefault(skill_id, source)

    def add_list(self, name: str, value: Json, source: str) -> None:
        """What two manifests say alike, because both include it, is one."""
        if isinstance(value, list):
            there = self.lists.get(name, [])
            self.lists[name] = [*there, *(entry for entry in value if entry not in there)]
        else:
            self.problems.append(f"{source}: this must be a list of {LISTS[name]}.")

    def refuse(self, place: Place, message: str) -> None:
        self.problems.append(line(error(place, message)))

    def judge(self, found: Iterable[Problem]) -> bool:
        """Whether nothing of it is refused."""
        before = len(self.problems)
        for problem in found:
            (self.problems if self.rules.refuse(problem) else self.warnings).append(line(problem))
        return len(self.problems) == before
