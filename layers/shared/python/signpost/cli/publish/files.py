"""Reads a publication from files: a folder, an archive of Agent Skills, or a manifest."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from signpost.adapters.skill_folder import ARCHIVES, SUFFIX, skills_in, text_of
from signpost.catalogue.publishing.publish_warnings import ExistingNames, find_publication_warnings
from signpost.catalogue.publishing.request import PublishProblem, PublishRequest, parse_request
from signpost.catalogue.publishing.sent_files import NamedFile, find_overlaps
from signpost.cli.documents import read_document
from signpost.cli.failure import CommandFailed
from signpost.cli.publish import checking
from signpost.cli.publish.collection import LISTS, SKILLS, CollectedPublication, PublicationBuilder
from signpost.cli.publish.foreign_links import find_foreign_links
from signpost.cli.publish.ignored_files import find_ignored_files
from signpost.cli.publish.list_entries import find_in_folder, find_list_files, find_unread_fields
from signpost.cli.publish.manifest_files import FoundManifest, manifests_in, read_manifest
from signpost.cli.terminal import make_printable
from signpost.content.agent_skills.files import SKILL_FILE
from signpost.content.content_warnings import (
    find_document_warnings,
    find_file_name_warnings,
    find_file_warnings,
    find_name_warnings,
)
from signpost.model import JsonObject
from signpost.workflow.authoring.compile import MAPPING_PARTS
from signpost.workflow.authoring.json_schema import EXTENSION_PREFIX
from signpost.workflow.authoring.source_tree import SourceNode, SourcePlace, to_json

DEFINITION_FIELDS = ("version", *MAPPING_PARTS)
"""A manifest with one of these fields is checked like a manifest of workflows."""


def read_publication(path: Path, rules: checking.CheckRules) -> CollectedPublication:
    """Read a publication. Raises CommandFailed with all problems, before anything is sent to the registry."""
    builder = PublicationBuilder(rules)
    _collect_path(path, builder)
    return _build_checked(builder)


def read_folder_publication(folder: Path, rules: checking.CheckRules) -> CollectedPublication | None:
    """Read the documents, lists and manifests of a folder that has other files, too. Returns None if it has none.

    The folder itself is no Agent Skill, even with a SKILL.md: its code is not published. Raises CommandFailed."""
    if not folder.is_dir() or not _has_content(folder):
        return None
    builder = PublicationBuilder(rules)
    _collect_folder(folder, builder)
    return _build_checked(builder)


def _has_content(folder: Path) -> bool:
    has_lists = any(find_list_files(folder, name) for name in LISTS)
    skills = folder / SKILLS
    return has_lists or skills.is_dir() or skills.is_symlink() or bool(manifests_in(folder))


def _build_checked(builder: PublicationBuilder) -> CollectedPublication:
    """Build the publication and check all of it. Raises CommandFailed."""
    builder.add_problems(builder.definitions.problems)
    problems = list(_find_problems(builder.publication, builder.sources))
    if not problems:
        _add_warnings(builder)
    publication = builder.publication
    problems = builder.problems + problems
    if problems:
        lines = "\n".join(f"  {make_printable(problem.rstrip('.'))}" for problem in problems)
        raise CommandFailed(f"Nothing was published. Problems to fix: {len(problems)}\n{lines}")
    return publication


def _collect_path(path: Path, builder: PublicationBuilder) -> None:
    if path.is_file() and path.name.endswith(ARCHIVES):
        # The module that unpacks archives takes long to import, which would slow down `signpost --help`.
        from signpost.adapters.skill_archive import skills_in_archive  # noqa: PLC0415

        builder.add_skills(skills_in_archive(path))
    elif (path / SKILL_FILE).is_file():
        builder.add_skills(skills_in(path, path.resolve().name))
    elif path.is_dir():
        _collect_folder(path, builder)
    elif path.exists():
        _collect_manifests([path], builder)
    else:
        raise CommandFailed(f"There is no file {path}.")


def _collect_folder(folder: Path, builder: PublicationBuilder) -> None:
    skills, manifests = folder / SKILLS, manifests_in(folder)
    if foreign := list(find_foreign_links(folder, manifests)):
        builder.problems += foreign
        return
    list_files = {name: paths for name in LISTS if (paths := find_list_files(folder, name))}
    if not skills.is_dir() and not list_files and not manifests:
        names = ", ".join(LISTS)
        raise CommandFailed(
            f"{folder} has nothing to publish: no folder {SKILLS}, no {SKILL_FILE}, no file of {names} (.yaml or "
            ".json) and no manifest."
        )
    builder.add_problems([*find_ignored_files(folder), *find_in_folder(folder)])
    if skills.is_dir():
        builder.add_skills(skills_in(skills))
    for name, paths in list_files.items():
        _read_list(name, paths, builder)
    _collect_manifests(manifests, builder)


def _read_list(name: str, paths: Sequence[Path], builder: PublicationBuilder) -> None:
    if len(paths) > 1:
        builder.problems.append(f"{' and '.join(map(str, paths))}: keep one of them")
        return
    try:
        builder.add_list(name, read_document(paths[0]), str(paths[0]))
    except CommandFailed as fault:
        builder.problems.append(str(fault))


def _collect_manifests(paths: Sequence[Path], builder: PublicationBuilder) -> None:
    manifests = {path: read_manifest(path) for path in paths}
    other_workflows = checking.list_workflows(manifests.values())
    for path, found in manifests.items():
        _collect_manifest(found, path, builder, other_workflows)


def _collect_manifest(
    found: FoundManifest, path: Path, builder: PublicationBuilder, other_workflows: Collection[str]
) -> None:
    manifest = found.manifest
    has_documents_only = (
        manifest is not None and manifest.is_mapping and not manifest.members.keys() & set(DEFINITION_FIELDS)
    )
    is_fine = builder.add_problems(
        found.problems if has_documents_only else checking.find_problems(found, path, builder.rules, other_workflows)
    )
    if manifest is None:
        return
    for name in manifest.members:
        if has_documents_only and not _is_known_field(name):
            builder.add_problem_at(manifest.place_of_name(name), f"there is no field {name!r}")
    if is_fine and not has_documents_only:
        builder.definitions.add_manifest(manifest)
    _collect_documents(manifest, path, builder)


def _is_known_field(name: str) -> bool:
    return name in (SKILLS, *LISTS, "$schema") or name.startswith(EXTENSION_PREFIX)


def _collect_documents(manifest: SourceNode, path: Path, builder: PublicationBuilder) -> None:
    builder.add_problems(find_unread_fields(manifest))
    for name in LISTS:
        if name in manifest.members:
            builder.add_list(name, to_json(manifest.members[name]), f"{path}: {name}")
    skills = manifest.members.get(SKILLS)
    if skills is None:
        return
    builder.has_skills = True
    if not skills.is_mapping:
        message = f"{SKILLS} must be a mapping of ids to texts, or to paths that end in {SUFFIX}"
        builder.add_problem_at(manifest.place_of((SKILLS,)), message)
    for skill_id, value in skills.members.items():
        if value.text is None:
            builder.add_problem_at(value.place, f"{skill_id!r} must be a text; put it into quotes")
        elif _is_path(value.text):
            _add_file(skill_id, value.text, value.place, path, builder)
        else:
            builder.add_document(skill_id, value.text, checking.format_place(value.place))


def _is_path(value: str) -> bool:
    """Return whether the value is a single line that ends in SUFFIX. Every other value is the text itself."""
    return value.endswith(SUFFIX) and "\n" not in value


def _add_file(skill_id: str, value: str, place: SourcePlace, manifest: Path, builder: PublicationBuilder) -> None:
    """Add a document from a file in the folder of the manifest, or below it.

    Other paths are refused: the author of the manifest may be another person than its publisher, and must not make
    the publisher send any file of the machine."""
    path = Path(place.file).parent / value
    if not path.resolve().is_relative_to(manifest.resolve().parent):
        builder.add_problem_at(place, f"{skill_id!r}: {value} is outside the folder of the manifest")
        return
    try:
        builder.add_document(skill_id, text_of(path), str(path))
    except OSError as fault:
        builder.add_problem_at(place, f"{path} cannot be read ({fault.strerror})")
    except UnicodeDecodeError as fault:
        builder.problems.append(f"{path} is not UTF-8 text (byte {fault.start})")


def _find_problems(publication: CollectedPublication, sources: Mapping[str, str]) -> Iterable[str]:
    """Yield the problems by the rules of the registry, which checks them again."""
    for skill_id, body in (publication.bodies or {}).items():
        entry: JsonObject = {"id": skill_id, "skill": body}
        for problem in _problems_of(parse_request({SKILLS: [entry]})):
            yield f"{sources[skill_id]} ({skill_id}): {problem.message}"
    files_by_id = {skill_id: [NamedFile(path, "") for path in files] for skill_id, files in publication.files.items()}
    for skill_id, message in find_overlaps({**dict.fromkeys(publication.bodies or (), ()), **files_by_id}):
        yield f"{sources[skill_id]}: {message}"
    for name, entries in publication.lists.items():
        for problem in _problems_of(parse_request({name: list(entries)})):
            yield f"{problem.kind} {problem.id}: {problem.message}"


def _add_warnings(builder: PublicationBuilder) -> None:
    """Add the warnings that the registry finds too, with the files that they are about."""
    publication = builder.publication
    for skill_id, body in (publication.bodies or {}).items():
        source = builder.sources[skill_id]
        document = source if source.endswith(SUFFIX) or ":" in source else f"{source}/{SKILL_FILE}"
        for warning in find_document_warnings(skill_id, body):
            builder.add_warning(document, warning)
        files = publication.files.get(skill_id, {})
        for path, content in files.items():
            for warning in find_file_warnings(path, content):
                builder.add_warning(f"{source}/{path}", warning)
        for warning in find_file_name_warnings(files):
            builder.add_warning(f"{source}/{warning.id}", warning)
    for warning in find_name_warnings("skill", publication.bodies or (), ()):
        builder.add_warning(builder.sources[warning.id], warning)
    _add_entry_warnings(builder, publication)


def _add_entry_warnings(builder: PublicationBuilder, publication: CollectedPublication) -> None:
    """Add the warnings about prompts and triggers."""
    request = parse_request({name: list(entries) for name, entries in publication.lists.items()})
    if isinstance(request, PublishRequest):
        for warning in find_publication_warnings(request, {}, ExistingNames()):
            builder.add_warning(f"{warning.kind} {warning.id}", warning)


def _problems_of(answer: PublishRequest | Sequence[PublishProblem]) -> Sequence[PublishProblem]:
    return () if isinstance(answer, PublishRequest) else answer
