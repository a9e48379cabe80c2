"""A publication, and the builder that collects it from files of many kinds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from signpost.cli.publish.checking import CheckRules, format_problem
from signpost.cli.publish.definitions import DefinitionCollector, DefinitionPart, DefinitionsByPart
from signpost.cli.terminal import make_printable
from signpost.content.agent_skills.folders import FoundFolders
from signpost.hazards.model import PublicationWarning
from signpost.model import Json
from signpost.records import dataclass
from signpost.workflow.authoring.problems import Problem, error
from signpost.workflow.authoring.source_tree import SourcePlace

SKILLS, PROMPTS, TRIGGERS, WEBHOOKS = "skills", "prompts", "triggers", "webhooks"
LISTS: Mapping[str, str] = {
    PROMPTS: "{name, description, function_id, arguments}",
    TRIGGERS: "{trigger_type, function_id or workflow, config, metadata, timeout_ms}",
    WEBHOOKS: "{trigger_type, url}",
}
"""The fields and files that hold a list, each with the form of its entries."""


@dataclass(frozen=True, slots=True)
class CollectedPublication:
    """Documents, prompts, definitions and subscriptions read from files, ready to be sent.

    A part that is None is not in the files. It stays as it is in the registry, also if the publication is pruned."""

    bodies: Mapping[str, str] | None
    """The texts of documents, by id."""
    prompts: Sequence[Json] | None
    triggers: Sequence[Json] | None = None
    webhooks: Sequence[Json] | None = None
    files: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    """The files of documents that are Agent Skills, by id and path."""
    definitions: DefinitionsByPart = field(default_factory=dict[DefinitionPart, Mapping[str, Json]])
    warnings: Sequence[str] = ()
    """Problems that do not keep the publication from being published."""
    strict: bool = False
    """Whether the registry refuses the publication for its warnings."""

    @property
    def lists(self) -> Mapping[str, Sequence[Json]]:
        """Return the lists that are not None."""
        by_name = {PROMPTS: self.prompts, TRIGGERS: self.triggers, WEBHOOKS: self.webhooks}
        return {name: entries for name, entries in by_name.items() if entries is not None}


@dataclass(slots=True)
class PublicationBuilder:
    """Collects the contents of files and all of their problems, so that all problems are reported at once."""

    rules: CheckRules
    bodies: dict[str, str] = field(default_factory=dict[str, str])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The file or place from which each document comes, by id."""
    files: dict[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    has_skills: bool = False
    """Whether the files have a part for documents, which may be empty."""
    lists: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    definitions: DefinitionCollector = field(default_factory=DefinitionCollector)
    warnings: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])

    @property
    def publication(self) -> CollectedPublication:
        return CollectedPublication(
            bodies=self.bodies if self.has_skills else None,
            prompts=self.lists.get(PROMPTS),
            triggers=self.lists.get(TRIGGERS),
            webhooks=self.lists.get(WEBHOOKS),
            files=self.files,
            definitions=self.definitions.definitions,
            warnings=tuple(self.warnings),
            strict=self.rules.strict,
        )

    def add_skills(self, found: FoundFolders) -> None:
        self.has_skills = True
        for skill in found.skills:
            self.bodies[skill.id] = skill.body
            self.sources[skill.id] = skill.place
            if skill.files:
                self.files[skill.id] = skill.files
        self.problems += found.problems

    def add_document(self, skill_id: str, body: str, source: str) -> None:
        if self.bodies.setdefault(skill_id, body) != body or skill_id in self.files:
            other = self.sources[skill_id]
            self.problems.append(f"{source}: {other} also defines the document {skill_id!r}: keep one of them")
        self.sources.setdefault(skill_id, source)

    def add_list(self, name: str, value: Json, source: str) -> None:
        """Add the entries of a list. Equal entries are added once: two manifests may include the same file."""
        if isinstance(value, list):
            entries = self.lists.get(name, [])
            self.lists[name] = [*entries, *(entry for entry in value if entry not in entries)]
        else:
            self.problems.append(f"{source}: this must be a list of {LISTS[name]}.")

    def add_problem_at(self, place: SourcePlace, message: str) -> None:
        self.problems.append(format_problem(error(place, message)))

    def add_warning(self, source: str, warning: PublicationWarning) -> None:
        """Add a warning about the content of a source; in a strict publication it is a problem."""
        place = f"{source}:{warning.line}" if warning.line else source
        text = make_printable(f"{place}: warning: {warning.message} [{warning.code}]")
        (self.problems if self.rules.strict else self.warnings).append(text)

    def add_problems(self, found: Iterable[Problem]) -> bool:
        """Add errors and warnings. Returns whether none of them is refused."""
        count_before = len(self.problems)
        for problem in found:
            (self.problems if self.rules.is_refused(problem) else self.warnings).append(format_problem(problem))
        return len(self.problems) == count_before
