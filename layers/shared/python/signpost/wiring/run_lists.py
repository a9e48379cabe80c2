"""Builds the search of runs and approval requests. Imported at the first such search."""

from signpost.adapters.clock import UtcTimeFormat
from signpost.signing.ciphers import TextCipher
from signpost.surfaces.gateway.run_search import RunSearch
from signpost.wiring.composition import GatewayComposition
from signpost.workflow.running.run_finder import RunFinder


def build_run_search(composition: GatewayComposition) -> RunSearch:
    adapters = composition.adapters
    finder = RunFinder(
        lists=adapters.run_lists(),
        workflows=composition.workflow_services().workflows,
        definitions=composition.definitions(),
        clock=adapters.clock,
    )
    return RunSearch(finder, TextCipher(composition.keys), UtcTimeFormat())
