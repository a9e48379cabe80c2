"""Judges the references of one document or prompt that is registered alone, as a publication judges those of many."""

from collections.abc import Callable, Collection, Sequence

from signpost.catalogue.publishing.parts import find_body_references
from signpost.catalogue.publishing.reference_warnings import PublishedNames, ReferenceJudge
from signpost.catalogue.publishing.request import PublishRequest, SentDocument
from signpost.content.digests import digest_of
from signpost.content.model import StoredPrompt
from signpost.hazards.model import PublicationWarning


class EntryReferenceJudge:
    """Implements `EntryReferences` of the registry by the judge of publications."""

    def __init__(self, judge: ReferenceJudge) -> None:
        self._judge = judge

    def find_document_warnings(
        self, skill_id: str, body: str, documents: Callable[[], Collection[str]], tenant: str
    ) -> Sequence[PublicationWarning]:
        request = _request_of(skills=[SentDocument(skill_id, digest_of(body), body)])
        references = find_body_references(request)
        if not references:
            return ()
        names = PublishedNames(references=references, documents={*documents(), skill_id})
        return list(self._judge.find_warnings(request, names, tenant))

    def find_prompt_warnings(self, prompt: StoredPrompt, tenant: str, *, strict: bool) -> Sequence[PublicationWarning]:
        if not strict and not self._judge.hosts_similar(prompt.function.strip(), tenant):
            return ()
        names = PublishedNames(references={}, documents=())
        return list(self._judge.find_warnings(_request_of(prompts=[prompt]), names, tenant))


def _request_of(
    *, skills: Sequence[SentDocument] | None = None, prompts: Sequence[StoredPrompt] | None = None
) -> PublishRequest:
    return PublishRequest(skills=skills, prompts=prompts, triggers=None, webhooks=None, prune=False)
