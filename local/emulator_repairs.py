"""Repairs faults of the emulator that stacks of the project notice.

`local/emulator_app.py` loads this module in the emulator's own interpreter.
"""

import importlib
import types
from collections.abc import Mapping
from typing import Any

from local.emulator_latency import ReadModule
from local.emulator_policies import as_mapping


def repair(read_module: ReadModule) -> None:
    """Make all repairs."""
    _end_sandboxes_with_their_function()
    _make_concurrency_a_number()
    _judge_alarms_by_their_dimensions(read_module)


def _end_sandboxes_with_their_function() -> None:
    """End the sandboxes of a function that a stack deletes; the emulator's CloudFormation would leave them running."""
    handlers: Any = importlib.import_module("ministack.services.cloudformation.provisioners")
    runtime: Any = importlib.import_module("ministack.core.lambda_runtime")
    function_handlers = handlers._RESOURCE_HANDLERS["AWS::Lambda::Function"]  # noqa: SLF001 - it has no other name
    delete = function_handlers["delete"]

    def delete_with_sandboxes(physical_id: str, properties: Any) -> None:
        delete(physical_id, properties)
        runtime.invalidate_worker(physical_id)

    function_handlers["delete"] = delete_with_sandboxes


def _make_concurrency_a_number() -> None:
    """Let a template give `MaximumConcurrency` by a parameter: CloudFormation in the emulator makes a text of it, and
    its comparison with a number would stop the reading of all queues."""
    service: Any = importlib.import_module("ministack.services.lambda_svc")
    compare = service._sqs_esm_concurrency  # noqa: SLF001 - it has no other name

    def compare_numbers(mapping: Mapping[str, Any], *rest: Any) -> Any:
        scaling = {name: int(value) for name, value in as_mapping(mapping.get("ScalingConfig")).items()}
        return compare({**mapping, "ScalingConfig": scaling}, *rest)

    service._sqs_esm_concurrency = compare_numbers  # noqa: SLF001 - as above


def _judge_alarms_by_their_dimensions(read_module: ReadModule) -> None:
    """Let an alarm count the metrics with its dimensions alone. The emulator counts all metrics of its name, so that an
    alarm would ring for the functions of other stacks."""
    names = read_module("services.cloudwatch")
    evaluate = names["_evaluate_alarm"]

    def evaluate_own_metrics(alarm: Mapping[str, Any]) -> None:
        dimensions = names["_dims_key"](names["_dims_from_list"](alarm.get("Dimensions") or []))
        own = {key: points for key, points in names["_metrics"].items() if key[2] == dimensions}
        types.FunctionType(evaluate.__code__, {**names, "_metrics": own})(alarm)

    names["_evaluate_alarm"] = evaluate_own_metrics
