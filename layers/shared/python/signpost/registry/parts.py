"""What was sent ahead of a publication: bodies by their digests, and *parts*, which say what is in them, so that a
publication of thousands reads none of them again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, replace
from typing import Any

from signpost import content as stored
from signpost.content import Skill, StoredFile
from signpost.model import CatalogueItem, JsonObject
from signpost.ports import Bodies
from signpost.records import dataclass
from signpost.registry import skills
from signpost.registry.digests import digest_of
from signpost.registry.manifest import Document, Manifest, Problem
from signpost.registry.sent_files import NamedFile
from signpost.registry.skill_files import described, problem_with_sizes

PART = "part-"
"""What the name of a part begins with: no body of a document is ever kept under such a name, so none can pose as one.
To whoever collects old bodies a part is a body that no row names."""
UNSEEN = "Its body was not sent, or somebody has changed it meanwhile: publish again."
LOST = "This part is not kept here: publish again."


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known here of bodies, in the rows as they are and in parts."""

    documents: Mapping[tuple[str, str], Skill]
    """By id and digest."""
    files: Mapping[tuple[str, str], StoredFile]
    """By path and digest."""
    items: Mapping[tuple[str, str, str], CatalogueItem]
    """By kind, id and digest."""
    transitions: Mapping[str, JsonObject]
    """Of capabilities, by digest."""

    def row_of(self, document: Document) -> Skill:
        """Of one in which nothing is unseen."""
        files = sorted(document.files, key=lambda one: one.path)
        return replace(self._document(document), files=tuple(self.files[one.path, one.digest] for one in files))

    def problems_with(self, document: Document) -> Iterator[str]:
        if document.body is None and (document.id, document.digest) not in self.documents:
            yield UNSEEN
        elif unsent := [one.path for one in document.files if (one.path, one.digest) not in self.files]:
            yield from (f"{path}: {UNSEEN}" for path in unsent)
        elif document.files and (problem := problem_with_sizes(self._document(document).size, self._files(document))):
            yield problem

    def unsent(self, manifest: Manifest) -> Sequence[NamedFile]:
        named = (one for document in manifest.skills or () for one in document.files)
        return [one for one in dict.fromkeys(named) if (one.path, one.digest) not in self.files]

    def _document(self, document: Document) -> Skill:
        if document.body is None:
            return self.documents[document.id, document.digest]
        return skills.described(document.id, document.body, "")

    def _files(self, document: Document) -> Sequence[StoredFile]:
        return [self.files[one.path, one.digest] for one in document.files]


class Parts:
    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies

    def keep(self, manifest: Manifest, tenant: str | None) -> str:
        """Keeps the bodies in it. Answers the name of the part."""
        documents = [document for document in manifest.skills or () if document.body is not None]
        rows: JsonObject = {
            "skills": [asdict(skills.described(one.id, one.body or "", "")) for one in documents],
            "files": [asdict(described(one.path, one.body)) for one in manifest.files],
            "items": [astuple(item) for item in manifest.definitions.items] if manifest.definitions else [],
            "transitions": manifest.definitions.transitions if manifest.definitions else {},
        }
        for one in documents:
            self._bodies.keep(tenant, one.digest, (one.body or "").encode())
        self.keep_files(manifest, tenant)
        part = json.dumps(rows, ensure_ascii=False)
        name = digest_of(part)
        self._bodies.keep(tenant, f"{PART}{name}", part.encode())
        return name

    def keep_files(self, manifest: Manifest, tenant: str | None) -> None:
        for one in manifest.files:
            self._bodies.keep(tenant, described(one.path, one.body).digest, one.body)

    def seen(self, manifest: Manifest, there: Mapping[str, Skill], tenant: str | None) -> Seen | Problem:
        """With what is in the manifest itself."""
        documents = {(skill.id, skill.digest): skill for skill in there.values()}
        files = [file for skill in there.values() for file in skill.files]
        items, transitions = list[CatalogueItem](), dict[str, JsonObject]()
        for name in manifest.parts:
            try:
                part = json.loads(self._bodies.read(tenant, f"{PART}{name}"))
            except LookupError:
                return Problem("manifest", name, LOST)
            documents.update(((skill.id, skill.digest), skill) for skill in map(_skill, part["skills"]))
            files += [StoredFile(**row) for row in part["files"]]
            items += [CatalogueItem(*row) for row in part.get("items", ())]
            transitions.update(part.get("transitions", {}))
        files += [described(one.path, one.body) for one in manifest.files]
        return Seen(
            documents=documents,
            files={(file.path, file.digest): file for file in files},
            items={(item.kind, item.id, item.definition): item for item in items},
            transitions=transitions,
        )


def _skill(row: dict[str, Any]) -> Skill:
    manifest = row.pop("manifest", None)
    del row["files"]  # a part has them by themselves
    return Skill(**row, manifest=None if manifest is None else stored.Manifest(**manifest))
