"""The methods of the context by which toolkit functions give grants and announce changes, through a whole gateway."""

import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from signpost.adapters.memory import MemoryContentStore
from signpost.contract import Failure, Result
from signpost.deployment_lists import DeploymentLists
from signpost.toolkit import CallFailed, Context, Toolkit
from tests.support.function_host import FunctionHost
from tests.support.memory_gateway import MODERN
from tests.support.toolkits import ServedToolkits


def build_components() -> Toolkit:
    kit = Toolkit("parts")

    @kit.prompt(visible_when={"grant": "unlocked"})
    def ask() -> str:
        return "Dig?"

    @kit.resource("yard://map", visible_when={"grant": "unlocked"})
    def find() -> str:
        return "here"

    @kit.template("yard://plots/{plot}", visible_when={"grant": "unlocked"})
    def plot(plot: str) -> str:
        return plot

    assert [ask, find, plot]
    return kit


def build_yard() -> Toolkit:
    kit = Toolkit("yard")

    @kit.tool
    def unlock(grant: str, ctx: Context, seconds: float | None = None) -> bool:
        ctx.grant(grant, seconds)
        return ctx.has_grant(grant)

    @kit.tool
    def lock(grant: str, ctx: Context) -> bool:
        return ctx.revoke(grant)

    @kit.tool
    def announce(kind: str, uri: str, ctx: Context) -> None:
        ctx.changed(kind)
        ctx.resource_updated(uri)

    @kit.tool(visible_when={"any": [{"grant": "unlocked"}, {"claim": {"department": "digging"}}]})
    def dig() -> str:
        return "dug"

    @kit.tool
    def department(ctx: Context) -> Any:
        return {"department": ctx.principal.claims.get("department")}

    assert [unlock, lock, announce, dig, department]
    return kit


@pytest.fixture(params=[MODERN, "2025-11-25"])
def served(request: pytest.FixtureRequest) -> ServedToolkits:
    served = ServedToolkits(build_yard(), build_components(), version=request.param, CLAIMS="1")
    served.gateway.deployment_lists.write(DeploymentLists(claims=("department",)))
    return served


def value_of(served: ServedToolkits, name: str, **arguments: Any) -> Any:
    result = served.call(name, **arguments)
    assert result["isError"] is False, result
    return json.loads(result["content"][0]["text"])


def list_in_another_sandbox(served: ServedToolkits) -> frozenset[str]:
    served.gateway.replace_adapters()
    return frozenset(served.list_tools())


def test_a_function_gives_and_takes_the_grant_that_shows_another(served: ServedToolkits) -> None:
    assert "yard__dig" not in served.list_tools()
    assert value_of(served, "yard__unlock", grant="unlocked", seconds=3600) is True
    assert "yard__dig" in list_in_another_sandbox(served)
    assert value_of(served, "yard__lock", grant="unlocked") is True
    assert value_of(served, "yard__lock", grant="unlocked") is False
    assert "yard__dig" not in list_in_another_sandbox(served)
    assert served.call("yard__dig")["content"][0]["text"] == "dug"


def test_a_grant_shows_prompts_resources_and_templates(served: ServedToolkits) -> None:
    def count() -> list[int]:
        served.gateway.replace_adapters()
        lists = {
            "prompts/list": "prompts",
            "resources/list": "resources",
            "resources/templates/list": "resourceTemplates",
        }
        found = [served.request_result(method)[member] for method, member in lists.items()]
        return [len([entry for entry in entries if "iii" not in json.dumps(entry)]) for entries in found]

    before = count()
    assert value_of(served, "yard__unlock", grant="unlocked") is True
    assert [after - known for after, known in zip(count(), before, strict=True)] == [1, 1, 1]


def test_a_function_announces_a_list_and_a_resource(served: ServedToolkits) -> None:
    value_of(served, "yard__announce", kind="prompts", uri="yard://map")
    content = served.gateway.adapters.content
    assert isinstance(content, MemoryContentStore)
    told = [(event.type, event.op, event.key) for event in content.events]
    assert told == [("lists::on-change", "change", "prompts"), ("resources::on-change", "update", "yard://map")]


def test_a_function_reads_the_claims_that_the_deployment_names(served: ServedToolkits) -> None:
    served.gateway.clock.advance(time.time() - served.gateway.clock.now())
    served.key = served.gateway.make_token(department="digging", country="fr")
    assert value_of(served, "yard__department") == {"department": "digging"}
    assert "yard__dig" in served.list_tools()
    served.key = served.gateway.make_token(country="fr")
    assert value_of(served, "yard__department") == {"department": None}
    assert "yard__dig" not in served.list_tools()


type Mistake = tuple[Callable[[Context], object], str]
MISTAKES: Sequence[Mistake] = [
    (lambda ctx: ctx.grant("no spaces"), "The name of a grant has 1 to 128"),
    (lambda ctx: ctx.grant("a", 0), "A grant lasts more than 0"),
    (lambda ctx: ctx.revoke(""), "The name of a grant has 1 to 128"),
    (lambda ctx: ctx.has_grant("-"), "The name of a grant has 1 to 128"),
    (lambda ctx: ctx.changed("documents"), "A list that changed is one of tools, prompts, resources."),
    (lambda ctx: ctx.resource_updated("map"), "The URI of a resource that changed is not valid"),
]


@pytest.mark.parametrize(("call", "said"), MISTAKES)
def test_a_mistake_of_the_author_is_an_exception_before_anything_is_sent(
    call: Callable[[Context], object], said: str
) -> None:
    def misuse(ctx: Context) -> None:
        with pytest.raises(ValueError, match=re.escape(said)):
            call(ctx)

    kit = Toolkit("yard")
    kit.tool(misuse)
    assert kit.test("misuse").failure is None


def test_an_executor_that_cannot_reach_the_gateway_gives_no_grants() -> None:
    seen: list[Failure] = []

    def unlock(ctx: Context) -> None:
        with pytest.raises(CallFailed) as raised:
            ctx.grant("unlocked")
        seen.append(raised.value.failure)

    kit = Toolkit("yard")
    kit.tool(unlock)
    assert isinstance(FunctionHost(list(kit.functions)).call("yard::unlock"), Result)
    assert (seen[0].code, seen[0].message) == (
        "unreachable",
        "grant is not possible: this executor was deployed without GATEWAY_FUNCTION.",
    )
