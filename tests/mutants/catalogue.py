"""All mutants, the fastest first."""

from collections.abc import Sequence

from tests.mutants.mutant import Mutant
from tests.mutants.of_access import OF_ACCESS
from tests.mutants.of_content import OF_CONTENT
from tests.mutants.of_functions import OF_FUNCTIONS
from tests.mutants.of_template import OF_TEMPLATE
from tests.mutants.of_workflows import OF_WORKFLOWS

MUTANTS: Sequence[Mutant] = (*OF_ACCESS, *OF_FUNCTIONS, *OF_CONTENT, *OF_WORKFLOWS, *OF_TEMPLATE)
