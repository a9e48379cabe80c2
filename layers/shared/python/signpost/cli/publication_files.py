"""What is to be published, as it lies in files: a folder, or a manifest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from signpost.adapters.skill_folder import ARCHIVES, SUFFIX, skills_in, text_of
from signpost.cli.documents import SUFFIXES, parsed
from signpost.cli.failure import CommandFailed
from signpost.model import Json, JsonObject
from signpost.registry.manifest import Manifest, Problem, read
from signpost.registry.sent_files import NamedFile, overlaps
from signpost.registry.skill_files import SKILL_FILE
from signpost.registry.skill_trees import Found

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

    @property
    def lists(self) -> Mapping[str, Sequence[Json]]:
        """Those that it speaks of."""
        all_of_them = {PROMPTS: self.prompts, TRIGGERS: self.triggers, WEBHOOKS: self.webhooks}
        return {name: entries for name, entries in all_of_them.items() if entries is not None}


@dataclass(slots=True)
class _Files:
    """Collects what is wrong with them, to say all of it at once."""

    bodies: dict[str, str] = field(default_factory=dict[str, str])
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """Where each document comes from."""
    files: dict[str, Mapping[str, bytes]] = field(default_factory=dict[str, Mapping[str, bytes]])
    problems: list[str] = field(default_factory=list[str])

    def take(self, found: Found) -> None:
        for skill in found.skills:
            self.bodies[skill.id] = skill.body
            self.sources[skill.id] = skill.place
            if skill.files:
                self.files[skill.id] = skill.files
        self.problems += found.problems

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
    publication = _publication(path, files)
    problems = files.problems + list(_problems(publication, files.sources))
    if problems:
        listed = "\n".join(f"  {problem.rstrip('.')}" for problem in problems)
        raise CommandFailed(f"Nothing was published. {len(problems)} to be put right:\n{listed}")
    return publication


def _publication(path: Path, files: _Files) -> Publication:
    if path.is_file() and path.name.endswith(ARCHIVES):
        # What unpacks takes a while to import, which `signpost --help` should not pay.
        from signpost.adapters.skill_archive import skills_in_archive  # noqa: PLC0415

        files.take(skills_in_archive(path))
    elif (path / SKILL_FILE).is_file():
        files.take(skills_in(path, path.resolve().name))
    else:
        return _of_folder(path, files) if path.is_dir() else _of_manifest(path, files)
    return Publication(files.bodies, None, files=files.files)


def _of_folder(folder: Path, files: _Files) -> Publication:
    skills = folder / SKILLS
    listed = {name: found for name in LISTS if (found := _list_in(folder, name)) is not None}
    if not skills.is_dir() and not listed:
        names = ", ".join(LISTS)
        raise CommandFailed(
            f"{folder} has neither a folder {SKILLS} nor a {SKILL_FILE} nor a file of {names} (.yaml or .json)."
        )
    if skills.is_dir():
        files.take(skills_in(skills))
    return Publication(
        bodies=files.bodies if skills.is_dir() else None,
        prompts=listed.get(PROMPTS),
        triggers=listed.get(TRIGGERS),
        webhooks=listed.get(WEBHOOKS),
        files=files.files,
    )


def _list_in(folder: Path, name: str) -> Sequence[Json] | None:
    found = [candidate for suffix in SUFFIXES if (candidate := folder / f"{name}{suffix}").is_file()]
    if len(found) > 1:
        raise CommandFailed(f"{' and '.join(map(str, found))}: keep one of them.")
    return _list(parsed(found[0]), str(found[0]), name) if found else None


def _of_manifest(path: Path, files: _Files) -> Publication:
    document = parsed(path)
    if not isinstance(document, Mapping):
        raise CommandFailed(f"{path}: a manifest is a mapping with {SKILLS}, {', '.join(LISTS)}.")
    fields = cast("Mapping[Any, Any]", document)
    files.problems += [f"{path}: there is no field {name!r}" for name in fields if name not in (SKILLS, *LISTS)]
    skills = fields.get(SKILLS)
    listed = {name: _list(fields[name], f"{path}: {name}", name) for name in LISTS if name in fields}
    if SKILLS in fields:
        _add_all(skills, path, files)
    return Publication(
        bodies=files.bodies if SKILLS in fields else None,
        prompts=listed.get(PROMPTS),
        triggers=listed.get(TRIGGERS),
        webhooks=listed.get(WEBHOOKS),
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


def _list(value: Any, place: str, name: str) -> Sequence[Json]:
    if isinstance(value, list):
        return cast("list[Json]", value)
    raise CommandFailed(f"{place}: this must be a list of {LISTS[name]}.")


def _problems(publication: Publication, sources: Mapping[str, str]) -> Iterable[str]:
    """By the registry's own rules; it will ask them again."""
    for skill_id, body in (publication.bodies or {}).items():
        entry: JsonObject = {"id": skill_id, "skill": body}
        for problem in _found(read({SKILLS: [entry]})):
            yield f"{sources[skill_id]} ({skill_id}): {problem.message}"
    named = {skill_id: [NamedFile(path, "") for path in files] for skill_id, files in publication.files.items()}
    for skill_id, message in overlaps({**dict.fromkeys(publication.bodies or (), ()), **named}):
        yield f"{sources[skill_id]}: {message}"
    for name, entries in publication.lists.items():
        for problem in _found(read({name: list(entries)})):
            yield f"{problem.kind} {problem.id}: {problem.message}"


def _found(answer: Manifest | Sequence[Problem]) -> Sequence[Problem]:
    return () if isinstance(answer, Manifest) else answer
