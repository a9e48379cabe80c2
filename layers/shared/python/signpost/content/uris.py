"""The scheme `iii://`: the index, a skill document at any depth, or the section that a function writes.

A URI is parsed by prefix and segment. A URL library would decode, fold or drop parts of the text, so that the checked
URI and the read URI could differ.
"""

from signpost.content.api.errors import RegistryRefusal, quote_text
from signpost.content.names import RESERVED, problem_with_segment, problem_with_skill_id
from signpost.records import dataclass

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


def parse(uri: str) -> Target | RegistryRefusal:
    if not uri.startswith(SCHEME):
        return _invalid_uri(uri, f"it must begin with {SCHEME}")
    path = uri.removeprefix(SCHEME)
    if not path:
        return _invalid_uri(uri, f"the id after {SCHEME} is empty")
    if uri == INDEX:
        return Index()
    first, *others = segments = path.split("/")
    if not all(segments):
        return _invalid_uri(uri, "it has an empty segment")
    return _parse_section(uri, others) if first == RESERVED else _parse_skill_document(uri, path)


def skill_uri(skill_id: str) -> str:
    return f"{SCHEME}{skill_id}"


def section_uri(function: str) -> str:
    return f"{SCHEME}{RESERVED}/{function.replace('::', '/')}"


def _parse_section(uri: str, segments: list[str]) -> Section | RegistryRefusal:
    if not segments:
        return _invalid_uri(uri, f"after {SCHEME}{RESERVED}/ the function path is missing")
    if problem := next(filter(None, map(problem_with_segment, segments)), None):
        return _invalid_uri(uri, problem)
    return Section("::".join(segments))


def _parse_skill_document(uri: str, path: str) -> SkillDocument | RegistryRefusal:
    problem = problem_with_skill_id(path)
    return (
        SkillDocument(path)
        if problem is None
        else RegistryRefusal("not_found", _not_found_message(path, problem), {"uri": uri})
    )


def _not_found_message(path: str, problem: str) -> str:
    """Write the message for a path that is no skill id. Before 0.2 the last segment of such a path could name a
    function; for a path in that form the message names the new form."""
    section = section_uri(path.rpartition("/")[2])
    legacy = "::" in path and isinstance(parse(section), Section)
    return f"Skill not found: {problem}." + (f" Read the section of this function at {section}." if legacy else "")


def _invalid_uri(uri: str, problem: str) -> RegistryRefusal:
    return RegistryRefusal("invalid_uri", f"{quote_text(uri)} cannot be read: {problem}.", {"uri": uri})
