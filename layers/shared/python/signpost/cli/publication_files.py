"""What is to be published, as it lies in files: a folder, or a manifest."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from signpost.adapters.skill_folder import ARCHIVES, SUFFIX, skills_in, text_of
from signpost.cli import checking
from signpost.cli.documents import SUFFIXES, parsed
from signpost.cli.failure import CommandFailed
from signpost.cli.manifest_files import manifest_at, manifests_in
from signpost.cli.publication import LISTS, SKILLS, Collection, Publication
from signpost.model import JsonObject
from signpost.registry.manifest import Manifest, Problem, read
from signpost.registry.sent_files import NamedFile, overlaps
from signpost.registry.skill_files import SKILL_FILE
from signpost.workflow.configuration import MAPPINGS
from signpost.workflow.forms import EXTRA
from signpost.workflow.written import Place, Written, plain

DEFINES = ("version", *MAPPINGS)
"""A manifest with one of these is checked like one of workflows."""


def publication_at(path: Path, rules: checking.Rules) -> Publication:
    """Raises CommandFailed with everything that is wrong, before anybody is asked."""
    into = Collection(rules)
    _look_at(path, into)
    into.judge(into.defined.problems)
    publication = into.publication
    problems = into.problems + list(_problems(publication, into.sources))
    if problems:
        listed = "\n".join(f"  {problem.rstrip('.')}" for problem in problems)
        raise CommandFailed(f"Nothing was published. {len(problems)} to be put right:\n{listed}")
    return publication


def _look_at(path: Path, into: Collection) -> None:
    if path.is_file() and path.name.endswith(ARCHIVES):
        # What unpacks takes a while to import, which `signpost --help` should not pay.
        from signpost.adapters.skill_archive import skills_in_archive  # noqa: PLC0415

        into.take(skills_in_archive(path))
    elif (path / SKILL_FILE).is_file():
        into.take(skills_in(path, path.resolve().name))
    elif path.is_dir():
        _look_into(path, into)
    elif path.exists():
        _read_manifest(path, into)
    else:
        raise CommandFailed(f"There is no file {path}.")


def _look_into(folder: Path, into: Collection) -> None:
    skills, manifests = folder / SKILLS, manifests_in(folder)
    listed = {name: found for name in LISTS if (found := _files_of(folder, name))}
    if not skills.is_dir() and not listed and not manifests:
        names = ", ".join(LISTS)
        raise CommandFailed(
            f"{folder} has neither a folder {SKILLS} nor a {SKILL_FILE} nor a file of {names} (.yaml or .json) "
            "nor a manifest."
        )
    if skills.is_dir():
        into.take(skills_in(skills))
    for name, found in listed.items():
        _read_list(name, found, into)
    for manifest in manifests:
        _read_manifest(manifest, into)


def _files_of(folder: Path, name: str) -> Sequence[Path]:
    return [candidate for suffix in SUFFIXES if (candidate := folder / f"{name}{suffix}").is_file()]


def _read_list(name: str, found: Sequence[Path], into: Collection) -> None:
    if len(found) > 1:
        into.problems.append(f"{' and '.join(map(str, found))}: keep one of them")
        return
    try:
        into.add_list(name, parsed(found[0]), str(found[0]))
    except CommandFailed as fault:
        into.problems.append(str(fault))


def _read_manifest(path: Path, into: Collection) -> None:
    found = manifest_at(path)
    manifest = found.manifest
    has_documents_only = manifest is not None and manifest.is_mapping and not manifest.members.keys() & set(DEFINES)
    is_fine = into.judge(found.problems if has_documents_only else checking.problems_with(found, path, into.rules))
    if manifest is None:
        return
    for name in manifest.members:
        if has_documents_only and not _is_known(name):
            into.refuse(manifest.place_of_name(name), f"there is no field {name!r}")
    if is_fine and not has_documents_only:
        into.defined.take(manifest)
    _take_documents(manifest, path, into)


def _is_known(name: str) -> bool:
    return name in (SKILLS, *LISTS, "$schema") or name.startswith(EXTRA)


def _take_documents(manifest: Written, path: Path, into: Collection) -> None:
    for name in LISTS:
        if name in manifest.members:
            into.add_list(name, plain(manifest.members[name]), f"{path}: {name}")
    skills = manifest.members.get(SKILLS)
    if skills is None:
        return
    into.has_skills = True
    if not skills.is_mapping:
        message = f"{SKILLS} are a mapping of ids to texts or to paths that end in {SUFFIX}"
        into.refuse(manifest.place_of((SKILLS,)), message)
    for skill_id, value in skills.members.items():
        if value.text is None:
            into.refuse(value.place, f"{skill_id!r} must be a text; put it into quotes")
        elif _is_path(value.text):
            _add_file(skill_id, value.text, value.place, path, into)
        else:
            into.add(skill_id, value.text, _shown(value.place))


def _is_path(value: str) -> bool:
    """A single line that ends like a file; anything else is the text itself."""
    return value.endswith(SUFFIX) and "\n" not in value


def _add_file(skill_id: str, value: str, place: Place, manifest: Path, into: Collection) -> None:
    """Only from the folder of the manifest: whoever wrote it may be somebody else than who publishes it."""
    path = Path(place.file).parent / value
    if not path.resolve().is_relative_to(manifest.resolve().parent):
        into.refuse(place, f"{skill_id!r}: {value} lies outside of the manifest's folder")
        return
    try:
        into.add(skill_id, text_of(path), str(path))
    except OSError as fault:
        into.refuse(place, f"{path} cannot be read ({fault.strerror})")
    except UnicodeDecodeError as fault:
        into.problems.append(f"{path}: is no UTF-8 text (byte {fault.start})")


def _shown(place: Place) -> str:
    return f"{place.file}:{place.line}:{place.column}"


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
