"""The custom resource by which CloudFormation has a deployment place the stack's own executors, so that their functions
can be called, publish the content shipped with the stack, and store lists of parameters."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from signpost.catalogue.publishing import request
from signpost.catalogue.publishing.publisher import Publisher
from signpost.content.agent_skills.folders import NOTHING_SHIPPED, ShippedContent
from signpost.deployment_lists import DeploymentLists
from signpost.directory.placement import PlacementError, Placer
from signpost.errors import PlacementCode, Unavailable
from signpost.model import JsonObject
from signpost.records import dataclass
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.ports import Clock, DeploymentListStore

PHYSICAL_ID = "shipped"
LONGEST_REASON = 1_000
SECONDS_TO_ANSWER = 60.0
"""The seconds before the function's time-out after which no further attempt begins."""
PAUSE = 5.0
TRANSIENT_CODES: frozenset[PlacementCode] = frozenset(("no_executor", "not_reached", "invalid_secret"))
"""Refusals that a permission or a function can cause that was just created: AWS takes seconds to apply it
everywhere."""
REQUIRED_MEMBERS = ("RequestType", "RequestId", "StackId", "LogicalResourceId", "ResponseURL")

type SendAnswer = Callable[[str, JsonObject], None]
type ReadShipped = Callable[[], ShippedContent]


@dataclass(frozen=True, slots=True)
class _Problem:
    """The reason why a request was not carried out."""

    message: str
    may_pass: bool = False
    """Whether another attempt may succeed without a change by the deployer."""
    fault: BaseException | None = None
    """The exception behind it, if it is unexpected."""


class ContentInstaller:
    """Places the stack's own executors and publishes the content shipped with the stack."""

    def __init__(self, *, placer: Placer, publisher: Publisher, content: ReadShipped) -> None:
        self._placer = placer
        self._publisher = publisher
        self._content = content

    def carry_out(self, event: Mapping[str, Any]) -> str | None:
        """Carries out a request. Returns the reason why the content cannot be published. Raises PlacementError."""
        self._placer.ship(_executors_in(event, "ResourceProperties"), instead_of=_former_executors(event))
        return self._publish(NOTHING_SHIPPED if event["RequestType"] == "Delete" else self._content())

    def _publish(self, content: ShippedContent) -> str | None:
        """Publishes the content as all that the stack ships; content shipped before is withdrawn."""
        if content.problems:
            return f"The content shipped with the stack cannot be published. {' '.join(content.problems)}"
        shipped = request.parse_request(content.as_payload())
        outcome = self._publisher.publish(shipped, None) if isinstance(shipped, request.PublishRequest) else shipped
        return request.refusal_for(outcome).message if isinstance(outcome, Sequence) else None


class ListWriter:
    """Stores the lists of the deployment.

    They are properties of the one resource and not of a second one: an earlier release would answer for the deletion of
    a second one after a rollback, and withdraw the shipped content.
    """

    def __init__(self, lists: "DeploymentListStore") -> None:
        self._lists = lists

    def carry_out(self, event: Mapping[str, Any]) -> None:
        """Stores the lists in the properties. A deleted resource leaves them in the table, which outlives the stack."""
        properties = event.get("ResourceProperties", {})
        if event["RequestType"] != "Delete" and {"MoreOrigins", "ExecutorFunctions"} <= properties.keys():
            origins, executors, claims = (
                _names_in(properties.get(name, ())) for name in ("MoreOrigins", "ExecutorFunctions", "PassedClaims")
            )
            self._lists.write(DeploymentLists(origins, executors, claims))


class StackResource:
    """Answers the requests of CloudFormation about the custom resource of the stack."""

    def __init__(
        self,
        *,
        shipped: ContentInstaller,
        lists: ListWriter,
        answer: SendAnswer,
        telemetry: Telemetry,
        clock: "Clock",
        pause: Callable[[float], None],
    ) -> None:
        self._shipped = shipped
        self._lists = lists
        self._answer = answer
        self._telemetry = telemetry
        self._clock = clock
        self._pause = pause

    def handle(self, event: Mapping[str, Any], remaining_ms: int) -> JsonObject:
        """Carries out a request of CloudFormation and always answers it; without an answer CloudFormation waits until
        its timeout."""
        if missing := [name for name in REQUIRED_MEMBERS if not isinstance(event.get(name), str)]:
            message = f"This is not a request of CloudFormation: it lacks {', '.join(missing)}."
            return {"error": {"code": "not_understood", "message": message}}
        last_attempt = self._clock.now() + remaining_ms / 1000 - SECONDS_TO_ANSWER
        with self._telemetry.record_request(event["RequestId"], "DEPLOY", event["LogicalResourceId"]) as record:
            record.operation = event["RequestType"]
            problem = self._carry_out_patiently(event, last_attempt)
            if problem is not None and problem.fault is not None:
                record.set_fault(problem.fault)
            if event["RequestType"] == "Delete":
                problem = None  # rows that can no longer be written must not block the deletion of the stack
            record.set_status(400 if problem else 200)
            answer = _answer_to(event, "" if problem is None else problem.message)
            self._answer(event["ResponseURL"], answer)
        return answer

    def _carry_out_patiently(self, event: Mapping[str, Any], last_attempt: float) -> _Problem | None:
        """Carries out the request, again and again while its problem may pass. Each attempt does the whole, which
        changes nothing that is done already."""
        problem = self._carry_out(event)
        while problem is not None and problem.may_pass and self._clock.now() + PAUSE <= last_attempt:
            self._pause(PAUSE)
            problem = self._carry_out(event)
        return problem

    def _carry_out(self, event: Mapping[str, Any]) -> _Problem | None:
        is_deletion = event["RequestType"] == "Delete"
        try:
            self._lists.carry_out(event)
            message = self._shipped.carry_out(event)
        except PlacementError as fault:
            return _Problem(str(fault), may_pass=not is_deletion and fault.code in TRANSIENT_CODES)
        except Unavailable as fault:
            return _Problem(str(fault), may_pass=not is_deletion)
        except Exception as fault:  # noqa: BLE001 - the boundary
            message = f"An internal error occurred ({type(fault).__name__}). See the log of the registry function."
            return _Problem(message, may_pass=not is_deletion, fault=fault)
        return None if message is None else _Problem(message)


def _names_in(listed: Sequence[str]) -> Sequence[str]:
    """Return the names without blanks around them. A parameter without a value is a list of one empty name."""
    return tuple(filter(None, map(str.strip, listed)))


def _executors_in(event: Mapping[str, Any], properties: str) -> Sequence[str]:
    return () if event["RequestType"] == "Delete" else event.get(properties, {}).get("Executors", ())


def _former_executors(event: Mapping[str, Any]) -> Sequence[str]:
    properties = "ResourceProperties" if event["RequestType"] == "Delete" else "OldResourceProperties"
    return event.get(properties, {}).get("Executors", ())


def _answer_to(event: Mapping[str, Any], problem: str) -> JsonObject:
    return {
        "Status": "FAILED" if problem else "SUCCESS",
        "Reason": problem[:LONGEST_REASON],
        "PhysicalResourceId": PHYSICAL_ID,
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
