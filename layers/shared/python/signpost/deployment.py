"""What a deployment does besides making resources, as CloudFormation asks for it by a custom resource: the stack's own
executors are placed, so that their functions can be called, and what comes with it for readers is published."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from signpost.errors import Unavailable
from signpost.execution.placement import PlacementRefused, Placer
from signpost.model import JsonObject
from signpost.registry import manifest
from signpost.registry.publisher import Publisher
from signpost.registry.skill_trees import NOTHING_SHIPPED, Shipped
from signpost.telemetry import Telemetry

THE_ONLY_ONE = "shipped"
LONGEST_REASON = 1_000
ASKED = ("RequestType", "RequestId", "StackId", "LogicalResourceId", "ResponseURL")

type Answer = Callable[[str, JsonObject], None]
type Content = Callable[[], Shipped]


class Deployment:
    def __init__(
        self, *, placer: Placer, publisher: Publisher, content: Content, answer: Answer, telemetry: Telemetry
    ) -> None:
        self._placer = placer
        self._publisher = publisher
        self._content = content
        self._answer = answer
        self._telemetry = telemetry

    def handle(self, event: Mapping[str, Any]) -> JsonObject:
        """Answers in any case: CloudFormation would wait until its own patience ends."""
        if missing := [name for name in ASKED if not isinstance(event.get(name), str)]:
            message = f"This is no request of CloudFormation: it has no {', '.join(missing)}."
            return {"error": {"code": "not_understood", "message": message}}
        with self._telemetry.request(event["RequestId"], "DEPLOY", event["LogicalResourceId"]) as record:
            record.operation = event["RequestType"]
            problem = self._carried_out(event, record.failed)
            if event["RequestType"] == "Delete":
                problem = None  # rows that nobody can write any more must not keep a stack from being deleted
            record.answered(400 if problem else 200)
            answer = _answer_to(event, problem)
            self._answer(event["ResponseURL"], answer)
        return answer

    def _carried_out(self, event: Mapping[str, Any], failed: Callable[[BaseException], None]) -> str | None:
        """What went wrong, in a sentence for whoever deploys."""
        try:
            self._placer.ship(_executors(event, "ResourceProperties"), instead_of=_formerly(event))
            return self._publish(NOTHING_SHIPPED if event["RequestType"] == "Delete" else self._content())
        except (PlacementRefused, Unavailable) as refused:
            return str(refused)
        except Exception as fault:  # noqa: BLE001 - the boundary
            failed(fault)
            return f"Something went wrong ({type(fault).__name__}); see the log of the registry function."

    def _publish(self, content: Shipped) -> str | None:
        """This and nothing else is shipped from now on."""
        if content.problems:
            return f"What the stack ships cannot be published. {' '.join(content.problems)}"
        shipped = manifest.read(content.as_payload())
        done = self._publisher.publish(shipped, None) if isinstance(shipped, manifest.Manifest) else shipped
        return manifest.refusal_for(done).message if isinstance(done, Sequence) else None


def _executors(event: Mapping[str, Any], properties: str) -> Sequence[str]:
    return () if event["RequestType"] == "Delete" else event.get(properties, {}).get("Executors", ())


def _formerly(event: Mapping[str, Any]) -> Sequence[str]:
    properties = "ResourceProperties" if event["RequestType"] == "Delete" else "OldResourceProperties"
    return event.get(properties, {}).get("Executors", ())


def _answer_to(event: Mapping[str, Any], problem: str | None) -> JsonObject:
    return {
        "Status": "FAILED" if problem else "SUCCESS",
        "Reason": (problem or "")[:LONGEST_REASON],
        "PhysicalResourceId": THE_ONLY_ONE,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
