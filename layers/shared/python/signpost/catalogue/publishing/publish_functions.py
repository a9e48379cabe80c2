"""Serves the `manifest::` functions of the registry, by which authors publish."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from signpost.catalogue.publishing.publish_warnings import find_body_warnings, problems_of
from signpost.catalogue.publishing.publisher import Publisher, plan_as_json
from signpost.catalogue.publishing.request import PublishRequest, parse_request, refusal_for
from signpost.catalogue.publishing.sent_files import entries_of
from signpost.content import subscriptions
from signpost.content.api import payloads
from signpost.content.api.errors import RegistryAnswer, RegistryRefusal
from signpost.content.callers import Caller, publisher_of
from signpost.content.subscriptions import TRIGGER_KINDS, WEBHOOK_KINDS
from signpost.hazards.model import warnings_field
from signpost.model import Json, JsonObject
from signpost.strict_json import has_encodable_text

SWITCH = "manifest::switch"


class PublishFunctions:
    """Serves the functions that `signpost publish` calls. They are not among the thirteen functions of the registry,
    and no list names them."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._by_id: Mapping[str, Callable[[PublishRequest, Caller], RegistryAnswer]] = {
            "manifest::bodies": self._keep,
            "manifest::plan": self._plan,
            "manifest::publish": self._publish,
            "manifest::subscriptions": self._list_subscriptions,
        }

    @property
    def ids(self) -> Sequence[str]:
        return [*self._by_id, SWITCH]

    def call(self, function_id: str, payload: Json, caller: Caller) -> RegistryAnswer:
        """Call one of `ids`."""
        checked = payloads.payload_of(payload)
        if isinstance(checked, RegistryRefusal):
            return checked
        if not has_encodable_text(checked):
            return RegistryRefusal(
                "invalid_content", "The payload is not valid Unicode text: it contains half of a surrogate pair."
            )
        if function_id == SWITCH:
            return self._switch(checked, caller)
        request = parse_request(checked)
        if not isinstance(request, PublishRequest):
            return refusal_for(request)
        return self._by_id[function_id](replace(request, publisher=publisher_of(caller)), caller)

    def _switch(self, payload: JsonObject, caller: Caller) -> RegistryAnswer:
        workflow, schedule, enabled = payload.get("id"), payload.get("schedule"), payload.get("enabled")
        if isinstance(enabled, bool) and caller.tenant is not None:
            if isinstance(workflow, str) and schedule is None:
                return self._publisher.switch(workflow, caller.tenant, enabled=enabled)
            if isinstance(schedule, str) and workflow is None:
                return self._publisher.switch_schedule(schedule, caller.tenant, enabled=enabled)
        return RegistryRefusal(
            "invalid_payload",
            "To switch a workflow off or on, send {id: text, enabled: boolean}; for a schedule, `schedule` instead of "
            "`id`.",
        )

    def _keep(self, request: PublishRequest, caller: Caller) -> RegistryAnswer:
        if request.strict and (warnings := find_body_warnings(request)):
            return refusal_for(problems_of(warning for listed in warnings.values() for warning in listed))
        documents = request.skills or ()
        return {
            "part": self._publisher.keep(request, caller.tenant),
            "kept": [
                {"id": document.id, "digest": document.digest} for document in documents if document.body is not None
            ],
        }

    def _plan(self, request: PublishRequest, caller: Caller) -> RegistryAnswer:
        warnings = self._publisher.find_warnings(request, caller.tenant)
        if request.strict and warnings:
            return refusal_for(problems_of(warnings))
        unsent = self._publisher.unsent_files(request, caller.tenant)
        plan = plan_as_json(self._publisher.plan(request, caller.tenant))
        return {**plan, "tenant": caller.tenant, "unsent": entries_of(unsent), **warnings_field(warnings)}

    def _list_subscriptions(self, _request: PublishRequest, caller: Caller) -> RegistryAnswer:
        existing = self._publisher.subscriptions(caller.tenant)
        return {
            name: [subscriptions.entry_of(entry) for entry in existing if entry.kind in kinds]
            for name, kinds in (("triggers", TRIGGER_KINDS), ("webhooks", WEBHOOK_KINDS))
        }

    def _publish(self, request: PublishRequest, caller: Caller) -> RegistryAnswer:
        result = self._publisher.publish(request, caller.tenant)
        return result if isinstance(result, Mapping) else refusal_for(result)
