"""A stack of the test stage with a registry function that dies at a chosen step, and a sweeper with short retention
times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoRuntimeSettings, rows
from signpost.adapters.dynamodb.content_head import ContentHead, head_in
from stage.crashes import CRASHED_AT, MORTAL_VARIABLE, PASSED_STEPS, STEP_SEPARATOR
from tests.support.functions import Functions, connect_functions
from tests.support.laptop import Laptop, Stack

STACK = "swept"
NEVER = 10_000


@dataclass(frozen=True, slots=True)
class SweptStack:
    laptop: Laptop
    stack: Stack
    functions: Functions
    dynamodb: Any
    s3: Any

    def call_registry(self, tenant: str, function_id: str, payload: Mapping[str, Any], **more: int | str) -> Any:
        """Call a registry function; None if the process died."""
        event = {"function_id": function_id, "payload": payload, "tenant": tenant, **more}
        answer = self.functions.invoke("Registry", event)
        assert answer is not None or "crash_after" in more, self._failures("registry")
        return None if answer is None or CRASHED_AT in answer else answer

    def list_crash_steps(self, tenant: str, function_id: str, payload: Mapping[str, Any]) -> Sequence[str]:
        """Run a registry function, and return the names of all steps at which its process could have died."""
        answer = self.call_registry(tenant, function_id, payload, crash_after=NEVER)
        assert answer is not None
        assert "error" not in answer, answer
        return answer[PASSED_STEPS].split(STEP_SEPARATOR)

    def choose_mortal_process(self, what: str | None) -> None:
        """Set what `crash_after` ends: a process of each call, or the sandbox that Lambda started."""
        self.functions.configure("Registry", **{MORTAL_VARIABLE: what})

    def sweep(self) -> Any:
        answer = self.functions.invoke("Sweeper", {"source": "aws.events"})
        assert answer is not None, self._failures("sweeper")
        return answer

    def register(self, tenant: str, skill_id: str, body: str) -> None:
        assert "error" not in self.call_registry(tenant, "skills::register", {"id": skill_id, "skill": body})

    def read_documents(self, tenant: str) -> Mapping[str, str]:
        """Return every listed document with its text."""
        listed = self.call_registry(tenant, "skills::list", {})["skills"]
        return {skill["id"]: self._read(tenant, skill["id"]) for skill in listed}

    def _read(self, tenant: str, skill_id: str) -> str:
        answer = self.call_registry(tenant, "skills::resources-read", {"uri": f"iii://{skill_id}"})
        assert "error" not in answer, answer
        return answer["contents"][0]["text"]

    def list_prompts(self, tenant: str) -> Sequence[str]:
        return [prompt["name"] for prompt in self.call_registry(tenant, "prompts::list", {})["prompts"]]

    def read_head(self, tenant: str) -> ContentHead:
        return head_in(rows.get(self.dynamodb, self.table, keys.content_version(tenant)))

    def list_versions(self, prefix: str) -> Sequence[str]:
        """Return the keys of all versions and of all delete markers."""
        answer = self.s3.list_object_versions(Bucket=self.stack.deployed.outputs["ContentBucketName"], Prefix=prefix)
        return [entry["Key"] for kind in ("Versions", "DeleteMarkers") for entry in answer.get(kind, ())]

    def disable_shipped_content(self, tenant: str) -> None:
        DynamoRuntimeSettings(self.dynamodb, self.table).set(tenant, None, "shipped_content", 0)

    def _failures(self, function: str) -> Sequence[str]:
        """Return the log lines of failures of the function."""
        group = f"/signpost/{self.stack.deployed.name}/{function}"
        events = self.laptop.client("logs").filter_log_events(logGroupName=group)["events"]
        return [line["message"] for line in events if '"failed"' in line["message"]]

    @property
    def table(self) -> str:
        return self.stack.deployed.outputs["RegistryTableName"]


def deploy_swept_stack(laptop: Laptop) -> SweptStack:
    stack = laptop.deploy(STACK, variant="test", AuthMode="both")
    functions = connect_functions(laptop, stack)
    functions.configure("Sweeper", HURRIED="12")  # longer than a registry function of these tests takes
    return SweptStack(laptop, stack, functions, laptop.client("dynamodb"), laptop.client("s3"))
