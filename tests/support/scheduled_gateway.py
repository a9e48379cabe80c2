"""A gateway in memory whose workflows start by themselves: publications, sweeps and a worker, on one clock."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import Any, override

from signpost.adapters.memory import MemoryContentStore, MemoryRevisionRows
from signpost.adapters.memory.due import MemoryDue, MemoryWorkQueue
from signpost.adapters.memory.instances import MemoryInstanceStore
from signpost.adapters.memory.timetables import MemoryTimetables
from signpost.catalogue.items import compile_definitions
from signpost.catalogue.publishing.catalogue import CataloguePublisher
from signpost.catalogue.publishing.publish_functions import PublishFunctions
from signpost.catalogue.publishing.publisher import Publisher
from signpost.catalogue.publishing.sent_definitions import SentDefinitions
from signpost.catalogue.schedules import CatalogueSchedules
from signpost.content.api.errors import RegistryAnswer, RegistryRefusal
from signpost.content.callers import Caller
from signpost.content.deliveries import Backoff
from signpost.entrypoints.sweeper import DueSweeper
from signpost.entrypoints.workflow_worker import WorkflowWorker
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import JsonObject, Principal
from signpost.telemetry import Telemetry
from signpost.wiring.workflows import build_own_starts
from signpost.workflow.instance import AuditEvent, Instance, InstanceWrite, WriteCondition
from signpost.workflow.wakes import SCHEDULES, WakeMessage
from tests.support.memory_gateway import ManualClock, MemoryGateway
from tests.support.memory_worker import build_worker_services

TENANT = "acme"
OPERATOR = Principal("operator", TENANT, "signpost:operator", permissions=frozenset({ADMINISTRATION}))
WORKER_MS = 900_000
_numbers = count()


class RecordingInstances(MemoryInstanceStore):
    """Remembers the ids of the instances that were started, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[str] = []

    @override
    def save(self, tenant: str, entry: InstanceWrite, *, replacing: WriteCondition | None) -> bool:
        is_saved = super().save(tenant, entry, replacing=replacing)
        if is_saved and replacing is None:
            self.started.append(entry.instance.id)
        return is_saved


class ClockTimestamps:
    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def now(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="microseconds")


class _NoQueue:
    def put(self, text: str) -> None:
        raise AssertionError(text)

    def put_off(self, receipt: str, seconds: int) -> None:
        del receipt, seconds  # the test decides when a message is received again


