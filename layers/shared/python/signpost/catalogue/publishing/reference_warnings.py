"""Warns of entries that can never work as they are published: of functions that no executor hosts, kinds of executors
that nothing runs, links that lead nowhere, rules about nothing, and capabilities in front of denied functions. Warns of
capabilities that hide callable skills, too."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from signpost.calling.lookup import FunctionList, FunctionLists
from signpost.calling.skill_names import index_by_skill_name
from signpost.catalogue.exposure import is_tool
from signpost.catalogue.publishing.publish_warnings import named_bodies
from signpost.catalogue.publishing.references import BodyReferences, Reference
from signpost.catalogue.publishing.request import PublishRequest
from signpost.content import uris
from signpost.content.documents import FETCH_FUNCTION, target_of
from signpost.content.uris import Section, SkillDocument
from signpost.errors import WarningCode
from signpost.hazards.model import EntryKind, PublicationWarning
from signpost.model import Json, as_object
from signpost.records import dataclass
from signpost.spelling import suggest_name
from signpost.workflow.authoring.problems import suggestion_for
from signpost.workflow.executor_kinds import ExecutorKinds

if TYPE_CHECKING:
    from signpost.catalogue.publishing.rule_warnings import RuleContext

type KindsOfDeployment = Callable[[], ExecutorKinds]
"""Returns the kinds of executors of the deployment. They are read at their first use."""


@dataclass(frozen=True, slots=True)
class PublishedNames:
    """The references of a publication, and the documents and rules with which they are judged."""

    references: BodyReferences
    documents: Collection[str]
    """The ids of all documents that readers find after the publication."""
    rules: "RuleContext | None" = None
    """The rules after the publication; None if it changes neither rules nor capabilities, or if there are none."""


class ReferenceJudge:
    """Finds the references that lead nowhere, for a deployment and a tenant."""

    def __init__(self, *, functions: FunctionLists, kinds: KindsOfDeployment) -> None:
        self._functions = functions
        self._kinds = kinds

    def find_warnings(
        self, request: PublishRequest, names: PublishedNames, tenant: str
    ) -> Iterator[PublicationWarning]:
        """Read the functions of the tenant if the publication names any. An executor that was deployed before the
        publication is found."""
        for name, connection in (request.catalogue.connections or {}).items():
            yield from self._check_connection(name, as_object(connection).get("kind"))
        references = [(key, names.references[key]) for key in named_bodies(request) if key in names.references]
        if not references and not request.prompts and not request.triggers and names.rules is None:
            return
        hosted = self._functions.of(tenant, fresh=True)
        checker = _ReferenceChecker(hosted, names.documents, self._kinds, functions_follow=request.functions_follow)
        for (kind, name, _), listed in references:
            yield from checker.check_body(kind, name, listed)
        for prompt in request.prompts or ():
            yield from checker.check("prompt", prompt.name, Reference("function", prompt.function.strip()))
        for function in [trigger.target for trigger in request.triggers or () if trigger.kind == "trigger"]:
            yield from checker.check("trigger", function, Reference("function", function))
        if names.rules is not None:
            from signpost.catalogue.publishing.rule_warnings import find_rule_warnings  # noqa: PLC0415 - few have rules

            yield from find_rule_warnings(names.rules, hosted, functions_follow=request.functions_follow)

    def hosts_similar(self, function: str, tenant: str) -> bool:
        """Whether an executor hosts a function with a similar name, so that this one is probably mistyped."""
        hosted = [one.function for one in self._functions.of(tenant, fresh=True).functions]
        return suggest_name(function, hosted) is not None

    def _check_connection(self, name: str, kind: Json) -> Iterator[PublicationWarning]:
        kinds = self._kinds()
        if isinstance(kind, str) and kinds.is_idle(kind):
            yield PublicationWarning("idle_kind", "connection", name, kinds.describe_idle_connection(kind))


class _ReferenceChecker:
    def __init__(
        self, hosted: FunctionList, documents: Collection[str], kinds: KindsOfDeployment, *, functions_follow: bool
    ) -> None:
        self._functions_follow = functions_follow
        self._by_id = {function.function: function for function in hosted.functions}
        self._by_skill_name = index_by_skill_name(hosted)
        self._settings = hosted.settings
        self._documents = documents
        self._kinds = kinds

    def check_body(self, kind: EntryKind, name: str, references: Sequence[Reference]) -> Iterator[PublicationWarning]:
        for reference in references:
            yield from self.check(kind, name, reference)
        if kind == "capability":
            yield from self._check_name(name, references)

    def check(self, kind: EntryKind, name: str, reference: Reference) -> Iterator[PublicationWarning]:
        code, problem = self._find_problem(reference)
        if problem is not None:
            message = f"{reference.place}: {problem}" if reference.place else problem
            yield PublicationWarning(code, kind, name, message, reference.line)

    def _check_name(self, capability: str, references: Sequence[Reference]) -> Iterator[PublicationWarning]:
        """Check that the capability does not take the name of a callable skill. One that calls the function of that
        skill stands for it, and hides nothing."""
        skill = self._by_skill_name.get(capability)
        if skill is None or not is_tool(skill, self._settings):
            return
        if not any(reference.kind == "function" and reference.name == skill.function for reference in references):
            yield PublicationWarning("shadowed_skill", "capability", capability, _describe_shadow(skill.function))

    def _find_problem(self, reference: Reference) -> tuple[WarningCode, str | None]:
        match reference.kind:
            case "function":
                return "unhosted_function", self._find_problem_with_function(reference.name)
            case "executor":
                return "idle_kind", self._find_problem_with_kind(reference.name)
            case "link":
                return "dead_link", self._find_problem_with_link(reference.name)

    def _find_problem_with_function(self, function: str) -> str | None:
        if function in self._by_id or self._functions_follow:
            return None
        hint = suggestion_for(function, sorted(self._by_id))
        return f"no executor hosts the function {function!r}, so calls of it fail until one does{hint}"

    def _find_problem_with_kind(self, kind: str) -> str | None:
        kinds = self._kinds()
        return kinds.describe_idle(kind) if kinds.is_idle(kind) else None

    def _find_problem_with_link(self, link: str) -> str | None:
        target = target_of(link)
        if isinstance(target, SkillDocument):
            return None if target.id in self._documents else _missing_document(link, target.id, self._documents)
        if isinstance(target, Section):
            return self._find_problem_with_section(link, target.function)
        return None if isinstance(target, uris.Index) else f"{link} leads nowhere: {target.message}"

    def _find_problem_with_section(self, link: str, function: str) -> str | None:
        if function == FETCH_FUNCTION:
            return None
        hosted = self._by_id.get(function)
        if hosted is None and self._functions_follow:
            return None
        if hosted is None:
            hint = suggestion_for(function, sorted(self._by_id))
            return f"{link} leads nowhere: no executor hosts the function {function!r}{hint}"
        return None if hosted.readable else f"{link} leads nowhere: the function {function!r} is not declared readable"


def _describe_shadow(function: str) -> str:
    return (
        f"it hides the callable skill of this name, which is the function {function!r}: at /mcp clients find and start "
        "the capability only. Rename one of them"
    )


def _missing_document(link: str, skill_id: str, documents: Collection[str]) -> str:
    return f"{link} leads nowhere: there is no such document{suggestion_for(skill_id, sorted(documents))}"
