"""Builds the calls of functions for the surfaces that list functions as tools."""

from signpost.surfaces.function_calls import FunctionCalls
from signpost.surfaces.reply_results import ReplyResults
from signpost.wiring.composition import GatewayComposition


def build_function_calls(composition: GatewayComposition) -> FunctionCalls:
    return FunctionCalls(
        functions=composition.calling.functions,
        executors=composition.calling.executors,
        long_calls=composition.long_calls,
        results=ReplyResults(composition.adapters.long_answers),
        clock=composition.adapters.clock,
    )