class ScheduledGateway:
    def __init__(self, now: datetime, timetables: MemoryTimetables | None = None) -> None:
        """`timetables` may be made with any clock: they get that of the gateway."""
        self.gateway = MemoryGateway()
        self.clock = self.gateway.clock
        self.set_time(now)
        self.timetables = timetables or MemoryTimetables(self.clock)
        self.timetables.clock = self.clock
        self.instances = RecordingInstances()
        self.gateway.instances = self.instances
        content = MemoryContentStore(self.gateway.functions, self.timetables)
        self.gateway.replace_adapters(content=content, revisions=MemoryRevisionRows(content))
        self.queue = MemoryWorkQueue(self.clock)
        self._functions = self._build_functions()
        self.worker = self.build_worker()

    def _build_functions(self) -> PublishFunctions:
        adapters = self.gateway.adapters
        catalogues = CataloguePublisher(
            content=adapters.content, values=adapters.values, definitions=adapters.definitions
        )
        return PublishFunctions(
            Publisher(
                content=adapters.content,
                bodies=adapters.bodies,
                catalogues=catalogues,
                timestamps=ClockTimestamps(self.clock),
            )
        )

    def build_worker(self) -> WorkflowWorker:
        adapters, services = build_worker_services(self.gateway)
        schedules = CatalogueSchedules(self.gateway.composition.catalogue)
        own_starts = build_own_starts(adapters, schedules, self.timetables, services.workflows)
        return WorkflowWorker(
            waker=services.waker,
            schedules=own_starts.schedules,
            events=own_starts.events,
            queue=_NoQueue(),
            backoff=Backoff(first=10, longest=300),
            clock=self.clock,
            telemetry=Telemetry(f"scheduled-worker-{next(_numbers)}"),
        )

    def set_time(self, now: datetime) -> None:
        self.clock.advance(now.timestamp() - self.clock.now())

    def call(self, function: str, payload: JsonObject, by: Principal = OPERATOR) -> RegistryAnswer:
        return self._functions.call(function, payload, Caller(TENANT, by, self.clock.now() + 20))

    def publish(self, by: Principal = OPERATOR, *, prune: bool = False, **manifest: Any) -> Any:
        """Publish as the command does: definitions first, then everything that names them."""
        answer = self.call("manifest::publish", self._request(manifest, prune=prune), by)
        assert not isinstance(answer, RegistryRefusal), answer.message
        return answer

    def refuse(self, by: Principal = OPERATOR, *, prune: bool = False, **manifest: Any) -> str:
        """Return the message with which a publication is refused."""
        answer = self.call("manifest::publish", self._request(manifest, prune=prune), by)
        assert isinstance(answer, RegistryRefusal), answer
        return answer.message

    def plan(self, *, prune: bool = False, **manifest: Any) -> Any:
        return self.call("manifest::plan", self._request(manifest, prune=prune))

    def _request(self, manifest: Mapping[str, Any], *, prune: bool) -> JsonObject:
        defined = {name: manifest[name] for name in ("workflows", "proxy", "capabilities") if name in manifest}
        request: dict[str, Any] = {"prune": prune}
        request |= {name: value for name, value in manifest.items() if name not in defined}
        if defined:
            sent = compile_definitions({"version": 1, **defined})
            assert isinstance(sent, SentDefinitions), sent
            part: Any = self.call("manifest::bodies", {"definitions": {"version": 1, **defined}})
            request["parts"] = [part["part"]]
            kinds = {"workflows": "workflow", **({"capabilities": "capability"} if "proxy" in defined else {})}
            for name, kind in kinds.items():
                items = [{"id": item.id, "digest": item.definition} for item in sent.items if item.kind == kind]
                if name in defined or items:
                    request[name] = items
        return request

    def switch(self, schedule: str, *, enabled: bool) -> Any:
        return self.call("manifest::switch", {"schedule": schedule, "enabled": enabled})

    def sweep(self) -> int:
        """Run the sweeper once. Returns the number of messages that it put into the queue."""
        due = MemoryDue(self.instances, self.timetables)
        sweeper = DueSweeper(due=due, queue=self.queue, clock=self.clock, telemetry=Telemetry("scheduled-sweeper"))
        answer: Any = sweeper.handle("sweep")
        return answer["woken"]

    def work(self, *messages: WakeMessage) -> Sequence[str]:
        """Have the worker process these messages, or those of the queue. Returns the failed ones."""
        failed: list[str] = []
        for message in messages or self.queue.take():
            record = {
                "messageId": message.text,
                "receiptHandle": "r",
                "body": message.text,
                "attributes": {"ApproximateReceiveCount": "1"},
            }
            answer: Any = self.worker.handle({"Records": [record]}, WORKER_MS, "work")
            failed += [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        return failed

    def look(self) -> Sequence[str]:
        """Have the worker look at the schedules, as a message of the queue asks it to."""
        return self.work(WakeMessage(TENANT, SCHEDULES))

    def sweep_and_work(self) -> None:
        self.sweep()
        assert self.work() == []

    @property
    def runs(self) -> Sequence[Instance]:
        loaded = [self.instances.load(TENANT, name) for name in self.instances.started]
        return [instance for instance in loaded if instance is not None]

    @property
    def refusals(self) -> Sequence[AuditEvent]:
        return self.instances.audit(TENANT, SCHEDULES)

    def result_of(self, schedule: str) -> Any:
        timetable = self.timetables.load(TENANT)
        assert timetable is not None
        return timetable.results[schedule]
