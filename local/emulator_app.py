"""Starts the emulator (ministack) with the additions and repairs of the project.

`local/emulator.py` runs this file with the emulator's own interpreter. It loads the other modules by their paths:
`local/emulator_policies.py` extends the IAM evaluator, and `local/emulator_repairs.py` repairs its faults.
Through `local/emulator_unpacking.py` the sandboxes share their unpacked code. `local/emulator_starts.py` limits how
many of them start at once. If the emulator is started with a latency, changes take effect later through
`local/emulator_latency.py`.
"""

import importlib
import inspect
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

RECORD = "SIGNPOST_IAM_RECORD"
"""The variable with the path of the record. It is removed before a function starts, so functions do not inherit it."""

STARTED_BY = "SIGNPOST_STARTED_BY"
"""The variable with the id of the process with which the emulator ends, if any. Functions do not inherit it either."""

LATENCY = "SIGNPOST_LATENCY"
"""The variable with the path of the file with the latency, if any. Functions do not inherit it either."""

_POLL_SECONDS = 1.0
_EXPECTED_PARAMETERS = {
    "ministack.core.iam_evaluator": {
        "enforce": ["access_key_id", "iam_action", "service", "region", "resource_arn", "service_context"],
        "evaluate": ["ctx", "policies", "limits"],
        "_resolve_condition_key": ["key", "ctx"],
        "_gather_role_policies": ["role_name", "account_id"],
    },
    "ministack.core.lambda_runtime": {
        "Worker": ["func_name", "config", "code_zip"],
        "acquire_worker": ["func_name", "config", "code_zip", "qualifier", "max_concurrency"],
        "release_worker": ["worker"],
        "_worker_key": ["func_name", "config", "qualifier"],
        "invalidate_worker": ["func_name", "qualifier", "account", "region"],
    },
    "ministack.services.lambda_svc": {
        "_sqs_esm_concurrency": ["esm", "func_rec", "config", "queue"],
        "_iter_all_esms": [],
        "_esm_response": ["esm"],
        "_get_func_record_for_ref": ["function_ref"],
    },
    "ministack.services.cloudwatch": {
        "_evaluate_alarm": ["alarm"],
        "_dims_key": ["dims"],
        "_dims_from_list": ["dimensions"],
    },
    "ministack.services.eventbridge": {"_dispatch_to_lambda": ["arn", "payload"]},
    "ministack.services.cloudformation.provisioners": {"_lambda_delete": ["physical_id", "props"]},
    "ministack.core.iam_actions": {
        "dynamodb_service_context": ["body"],
        "dynamodb_transaction_checks": ["iam_action", "body", "region", "account_id"],
    },
}
"""The functions of the pinned emulator that are replaced or called, with their parameters, by module."""
_EXPECTED_NAMES = (
    ("ministack.services.dynamodb", "_tables"),
    ("ministack.core.lambda_runtime", "_workers"),
    ("ministack.core.lambda_runtime", "_lock"),
    ("ministack.services.lambda_svc", "acquire_worker"),
    ("ministack.services.lambda_svc", "release_worker"),
)
"""The values of the pinned emulator that these modules read, by module."""


def _ensure_replaceable(app: Any) -> None:
    """End the process if the emulator does not have the functions that are replaced or called."""
    for module, functions in _EXPECTED_PARAMETERS.items():
        for name, parameters in functions.items():
            function = getattr(importlib.import_module(module), name, None)
            if function is None or list(inspect.signature(function).parameters) != parameters:
                sys.exit(f"{module} has no {name}({', '.join(parameters)}): adapt the modules local/emulator_*.py.")
            if hasattr(app, name):
                sys.exit(f"ministack.app binds {name} when it is loaded: adapt the modules local/emulator_*.py.")
    for module, name in _EXPECTED_NAMES:
        if not hasattr(importlib.import_module(module), name):
            sys.exit(f"{module} has no {name}: adapt the modules local/emulator_*.py.")


def main() -> None:
    """Run the emulator until it is stopped."""
    path, parent, latency = (os.environ.pop(name, None) for name in (RECORD, STARTED_BY, LATENCY))
    if parent:
        threading.Thread(target=_end_with_parent, args=(int(parent),), daemon=True).start()
    app: Any = importlib.import_module("ministack.app")
    _ensure_replaceable(app)
    _load("local.emulator_policies").extend_evaluator(Path(path) if path else None)
    runtime = importlib.import_module("ministack.core.lambda_runtime")
    service = importlib.import_module("ministack.services.lambda_svc")
    _load("local.emulator_unpacking").share_archives(runtime, Path(tempfile.gettempdir()) / "unpacked")
    _load("local.emulator_starts").limit_starts(runtime, service, os.cpu_count() or 1)
    if latency:
        _load("local.emulator_latency").delay_changes(_names_of, Path(latency))
    _load("local.emulator_repairs").repair(_names_of)
    app.main()


def _end_with_parent(parent: int) -> None:
    """Stop this process by SIGTERM once its parent has ended, which shows as a new parent."""
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _names_of(module: str) -> dict[str, Any]:
    """Return the names that a module of the emulator defines."""
    return vars(importlib.import_module(f"ministack.{module}"))


def _load(module: str) -> Any:
    """Load a module of the project by its path."""
    sys.path.append(str(Path(__file__).parents[1]))
    try:
        return importlib.import_module(module)
    finally:
        sys.path.pop()


if __name__ == "__main__":
    main()
