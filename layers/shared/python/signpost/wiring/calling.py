"""Builds the call services, the same for every Lambda function that calls executors."""

from typing import TYPE_CHECKING

from signpost.calling.breaker import Breaker
from signpost.calling.caller import FunctionCaller, GuardedCaller
from signpost.calling.lookup import FunctionView
from signpost.records import dataclass
from signpost.signing.capability_tokens import TokenMint
from signpost.signing.key_ring import KeyRing
from signpost.telemetry import Telemetry

if TYPE_CHECKING:
    from signpost.calling.ports import Breakers, FunctionInvoker, FunctionStates, LambdaTransport
    from signpost.ports import Clock, Ids


@dataclass(frozen=True, slots=True)
class CallServices:
    functions: FunctionView
    breaker: Breaker
    mint: TokenMint
    executors: "FunctionInvoker"
    unguarded: "FunctionInvoker"
    """Calls without the breaker, for callers that apply it to several attempts at once."""


def build_call_services(
    *,
    function_states: "FunctionStates",
    breakers: "Breakers",
    link: "LambdaTransport",
    keys: KeyRing,
    clock: "Clock",
    ids: "Ids",
    telemetry: Telemetry,
) -> CallServices:
    mint = TokenMint(keys)
    functions = FunctionView(states=function_states, clock=clock)
    caller = FunctionCaller(functions=functions, mint=mint, link=link, clock=clock, ids=ids)
    breaker = Breaker(view=functions, store=breakers, clock=clock, notice=telemetry.log_breaker)
    return CallServices(functions, breaker, mint, GuardedCaller(caller, breaker), caller)
