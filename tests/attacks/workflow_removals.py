"""Files of the defences of workflows, and the groups in which they are removed.

A group has no defence whose removal lets another attack of the group succeed.
"""

STEPS, RUNS, TENANTS = "steps", "runs", "tenants"
"""Groups: defences of one step; defences of runs, of which some also protect steps; defences of tenants and guards."""

_SIGNPOST = "layers/shared/python/signpost"
ACTORS = f"{_SIGNPOST}/workflow/engine/actors.py"
ADMISSION = f"{_SIGNPOST}/workflow/engine/admission.py"
ARGUMENT_SCHEMAS = f"{_SIGNPOST}/workflow/engine/argument_schemas.py"
ATTEMPTS = f"{_SIGNPOST}/workflow/running/attempts.py"
DEFINITION = f"{_SIGNPOST}/workflow/definition.py"
DEFINITION_SOURCE = f"{_SIGNPOST}/catalogue/definitions.py"
EVENT_BUS = f"{_SIGNPOST}/adapters/eventbridge.py"
EXPRESSIONS = f"{_SIGNPOST}/workflow/expressions.py"
GUARDS = f"{_SIGNPOST}/workflow/guards.py"
IDS = f"{_SIGNPOST}/adapters/ids.py"
INSTANCE = f"{_SIGNPOST}/workflow/instance.py"
INSTANCE_STORE = f"{_SIGNPOST}/adapters/dynamodb/instances.py"
KEYS = f"{_SIGNPOST}/adapters/keys.py"
OBJECTS = f"{_SIGNPOST}/adapters/s3.py"
ROWS = f"{_SIGNPOST}/adapters/dynamodb/rows.py"
SERVICE = f"{_SIGNPOST}/workflow/running/service.py"
SIZE_LIMITS = f"{_SIGNPOST}/workflow/engine/size_limits.py"
STEP_WRITER = f"{_SIGNPOST}/workflow/running/step_writer.py"
STRICT_JSON = f"{_SIGNPOST}/strict_json.py"
WAKEUPS = f"{_SIGNPOST}/workflow/running/wakeups.py"
