"""How functions are called, alike from every function of the stack that calls any."""

from signpost.execution.breaker import Breaker
from signpost.execution.caller import FunctionCaller, GuardedCaller
from signpost.execution.functions import FunctionView
from signpost.policy.capabilities import TokenMint
from signpost.policy.key_ring import KeyRing
from signpost.ports import Breakers, Clock, Executors, FunctionStates, Ids, Link
from signpost.records import dataclass
from signpost.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Calling:
    functions: FunctionView
    breaker: Breaker
    mint: TokenMint
    executors: Executors
    unguarded: Executors
    """For whoever guards several attempts at once."""


def calling(
    *,
    function_states: FunctionStates,
    breakers: Breakers,
    link: Link,
    keys: KeyRing,
    clock: Clock,
    ids: Ids,
    telemetry: Telemetry,
) -> Calling:
    mint = TokenMint(keys)
    functions = FunctionView(states=function_states, clock=clock)
    caller = FunctionCaller(functions=functions, mint=mint, link=link, clock=clock, ids=ids)
    breaker = Breaker(view=functions, store=breakers, clock=clock, notice=telemetry.breaker)
    return Calling(functions, breaker, mint, GuardedCaller(caller, breaker), caller)
