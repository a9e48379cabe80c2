"""All mutants, the fastest first."""

from collections.abc import Sequence

from tests.mutants.access_mutants import ACCESS_MUTANTS
from tests.mutants.content_mutants import CONTENT_MUTANTS
from tests.mutants.functions_mutants import FUNCTION_MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.state_mutants import STATE_MUTANTS
from tests.mutants.tasks_mutants import TASKS_MUTANTS
from tests.mutants.template_mutants import TEMPLATE_MUTANTS
from tests.mutants.workflows_mutants import WORKFLOW_MUTANTS

MUTANTS: Sequence[Mutant] = (
    *ACCESS_MUTANTS,
    *FUNCTION_MUTANTS,
    *STATE_MUTANTS,
    *CONTENT_MUTANTS,
    *TASKS_MUTANTS,
    *WORKFLOW_MUTANTS,
    *TEMPLATE_MUTANTS,
)
