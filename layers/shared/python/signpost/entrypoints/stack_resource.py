"""The custom resource by which CloudFormation has a deployment place the stack's own executors, so that their functions
can be called, and publish the content shipped with the stack."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.catalogue.publishing import request
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.agent_skills.folders import NOTHING_SHIPPED, ShippedContent
from signpost.directory.placement import PlacementError, Placer
from signpost.errors import Unavailable
from signpost.model import JsonObject
from signpost.telemetry import Telemetry

PHYSICAL_ID = "shipped"
LONGEST_REASON = 1_000
REQUIRED_MEMBERS = ("RequestType", "RequestId", "StackId", "LogicalResourceId", "ResponseURL")

type SendAnswer = Callable[[str, JsonObject], None]
type ReadShipped = Callable[[], ShippedContent]


class StackResource:
    def __init__(
        self, *, placer: Placer, publisher: Publisher, content: ReadShipped, answer: SendAnswer, telemetry: Telemetry
    ) -> None:
        self._placer = placer
        self._publisher = publisher
        self._content = content
        self._answer = answer
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any]) -> JsonObject:
        """Carries out a request of CloudFormation and always answers it; without an answer CloudFormation waits until
        its timeout."""
        if missing := [name for name in REQUIRED_MEMBERS if not isinstance(event.get(name), str)]:
            message = f"This is not a request of CloudFormation: it lacks {', '.join(missing)}."
            return {"error": {"code": "not_understood", "message": message}}
        with self._telemetry.record_request(event["RequestId"], "DEPLOY", event["LogicalResourceId"]) as record:
            record.operation = event["RequestType"]
            problem = self._carry_out(event, record.set_fault)
            if event["RequestType"] == "Delete":
                problem = None  # rows that can no longer be written must not block the deletion of the stack
            record.set_status(400 if problem else 200)
            answer = _answer_to(event, problem)
            self._answer(event["ResponseURL"], answer)
        return answer

    def _carry_out(self, event: Mapping[str, Any], report_fault: Callable[[BaseException], None]) -> str | None:
        """Carries out the request. Returns a sentence for the deployer if it failed."""
        try:
            self._placer.ship(_executors_in(event, "ResourceProperties"), instead_of=_former_executors(event))
            return self._publish(NOTHING_SHIPPED if event["RequestType"] == "Delete" else self._content())
        except (PlacementError, Unavailable) as fault:
            return str(fault)
        except Exception as fault:  # noqa: BLE001 - the boundary
            report_fault(fault)
            return f"An internal error occurred ({type(fault).__name__}). See the log of the registry function."

    def _publish(self, content: ShippedContent) -> str | None:
        """Publishes the content as all that the stack ships; content shipped before is withdrawn."""
        if content.problems:
            return f"The content shipped with the stack cannot be published. {' '.join(content.problems)}"
        shipped = request.parse_request(content.as_payload())
        outcome = self._publisher.publish(shipped, None) if isinstance(shipped, request.PublishRequest) else shipped
        return request.refusal_for(outcome).message if isinstance(outcome, Sequence) else None


def _executors_in(event: Mapping[str, Any], properties: str) -> Sequence[str]:
    return () if event["RequestType"] == "Delete" else event.get(properties, {}).get("Executors", ())


def _former_executors(event: Mapping[str, Any]) -> Sequence[str]:
    properties = "ResourceProperties" if event["RequestType"] == "Delete" else "OldResourceProperties"
    return event.get(properties, {}).get("Executors", ())


def _answer_to(event: Mapping[str, Any], problem: str | None) -> JsonObject:
    return {
        "Status": "FAILED" if problem else "SUCCESS",
        "Reason": (problem or "")[:LONGEST_REASON],
        "PhysicalResourceId": PHYSICAL_ID,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
