"""Bodies sent ahead of a publication, stored by their digests, and *parts*: the stored descriptions of these bodies, so
that a publication of thousands of bodies reads none of them again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, field, replace
from typing import TYPE_CHECKING, Any

from signpost.catalogue.publishing import references
from signpost.catalogue.publishing.publish_warnings import (
    BodyWarnings,
    find_body_warnings,
    from_rows,
    to_rows,
)
from signpost.catalogue.publishing.references import BodyKey, BodyReferences, Reference
from signpost.catalogue.publishing.request import PublishProblem, PublishRequest, SentDocument
from signpost.catalogue.publishing.sent_files import NamedFile
from signpost.content import documents as skills
from signpost.content import model as stored
from signpost.content.agent_skills.files import build_stored_file, problem_with_sizes
from signpost.content.digests import digest_of
from signpost.content.model import Skill, StoredFile
from signpost.content.retention import PART
from signpost.model import CatalogueItem, JsonObject
from signpost.records import dataclass

if TYPE_CHECKING:
    from signpost.content.ports import Bodies

BODY_UNKNOWN = "Its body was not sent, or another request has replaced it since. Publish again."
PART_UNKNOWN = "The gateway does not have this part. Publish again."


@dataclass(frozen=True, slots=True)
class KnownContent:
    """The content that a publication may name: rows, files, items and transitions from the stored rows, the parts and
    the request."""

    documents: Mapping[tuple[str, str], Skill]
    """The rows by id and digest."""
    files: Mapping[tuple[str, str], StoredFile]
    """The files by path and digest."""
    items: Mapping[tuple[str, str, str], CatalogueItem]
    """The catalogue items by kind, id and digest."""
    transitions: Mapping[str, JsonObject]
    """The transitions of capabilities, by digest."""
    warnings: BodyWarnings
    """The warnings about the bodies that the parts and the request have."""
    references: BodyReferences = field(default_factory=dict[BodyKey, Sequence[Reference]])
    """The references of these bodies."""

    def row_of(self, document: SentDocument) -> Skill:
        """Build the row of a document that has no problems: its body and all its files are known."""
        files = sorted(document.files, key=lambda file: file.path)
        return replace(
            self._row_without_files(document), files=tuple(self.files[file.path, file.digest] for file in files)
        )

    def problems_with(self, document: SentDocument) -> Iterator[str]:
        if document.body is None and (document.id, document.digest) not in self.documents:
            yield BODY_UNKNOWN
        elif unsent := [file.path for file in document.files if (file.path, file.digest) not in self.files]:
            yield from (f"{path}: {BODY_UNKNOWN}" for path in unsent)
        elif document.files and (
            problem := problem_with_sizes(self._row_without_files(document).size, self._stored_files(document))
        ):
            yield problem

    def unsent_files(self, request: PublishRequest) -> Sequence[NamedFile]:
        named = (file for document in request.skills or () for file in document.files)
        return [file for file in dict.fromkeys(named) if (file.path, file.digest) not in self.files]

    def _row_without_files(self, document: SentDocument) -> Skill:
        if document.body is None:
            return self.documents[document.id, document.digest]
        return skills.build_skill(document.id, document.body, "")

    def _stored_files(self, document: SentDocument) -> Sequence[StoredFile]:
        return [self.files[file.path, file.digest] for file in document.files]


class Parts:
    """Stores the bodies of publish requests and their parts, and reads the parts again."""

    def __init__(self, bodies: "Bodies") -> None:
        self._bodies = bodies

    def keep(self, request: PublishRequest, tenant: str | None) -> str:
        """Store the bodies in the request, and the part that describes them. Returns the name of the part."""
        documents = [document for document in request.skills or () if document.body is not None]
        rows: JsonObject = {
            "warnings": to_rows(find_body_warnings(request)),
            "references": references.to_rows(find_body_references(request)),
            "skills": [asdict(skills.build_skill(document.id, document.body or "", "")) for document in documents],
            "files": [asdict(build_stored_file(file.path, file.body)) for file in request.files],
            "items": [astuple(item) for item in request.definitions.items] if request.definitions else [],
            "transitions": request.definitions.transitions if request.definitions else {},
        }
        for document in documents:
            self._bodies.keep(tenant, document.digest, (document.body or "").encode())
        self.keep_files(request, tenant)
        part = json.dumps(rows, ensure_ascii=False)
        name = digest_of(part)
        self._bodies.keep(tenant, f"{PART}{name}", part.encode())
        return name

    def keep_files(self, request: PublishRequest, tenant: str | None) -> None:
        for file in request.files:
            self._bodies.keep(tenant, build_stored_file(file.path, file.body).digest, file.body)

    def collect_known_content(
        self, request: PublishRequest, existing: Mapping[str, Skill], tenant: str | None
    ) -> KnownContent | PublishProblem:
        """Collect the content that the existing rows, the named parts and the request itself make known."""
        documents = {(skill.id, skill.digest): skill for skill in existing.values()}
        files = [file for skill in existing.values() for file in skill.files]
        items, transitions = list[CatalogueItem](), dict[str, JsonObject]()
        warnings, named = dict(find_body_warnings(request)), dict(find_body_references(request))
        for name in request.parts:
            try:
                part = json.loads(self._bodies.read(tenant, f"{PART}{name}"))
            except LookupError:
                return PublishProblem("manifest", name, PART_UNKNOWN)
            documents.update(((skill.id, skill.digest), skill) for skill in map(_skill_of, part["skills"]))
            files += [StoredFile(**row) for row in part["files"]]
            items += [CatalogueItem(*row) for row in part.get("items", ())]
            transitions.update(part.get("transitions", {}))
            warnings.update(from_rows(part.get("warnings", ())))
            named.update(references.from_rows(part.get("references", ())))
        files += [build_stored_file(file.path, file.body) for file in request.files]
        return KnownContent(
            documents=documents,
            files={(file.path, file.digest): file for file in files},
            items={(item.kind, item.id, item.definition): item for item in items},
            transitions=transitions,
            warnings=warnings,
            references=named,
        )


def find_body_references(request: PublishRequest) -> BodyReferences:
    """Find the references of the bodies in a request."""
    found: dict[BodyKey, Sequence[Reference]] = {}
    for document in request.skills or ():
        if document.body is not None:
            found["skill", document.id, document.digest] = references.find_links(document.body)
    if request.definitions is not None:
        found.update(request.definitions.references)
    return {key: listed for key, listed in found.items() if listed}


def _skill_of(row: dict[str, Any]) -> Skill:
    skill_md = row.pop("manifest", None)
    del row["files"]  # a part lists the files apart from the skills
    return Skill(**row, manifest=None if skill_md is None else stored.SkillMd(**skill_md))
