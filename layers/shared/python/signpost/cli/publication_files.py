"""What is to be published, as it lies in files: a folder, or a manifest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from signpost.adapters.skill_folder import SUFFIX, files_in, text_of
from signpost.cli.documents import SUFFIXES, parsed
from signpost.cli.failure import CommandFailed
from signpost.model import Json, JsonObject
from signpost.registry.manifest import Manifest, Problem, read

SKILLS, PROMPTS = "skills", "prompts"


@dataclass(frozen=True, slots=True)
class Publication:
    """What is None is not spoken of, and stays as it is even if the rest is pruned."""

    bodies: Mapping[str, str] | None
    """By id."""
    prompts: Sequence[Json] | None


@dataclass(slots=True)
class _Files:
    """Collects what is wrong with them, to say all of it at once."""

    bodies: dict[str, str] = field(default_factory=dict[str, str])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """Where each document comes from."""
    problems: list[str] = field(default_factory=list[str])

    def add(self, skill_id: str, path: Path) -> None:
        if skill_id in self.sources:
            self.problems.append(f"{path}: {self.sources[skill_id]} is the document {skill_id!r} already")
            return
        try:
            self.bodies[skill_id] = text_of(path)
        except OSError as fault:
            self.problems.append(f"{path}: cannot be read ({fault.strerror})")
        except UnicodeDecodeError as fault:
            self.problems.append(f"{path}: is no UTF-8 text (byte {fault.start})")
        self.sources[skill_id] = str(path)


def publication_at(path: Path) -> Publication:
    """Raises CommandFailed with everything that is wrong, before anybody is asked."""
    files = _Files()
    publication = _of_folder(path, files) if path.is_dir() else _of_manifest(path, files)
    problems = files.problems + list(_problems(publication, files.sources))
    if problems:
        listed = "\n".join(f"  {problem.rstrip('.')}" for problem in problems)
        raise CommandFailed(f"Nothing was published. {len(problems)} to be put right:\n{listed}")
    return publication


def _of_folder(folder: Path, files: _Files) -> Publication:
    skills = folder / SKILLS
    listed = [candidate for suffix in SUFFIXES if (candidate := folder / f"{PROMPTS}{suffix}").is_file()]
    if not skills.is_dir() and not listed:
        raise CommandFailed(f"{folder} has neither a folder {SKILLS} nor a file {PROMPTS}.yaml or {PROMPTS}.json.")
    if len(listed) > 1:
        raise CommandFailed(f"{' and '.join(map(str, listed))}: keep one of them.")
    if skills.is_dir():
        for skill_id, path in files_in(skills):
            files.add(skill_id, path)
    return Publication(
        bodies=files.bodies if skills.is_dir() else None,
        prompts=_list(parsed(listed[0]), str(listed[0])) if listed else None,
    )


def _of_manifest(path: Path, files: _Files) -> Publication:
    document = parsed(path)
    if not isinstance(document, Mapping):
        raise CommandFailed(f"{path}: a manifest is a mapping with {SKILLS} and {PROMPTS}.")
    fields = cast("Mapping[Any, Any]", document)
    files.problems += [f"{path}: there is no field {name!r}" for name in fields if name not in (SKILLS, PROMPTS)]
    skills, prompts = fields.get(SKILLS), fields.get(PROMPTS)
    if SKILLS in fields:
        _add_all(skills, path, files)
    return Publication(
        bodies=files.bodies if SKILLS in fields else None,
        prompts=_list(prompts, f"{path}: {PROMPTS}") if PROMPTS in fields else None,
    )


def _add_all(skills: Any, manifest: Path, files: _Files) -> None:
    if not isinstance(skills, Mapping):
        raise CommandFailed(f"{manifest}: {SKILLS} are a mapping of ids to texts or to paths that end in {SUFFIX}.")
    for skill_id, value in cast("Mapping[Any, Any]", skills).items():
        if not isinstance(skill_id, str) or not isinstance(value, str):
            files.problems.append(f"{manifest}: {skill_id!r}: id and value must be texts; put them into quotes")
        elif _is_path(value):
            _add_file(skill_id, value, manifest, files)
        else:
            files.bodies[skill_id] = value
            files.sources[skill_id] = str(manifest)


def _is_path(value: str) -> bool:
    """A single line that ends like a file; anything else is the text itself."""
    return value.endswith(SUFFIX) and "\n" not in value


def _add_file(skill_id: str, value: str, manifest: Path, files: _Files) -> None:
    """Only from the folder of the manifest: whoever wrote it may be somebody else than who publishes it."""
    folder = manifest.resolve().parent
    path = folder / value
    if path.resolve().is_relative_to(folder):
        files.add(skill_id, path)
    else:
        files.problems.append(f"{manifest}: {skill_id!r}: {value} lies outside of the manifest's folder")


def _list(value: Any, place: str) -> Sequence[Json]:
    if isinstance(value, list):
        return cast("list[Json]", value)
    raise CommandFailed(f"{place}: this must be a list of {{name, description, function_id, arguments}}.")


def _problems(publication: Publication, sources: Mapping[str, str]) -> Iterable[str]:
    """By the registry's own rules; it will ask them again."""
    for skill_id, body in (publication.bodies or {}).items():
        entry: JsonObject = {"id": skill_id, "skill": body}
        for problem in _found(read({SKILLS: [entry]})):
            yield f"{sources[skill_id]} ({skill_id}): {problem.message}"
    if publication.prompts is not None:
        for problem in _found(read({PROMPTS: list(publication.prompts)})):
            yield f"prompt {problem.id}: {problem.message}"


def _found(answer: Manifest | Sequence[Problem]) -> Sequence[Problem]:
    return () if isinstance(answer, Manifest) else answer
