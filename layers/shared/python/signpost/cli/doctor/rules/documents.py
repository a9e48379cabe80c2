"""The bodies and files of skill documents: whether the bucket has each of them, unchanged in length."""

from collections.abc import Iterator, Mapping, Sequence

from signpost.cli.doctor.findings import Finding, describe_scope, error
from signpost.content.model import Skill
from signpost.records import dataclass

PAGE = "docs/operations.md#watch"
MOST_NAMED = 20
"""Documents of a scope that are named. A deleted folder has thousands."""


@dataclass(frozen=True, slots=True)
class DocumentFacts:
    """The skill documents of one scope, and the objects in the bucket that they name."""

    tenant: str | None
    bucket: str
    prefix: str
    """The key of an object without its digest."""
    skills: Sequence[Skill]
    sizes: Mapping[str, int]
    """The length in bytes of each object, by digest."""


def judge_documents(facts: DocumentFacts) -> Iterator[Finding]:
    found = [finding for skill in facts.skills for finding in _judge_skill(facts, skill)]
    yield from found[:MOST_NAMED]
    if len(found) > MOST_NAMED:
        scope = describe_scope(facts.tenant)
        problem = f"{len(found) - MOST_NAMED} more documents of {scope} cannot be read."
        yield error("document_missing", f"documents of {scope}", problem, f"Publish the folder again ({PAGE}).")


def _judge_skill(facts: DocumentFacts, skill: Skill) -> Iterator[Finding]:
    expected = {skill.digest: skill.size, **{file.digest: file.size for file in skill.files}}
    for digest, size in expected.items():
        found = facts.sizes.get(digest)
        if found is None:
            versions = f"aws s3api list-object-versions --bucket {facts.bucket} --prefix {facts.prefix}{digest}"
            remedy = f"Publish the document again, or delete the delete marker that `{versions}` shows ({PAGE})."
            yield error("document_missing", _name(facts, skill), "The bucket lacks its body or a file of it.", remedy)
        elif found != size:
            problem = f"The object {facts.prefix}{digest} was changed: it has {found} bytes instead of {size}."
            yield error("document_changed", _name(facts, skill), problem, "Publish the document again.")


def _name(facts: DocumentFacts, skill: Skill) -> str:
    return f"document {skill.id} of {describe_scope(facts.tenant)}"
