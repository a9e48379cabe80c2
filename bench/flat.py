"""Measures the time in which the flat surface lists the functions of a tenant as skills. Part of python -m bench."""

from bench.contender import Contender
from bench.laps import Lap, Requests, run

SKILLS = 500
FLAT_LIST = "warm_flat_list_500_ms"
_PROGRAM = "from bench.inside.flat import main; main()"


def flat_lap(contender: Contender, requests: Requests) -> Lap:
    return run(contender, _PROGRAM, SKILLS, requests.listing).findings
