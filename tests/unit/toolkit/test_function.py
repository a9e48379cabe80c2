"""What an author declares; what cannot work is refused at import, by the name of the function."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from signpost.calling.function_ids import is_function_id
from signpost.contract import HostedFunction
from signpost.toolkit import DeclarationError, Function
from signpost.toolkit.context import Context, ContextServices
from tests.support.function_host import MemoryLog, build_call, build_secrets

CONTEXT = Context(build_call("f"), "", ContextServices(None, build_secrets({}), MemoryLog()), seconds=1)
ARGUMENTS = {"a": 1}


class Callables:
    def method(self, args: Any, ctx: Any) -> Any:
        return args, ctx

    def __call__(self, args: Any) -> Any:
        return (args,)


def no_parameters() -> Any:
    return ()


def args_only(args: Any) -> Any:
    return (args,)


def args_and_context(args: Any, ctx: Any) -> Any:
    return args, ctx


def any_parameters(*given: Any) -> Any:
    return given


def optional_context(args: Any, ctx: Any = None) -> Any:
    return args, ctx


def own_option(args: Any, limit: int = 5) -> Any:
    assert limit == 5
    return (args,)


def only_options(args: Any = None) -> Any:
    return (args,)


def named_option(args: Any, *, limit: int = 5) -> Any:
    assert limit == 5
    return (args,)


FORMS: Mapping[Callable[..., Any], int] = {
    no_parameters: 0, args_only: 1, args_and_context: 2, any_parameters: 2, Callables().method: 2,
    Callables(): 1, optional_context: 2,
    own_option: 1, only_options: 1, named_option: 1,
}  # fmt: skip


@pytest.mark.parametrize(("run", "taken"), FORMS.items())
def test_a_function_gets_the_parameters_of_its_signature(run: Callable[..., Any], taken: int) -> None:
    assert Function("f", run).answer(ARGUMENTS, CONTEXT) == (ARGUMENTS, CONTEXT)[:taken]


async def generating_asynchronously(args: Any) -> Any:
    yield args


def generating(args: Any) -> Any:
    yield args


def three(args: Any, ctx: Any, more: Any) -> Any:
    return args, ctx, more


def context_alone(ctx: Any) -> Any:
    return ctx


def required_name(args: Any, *, limit: int) -> Any:
    return args, limit


REFUSED = (three, context_alone, required_name, generating_asynchronously, generating, type)


@pytest.mark.parametrize("run", REFUSED)
def test_any_other_signature_is_refused_with_the_name_of_the_function(run: Callable[..., Any]) -> None:
    with pytest.raises(DeclarationError, match="email::send"):
        Function("email::send", run)


def test_a_value_that_is_no_function_is_refused() -> None:
    wrong: Any = "email.send"
    with pytest.raises(DeclarationError, match="email::send"):
        Function("email::send", wrong)


@pytest.mark.parametrize("name", ["f", "email::send", "a-b::c_d::e1"])
def test_an_id_has_one_part_or_more(name: str) -> None:
    assert is_function_id(name)
    assert Function(name, lambda: None).id == name


@pytest.mark.parametrize("name", ["", "Email", "email:send", "email::", "::send", "a:::b", "a::b\n", "é", None])
def test_an_invalid_function_id_is_refused(name: Any) -> None:
    with pytest.raises(DeclarationError, match="is not a valid function id"):
        Function(name, lambda: None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"timeout_ms": 0}, "timeout_ms"),
        ({"timeout_ms": 1.5}, "timeout_ms"),
        ({"timeout_ms": True}, "timeout_ms"),
        ({"permissions": "mail"}, "permissions"),
        ({"permissions": (1,)}, "permissions"),
        ({"input_schema": {"type": "nonsense"}}, "input_schema"),
        ({"input_schema": {"$ref": "https://example.test"}}, "input_schema"),
        ({"input_schema": {"const": {1, 2}}}, "input_schema"),
        ({"input_schema": "object"}, "input_schema"),
        ({"needs": ["telepathy"]}, "needs"),
        ({"needs": "elicitation"}, "needs"),
        ({"task": "sometimes"}, "task"),
        ({"visible_when": {}}, "visible_when"),
        ({"visible_when": {"grant": ""}}, "visible_when"),
        ({"visible_when": {"grant": "a", "role": "b"}}, "visible_when"),
        ({"visible_when": {"claim": {}}}, "visible_when"),
        ({"visible_when": {"claim": {"team": 1}}}, "visible_when"),
        ({"visible_when": {"any": []}}, "visible_when"),
        ({"visible_when": {"all": [{"mood": "good"}]}}, "visible_when"),
        ({"visible_when": {"all": [{"all": [{"all": [{"all": [{"role": "a"}]}]}]}]}}, "visible_when"),
    ],
)
def test_an_invalid_option_is_refused_with_the_name_of_the_function(change: dict[str, Any], says: str) -> None:
    with pytest.raises(DeclarationError, match=f"email::send: .*{says}"):
        Function("email::send", lambda: None, **change)


def test_a_hosted_function_has_the_options_of_its_author() -> None:
    function = Function("f", lambda: None, permissions=["mail"], timeout_ms=5000, readable=False)
    assert function.hosted == HostedFunction("f", 5000, frozenset({"mail"}), readable=False, takes_client=True)
