"""Workflow cases against a deployed stack: published as authors publish, asked as clients ask, over HTTP."""

import json
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from signpost.adapters.dynamodb.instances import DynamoInstanceStore
from signpost.adapters.s3 import S3Values
from signpost.cli.failure import CommandFailed
from signpost.cli.publish.checking import CheckRules
from signpost.cli.publish.files import read_publication
from signpost.cli.publish.upload import RemotePublisher
from signpost.identity.permissions import ADMINISTRATION
from signpost.model import JsonObject, Principal, as_object
from tests.acceptance.callers import Credentials
from tests.acceptance.deployed import Deployment
from tests.acceptance.outcomes import CaseNotPlayed
from tests.acceptance.stubs import Stubs
from tests.acceptance.workflow_cases import Case, Step, principals
from tests.acceptance.workflow_steps import audit_answer
from tests.support.commands import build_process_runner
from tests.support.memory_gateway import GatewayAnswer
from tests.support.tool_answers import read_tool_answer

STUB = "stub"
"""A kind of executor that `signpost check` is told of, since the cases take it for granted."""


class Deployed:
    """A tenant of the case's own, in which what it defines has been published."""

    def __init__(self, deployment: Deployment, home: Path, case: Case) -> None:
        self._deployment = deployment
        self._case = case
        self._tenant = f"case-{uuid.uuid4().hex[:16]}"
        self._home = home / self._tenant
        self._home.mkdir()
        self._laptop, self._stack = deployment.executors.laptop, deployment.executors.gateway
        self._credentials = Credentials(self._laptop, self._stack)
        self._callers = principals(case, self._tenant)
        self._stubs = Stubs(deployment, self._tenant)
        self._does: Mapping[str, Callable[[Step], Any]] = {
            "$sleep": self._sleep,
            "$audit": self._audit,
            "$check": self._check,
            "$reload": self._reload,
            "$tools": self._tools,
            "$parallel": self._at_once,
            "$stub": self._called,
        }
        # No case speaks of breakers, and some let a function fail as often as one takes to open.
        deployment.executors.set_settings(self._tenant, shipped_content=0, breaker_failures=0)
        if any(step.tool != "$check" for step in case.steps):
            self._publish(case.manifest)
        self._host_skills()
        for skill_id, body in case.documents.items():
            self._ask_registry("skills::register", {"id": skill_id, "skill": body})

    def play(self, step: Step) -> Any:
        if not step.tool.startswith("$"):
            answered = read_tool_answer(self._ask(step, "tools/call", {"name": step.tool, "arguments": step.args}))
            return self._stubs.as_written(answered)
        if step.tool not in self._does:
            raise CaseNotPlayed(f"this player does not know the step {step.tool}")
        return self._does[step.tool](step)

    def _host_skills(self) -> None:
        for entry in self._case.hosts:
            self._deployment.executors.write_script(self._tenant, str(entry["id"]), entry.get("script", ()))
        if self._case.hosts:
            self._deployment.place(self._tenant, self._case.hosted)

    def _sleep(self, step: Step) -> Any:
        time.sleep(step.args["ms"] / 1000)
        return {}

    def _audit(self, step: Step) -> Any:
        """As `signpost audit` reads it: from the tables, with the rights of the account's owner."""
        outputs = self._stack.deployed.outputs
        values = S3Values(lambda: self._laptop.client("s3"), outputs["ContentBucketName"])
        instances = DynamoInstanceStore(self._laptop.client("dynamodb"), outputs["WorkflowsTableName"], values)
        return audit_answer(instances.audit(self._tenant, step.args["workflowId"]))

    def _called(self, step: Step) -> Any:
        return {"calls": self._stubs.calls(step.args["id"])}

    def _check(self, step: Step) -> Any:
        """By the command itself. The cases want texts, and do not speak of places in files."""
        manifest = step.args.get("raw", self._case.with_other(step.args).manifest)
        done = build_process_runner(self._laptop)("check", "--json", "--executor", STUB, str(self._written(manifest)))
        if not done.stdout:
            raise CaseNotPlayed(f"signpost check ended with {done.returncode}: {done.stderr}")
        found = json.loads(done.stdout)
        assert done.returncode == (0 if found["ok"] else 1), done
        return {**found, **{kind: [one["message"] for one in found[kind]] for kind in ("errors", "warnings")}}

    def _reload(self, step: Step) -> Any:
        self._publish(self._case.with_other(step.args).manifest)
        return {}

    def _tools(self, step: Step) -> Any:
        return {"tools": [tool["name"] for tool in self._ask(step, "tools/list", {}).json["result"]["tools"]]}

    def _at_once(self, step: Step) -> Any:
        calls = [Step(call["tool"], call.get("args", {}), call.get("as", "agent")) for call in step.args["calls"]]
        with ThreadPoolExecutor(len(calls)) as threads:
            return {"results": list(threads.map(self.play, calls))}

    def _ask(self, step: Step, method: str, params: JsonObject) -> GatewayAnswer:
        if step.caller not in self._callers:
            raise CaseNotPlayed(f"this player does not know the caller {step.caller}")
        answer = self._stack.request(self._credentials.of(self._callers[step.caller]), method, params)
        if answer.status >= 500:
            raise CaseNotPlayed(f"{step.tool} was answered {answer.status}: {answer.text}")
        return answer

    def _publish(self, manifest: Mapping[str, Any]) -> None:
        manifest = self._stubs.placed(manifest)
        publisher = RemotePublisher(self._ask_registry, show_line=lambda _: None)
        try:
            publication = read_publication(self._written(manifest), CheckRules())
            publisher.publish(publication, publisher.plan(publication, prune=True), prune=True)
        except CommandFailed as refused:
            raise CaseNotPlayed(f"what it defines could not be published: {refused}") from refused

    def _ask_registry(self, function_id: str, payload: JsonObject) -> JsonObject:
        """With the credential of an author, as `signpost publish` sends that of whoever runs it."""
        author = Principal("author", self._tenant, "cases", permissions=frozenset({ADMINISTRATION}))
        authorization = f"Bearer {self._credentials.of(author)}"
        answer = self._deployment.ask_registry(function_id, payload, authorization=authorization)
        if "error" in answer:
            raise CommandFailed(json.dumps(answer["error"]))
        return as_object(answer)

    def _written(self, manifest: Mapping[str, Any]) -> Path:
        path = self._home / "manifest.json"
        path.write_text(json.dumps(manifest), "utf-8")
        return path
