"""`async def` functions in an executor: they end as plain functions do, with the deadline, the context and trials."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

import pytest

from signpost.contract import CallReply, Failure, FunctionCall, Result
from signpost.model import JsonObject
from signpost.toolkit import CallEnded, Content, Context, ToolError, Toolkit
from tests.support.function_host import FunctionHost, host_callable
from tests.support.slowdown import shortest

SOON = 0.2
"""Seconds until the deadline."""
SPARE = 0.5
"""Seconds after it by which the reply is there."""
TIMED_OUT = Failure("timed_out", "timeout", "unknown", "f took too long and was stopped.")
over = threading.Event()
"""Set at the end of a test, for the threads that it left running."""


class Doubler:
    """Stands in for the gateway, and doubles the number of a nested call."""

    def call(self, token: str, parent: FunctionCall, function: str, arguments: JsonObject) -> CallReply:
        del token, parent, function
        return Result(int(str(arguments["n"])) * 2)


async def pause() -> None:
    await asyncio.sleep(0.001)


async def answer_in_turns(args: Any) -> Any:
    first, second = await asyncio.gather(asyncio.sleep(0.001, args["a"]), asyncio.sleep(0, 2))
    return [first, second]


async def answer_with_context(_args: Any, ctx: Context) -> Any:
    await pause()
    ctx.log.info("Half way.")
    doubled = [await asyncio.to_thread(ctx.call, "math::double", {"n": n}) for n in (1, 2)]
    return {"doubled": doubled, "in_time": ctx.remaining() > 0, "secret": len(ctx.secret("mail"))}


async def report() -> None:
    await pause()
    raise ToolError("There is no such order.")


async def fail() -> None:
    await pause()
    raise ValueError("internal")


async def cancel_itself() -> None:
    raise asyncio.CancelledError


class AsyncCallable:
    async def __call__(self) -> str:
        await pause()
        return "called"


def pass_on() -> Any:
    """Answers a coroutine without being declared async, as some decorators do."""
    return answer_in_turns({"a": 1})


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize(
    ("run", "value"),
    [(answer_in_turns, [1, 2]), (AsyncCallable(), "called"), (pass_on, [1, 2])],
    ids=["async", "callable", "coroutine"],
)
def test_an_async_function_is_run_to_its_end(run: Any, value: Any, isolate: bool) -> None:
    world = host_callable(run, isolate=isolate)
    assert [world.call("f", {"a": 1}) for _ in range(2)] == [Result(value, []), Result(value, [])]


def test_an_async_function_uses_its_context_as_a_plain_one() -> None:
    world = host_callable(answer_with_context, calls=["math::double"], nested=Doubler(), secrets={"mail": "01234567"})
    assert world.call("f") == Result({"doubled": [2, 4], "in_time": True, "secret": 8}, [])
    assert [line["said"] for line in world.log.find_lines("said")] == ["Half way."]


@pytest.mark.parametrize(
    ("run", "failed"),
    [
        (report, Failure("reported", "permanent_error", "none", "There is no such order.")),
        (fail, Failure("exception", "permanent_error", "unknown", "f failed unexpectedly.")),
        (cancel_itself, Failure("exception", "permanent_error", "unknown", "f failed unexpectedly.")),
    ],
)
def test_an_exception_of_an_async_function_is_that_of_a_plain_one(run: Callable[[], object], failed: Failure) -> None:
    assert host_callable(run).call("f") == failed


async def wait() -> None:
    await asyncio.sleep(60)


async def spin() -> None:
    while True:
        pass


async def wait_in_task_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(spin_later())
        await asyncio.sleep(60)


async def spin_later() -> None:
    await asyncio.sleep(0)
    while True:
        pass


async def swallow_each_cancellation() -> None:
    while True:
        with suppress(BaseException):
            await asyncio.sleep(60)


async def wait_for_thread() -> None:
    await asyncio.to_thread(over.wait)


async def spin_in_callback() -> None:
    """The loop itself drops what a callback raises."""

    def spin_plainly() -> None:
        while True:
            pass

    asyncio.get_running_loop().call_soon(spin_plainly)
    await asyncio.sleep(60)


async def answer_for_a_stopped_task() -> str:
    await asyncio.gather(spin(), return_exceptions=True)
    return "answered"


async def leave_task_that_resists() -> str:
    async def resist() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)

    asyncio.create_task(resist())  # noqa: RUF006 - it is left on purpose
    await asyncio.sleep(0)
    return "answered"


async def leave_generator_that_waits() -> str:
    async def count() -> AsyncGenerator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(60)

    async for _ in count():
        break
    return "answered"


LEFT = (spin_in_callback, answer_for_a_stopped_task, leave_task_that_resists, leave_generator_that_waits)
STOPPED_HERE = (wait, spin, wait_in_task_group, wait_for_thread, *LEFT)
STOPPED_APART = (*STOPPED_HERE, swallow_each_cancellation)
STOPPED = [*((run, False) for run in STOPPED_HERE), *((run, True) for run in STOPPED_APART)]


@pytest.mark.invariant(133)
@pytest.mark.parametrize(("run", "isolate"), STOPPED, ids=lambda value: getattr(value, "__name__", str(value)))
def test_an_async_function_is_stopped_at_its_deadline(run: Callable[[], object], isolate: bool) -> None:
    def late() -> float:
        began = time.monotonic()
        assert world.call("f", seconds=SOON) == TIMED_OUT
        return time.monotonic() - began - SOON

    over.clear()
    world = host_callable(run, isolate=isolate)
    assert shortest(late, SPARE) < SPARE
    assert "deadline" in world.log.find_lines("fault")[-1]["fault"]
    over.set()


@pytest.mark.invariant(133)
def test_an_async_function_is_cancelled_at_its_deadline_and_cleans_up() -> None:
    ended: list[str] = []

    async def tidy() -> None:
        beside = asyncio.create_task(wait_beside())
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await pause()
            ended.append("cancelled")
            raise
        finally:
            ended.append(f"cleaned up, beside: {beside.done()}")

    async def wait_beside() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("beside")

    assert host_callable(tidy).call("f", seconds=SOON) == TIMED_OUT
    assert sorted(ended) == ["beside", "cancelled", "cleaned up, beside: True"]


@pytest.mark.invariant(133)
def test_tasks_that_an_async_function_leaves_running_are_cancelled_before_it_answers() -> None:
    ended: list[str] = []

    async def leave() -> str:
        asyncio.create_task(linger())  # noqa: RUF006 - it is left on purpose
        await pause()
        return "answered"

    async def linger() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    assert host_callable(leave).call("f") == Result("answered", [])
    assert ended == ["cancelled"]


def test_a_thread_that_an_async_function_leaves_running_does_not_delay_its_answer() -> None:
    async def leave() -> str:
        asyncio.get_running_loop().run_in_executor(None, over.wait)
        return "answered"

    over.clear()
    world = host_callable(leave)
    assert shortest(lambda: seconds_of(lambda: world.call("f", seconds=20)), 5) < 5
    assert world.log.find_lines("left behind")
    over.set()


def seconds_of(act: Callable[[], object]) -> float:
    began = time.monotonic()
    assert act() == Result("answered", [])
    return time.monotonic() - began


def test_the_context_of_an_async_function_ends_with_its_call() -> None:
    kept: list[Context] = []

    async def keep(_args: Any, ctx: Context) -> None:
        kept.append(ctx)

    host_callable(keep, calls=["math::double"], nested=Doubler()).call("f")
    with pytest.raises(CallEnded):
        kept[0].call("math::double", {"n": 1})


# Toolkits


def build_kit() -> Toolkit:
    kit = Toolkit("library")

    @kit.tool(permissions=["borrow"])
    async def borrow(book: str, days: int, ctx: Context) -> str:
        """Borrows a book."""
        await pause()
        ctx.require("borrow")
        return f"{book} for {days + 0} days"

    @kit.tool(output={"title": "string"})
    async def first() -> Any:
        await pause()
        return {"title": 5}

    @kit.prompt(complete={"language": complete_language})
    async def review(language: str) -> str:
        """Asks for a review."""
        await pause()
        return f"Review this {language}."

    @kit.resource("library://rules.md")
    async def rules(ctx: Context) -> Any:
        await pause()
        return Content.text(f"Rules of {ctx.tenant}")

    @kit.template("library://books/{book}", enumerate=list_books)
    async def book(book: str) -> str | None:
        await pause()
        return "Maps." if book == "atlas" else None

    return kit


async def complete_language(value: str) -> list[str]:
    await pause()
    return [language for language in ("perl", "python") if language.startswith(value)]


async def list_books() -> list[str]:
    await pause()
    return ["library://books/atlas"]


def test_a_trial_runs_async_tools_with_the_checks_of_an_executor() -> None:
    kit = build_kit()
    assert kit.test("borrow", {"book": "Atlas", "days": 2}, permissions=["borrow"]).value == "Atlas for 2 days"
    assert "days" in str(kit.test("borrow", {"book": "Atlas", "days": "two"}).failure)
    refused = kit.test("first").failure
    assert refused is not None
    assert refused.code == "result_refused"


def test_a_trial_runs_async_prompts_resources_templates_and_helpers() -> None:
    kit = build_kit()
    assert kit.get_prompt("review", {"language": "perl"}).text == "Review this perl."
    assert kit.read("library://rules.md").text == "Rules of test"
    assert kit.read("library://books/atlas").text == "Maps."
    assert kit.complete("review", "language", "p") == ["perl", "python"]
    assert kit.instances("library://books/{book}")[0]["uri"] == "library://books/atlas"


def test_an_executor_hosts_the_async_functions_of_a_toolkit() -> None:
    world = FunctionHost(build_kit().functions)
    assert world.call("library::review", {"language": "perl"}) == Result(
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Review this perl."}}]}, []
    )
    assert world.call("library::review::complete", {"argument": "language", "value": "py"}) == Result(
        {"values": ["python"], "total": 1, "hasMore": False}, []
    )


def test_a_trial_within_an_event_loop_says_what_to_do() -> None:
    async def test_of_an_author() -> str:
        return build_kit().test("first").fault

    assert "Call it from a plain function." in asyncio.run(test_of_an_author())


IMPORTS = """
import sys
from signpost.toolkit import Function, Toolkit, executor
from signpost.toolkit import harness, production
kit = Toolkit("yard")
{decorated}
executor(kit)
kit.test("f")
print("asyncio" in sys.modules)
"""


@pytest.mark.parametrize(
    ("declaration", "imported"), [("def f(): return 1", "False"), ("async def f(): return 1", "True")]
)
def test_only_an_executor_with_async_functions_imports_asyncio(declaration: str, imported: str) -> None:
    source = IMPORTS.format(decorated=f"@kit.tool\n{declaration}")
    printed = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True, text=True).stdout
    assert printed.strip() == imported


async def generate_asynchronously(_args: Any) -> Any:
    yield 1


def test_an_async_generator_is_refused_at_import_with_the_way_out() -> None:
    for declare in (Toolkit("yard").tool, Toolkit("yard").prompt, Toolkit("yard").resource("yard://a")):
        with pytest.raises(Exception, match=r"yard::generate_asynchronously: it is an async generator.*return the"):
            declare(generate_asynchronously)
