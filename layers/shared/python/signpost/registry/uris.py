"""The scheme `iii://`: the index, a skill document at any depth, or the section that a function writes.

Parsed by prefix and segment. A URL library would decode, fold or drop parts of the text, so that what is guarded and
what is read could be two things.
"""

from signpost.records import dataclass
from signpost.registry.names import RESERVED, problem_with_segment, problem_with_skill_id
from signpost.registry.refusals import Refused, quoted

SCHEME = "iii://"
INDEX = f"{SCHEME}skills"


@dataclass(frozen=True, slots=True)
class Index:
    pass


@dataclass(frozen=True, slots=True)
class SkillDocument:
    id: str


@dataclass(frozen=True, slots=True)
class Section:
    function: str


type Target = Index | SkillDocument | Section


def parse(uri: str) -> Target | Refused:
    if not uri.startswith(SCHEME):
        return _refused(uri, f"it must begin with {SCHEME}")
    path = uri.removeprefix(SCHEME)
    if not path:
        return _refused(uri, f"the id after {SCHEME} is empty")
    if uri == INDEX:
        return Index()
    first, *others = segments = path.split("/")
    if not all(segments):
        return _refused(uri, "it has an empty segment")
    return _section(uri, others) if first == RESERVED else _skill_document(uri, path)


def of_skill(skill_id: str) -> str:
    return f"{SCHEME}{skill_id}"


def of_section(function: str) -> str:
    return f"{SCHEME}{RESERVED}/{function.replace('::', '/')}"


def _section(uri: str, segments: list[str]) -> Section | Refused:
    if not segments:
        return _refused(uri, f"after {SCHEME}{RESERVED}/ the function path is missing")
    if found := next(filter(None, map(problem_with_segment, segments)), None):
        return _refused(uri, found)
    return Section("::".join(segments))


def _skill_document(uri: str, path: str) -> SkillDocument | Refused:
    problem = problem_with_skill_id(path)
    return SkillDocument(path) if problem is None else Refused("not_found", _never_found(path, problem), {"uri": uri})


def _never_found(path: str, problem: str) -> str:
    """Before 0.2 the last segment of such a path could name a function; who still writes it so is told the new form."""
    section = of_section(path.rpartition("/")[2])
    legacy = "::" in path and isinstance(parse(section), Section)
    return f"Skill not found: {problem}." + (f" The section of a function is read as {section}." if legacy else "")


def _refused(uri: str, problem: str) -> Refused:
    return Refused("invalid_uri", f"{quoted(uri)} cannot be read: {problem}.", {"uri": uri})
