"""Steps whose gateway or worker is killed, held up or overtaken before and after every call of a port, with the real
rules of the engine on stores in memory. `tests/e2e/test_step_crashes.py` kills real processes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from signpost.workflow.instance import Instance, child_id_of
from tests.support.crash_points import NEVER, CrashPoints, Killed
from tests.support.interrupted_workflows import LONG_AFTER, SCENARIOS, Scene, submit
from tests.support.step_cases import AGENT
from tests.support.workshop import TENANT

type Interfere = Callable[[Scene], Callable[[], object] | None]
"""What happens at a crash point of this scene; None for a kill."""

EVERY_SCENARIO = pytest.mark.parametrize("name", SCENARIOS)
CONSENT = pytest.mark.parametrize("consents", [False, True], ids=["without consent", "with consent"])


def played(name: str, interfere: Interfere, *, consents: bool) -> Iterator[tuple[Scene, CrashPoints, Any]]:
    """The scene after a process that was interfered with at its first point, at its second, and so on to its last; and
    what the process answered, if it lived."""
    for at in range(NEVER):
        scene = Scene(SCENARIOS[name], consents=consents)
        points = CrashPoints(at, interfere(scene))
        answer = None
        with suppress(Killed):
            answer = SCENARIOS[name].play(scene, scene.process(points))
        if not points.was_reached:
            assert at >= LEAST_POINTS
            return
        yield scene, points, answer


LEAST_POINTS = 2
"""Before and after one save."""


MOST_DOUBTS = 2
"""Once when the lease was over, and once when the process that comes back did not hear of its executor."""


def outcome(scene: Scene) -> str:
    stand = scene.stand
    assert stand is not None
    if stand.state == "done":
        return "settled"
    return "nothing" if stand.claim is None else "in doubt"


def check(scene: Scene, *, doubts: int | None = None) -> None:
    """The promises that hold wherever a process dies. `doubts`: how often it was recorded to be in doubt."""
    found = outcome(scene)
    if found == "nothing":
        assert scene.effects == 0
    if found == "settled":
        assert scene.effects >= 1
    if scene.consents:
        assert found != "in doubt" or scene.scenario.fails_again
    else:
        assert scene.effects <= 1
    if found == "in doubt":
        seen = scene.process().get(scene.id, AGENT)
        assert (seen["inDoubt"]["transition"], "pending" in seen) == ("go", False)
    check_audit(scene, found, (found == "in doubt") if doubts is None else doubts)


def check_audit(scene: Scene, found: str, doubts: int) -> None:
    """The audit, from which the bus is told, has each event of what happened once."""
    events, stand = scene.events(), scene.stand
    assert stand is not None
    steps = stand.version - 1
    assert events["workflow.started"] == 1
    assert events["workflow.transitioned"] == steps
    assert events["workflow.completed"] == (found == "settled")
    assert events["executor.succeeded"] == steps
    assert events["sub_workflow.completed"] == (scene.scenario.is_parent and steps > 0)
    assert events["executor.in_doubt"] == doubts
    written = scene.instances.history(TENANT, scene.id)
    assert [hop.version for hops, _ in written for hop in hops] == list(range(2, stand.version + 1))


def is_settled(scene: Scene) -> bool:
    stand = scene.stand
    return stand is not None and stand.state == "done"


def check_hinted(scene: Scene) -> None:
    """What a worker can go on with is said in the stream as well: in the transaction that made it so."""
    stand = scene.stand
    claim = stand.claim if stand is not None else None
    if claim is None or claim.standing != "waiting":
        return
    child = scene.process().stand(child_id_of(claim)) if claim.is_waiting_for_child else None
    if child is None or child.state == "done":
        assert scene.id in {wake.workflow_id for _, wake in scene.instances.wakes}


@pytest.mark.invariant(56)
@EVERY_SCENARIO
@CONSENT
def test_a_process_that_is_killed_at_any_call_loses_nothing_and_repeats_nothing(name: str, consents: bool) -> None:
    """A client and the sweeper go on, first in a process that is killed at any call too, then in one that lives."""
    seen: set[str] = set()
    for second in second_deaths(name, consents):
        for scene, _, _ in played(name, lambda _: None, consents=consents):
            check_hinted(scene)
            was_settled, effects = is_settled(scene), scene.effects
            scene.recover(CrashPoints(second))
            check(scene)
            if was_settled:
                assert (outcome(scene), scene.effects) == ("settled", effects)
            seen.add(outcome(scene))
    assert seen == expected_outcomes(name, consents=consents)


def expected_outcomes(name: str, *, consents: bool) -> set[str]:
    """Each of them is seen at some crash point."""
    scenario = SCENARIOS[name]
    found = set(scenario.outcomes)
    return found - {"in doubt"} | {"settled"} if consents and not scenario.fails_again else found


def second_deaths(name: str, consents: bool) -> Iterator[int]:
    """No second death, and one at each call of the process that goes on."""
    yield NEVER
    points = CrashPoints()
    scene = Scene(SCENARIOS[name], consents=consents)
    scene.recover(points)
    yield from range(len(points.passed))


@pytest.mark.invariant(56)
@EVERY_SCENARIO
@CONSENT
@pytest.mark.parametrize("happened", [None, False, True], ids=["unresolved", "did not happen", "happened"])
def test_a_process_that_slept_longer_than_its_lease_changes_nothing_that_others_have_decided(
    name: str, consents: bool, happened: bool | None
) -> None:
    """At any call. Meanwhile workers go on with what they find, and an operator resolves what is in doubt."""
    decided: list[Instance | None] = []

    def sleep(scene: Scene) -> Callable[[], object]:
        def others_decide() -> None:
            scene.clock.advance(LONG_AFTER)
            scene.recover()
            is_resolved = happened is not None and scene.resolve(happened=happened)
            decided.append(scene.stand if is_resolved or is_settled(scene) else None)

        return others_decide

    seen = 0
    for scene, _, answer in played(name, sleep, consents=consents):
        check_answer(scene, answer)
        assert scene.effects <= most_effects(scene) + consents
        if (stand := decided.pop()) is not None:
            assert scene.stand == stand
            seen += 1
        scene.recover()
        if happened is None:  # what was in doubt meanwhile may be settled by the process that still owns it
            doubts = scene.events()["executor.in_doubt"]
            assert (outcome(scene) == "in doubt") <= doubts <= MOST_DOUBTS
            check(scene, doubts=doubts)
    assert seen or happened is None


def check_answer(scene: Scene, answer: Any) -> None:
    """A caller that was told of a step finds it taken."""
    if answer is not None and "error" not in answer:
        stand = scene.process().stand(answer["workflowId"])
        assert answer["version"] <= stand.version
        assert (answer["state"] == "done") <= (stand.state == "done")


def most_effects(scene: Scene) -> int:
    """While nobody dies: an author who consents has an executor called again that was not heard of."""
    return 1 + (scene.consents and "unheard" in scene.scenario.fates)


@pytest.mark.invariant(56)
@pytest.mark.parametrize("at", ["after load", "before hold"])
def test_a_request_that_was_overtaken_by_a_claim_and_its_release_executes_nothing(at: str) -> None:
    """The version is the same as when it looked, and nothing is under way; yet what its caller saw is over."""
    scene, points = Scene(SCENARIOS["a submit"], consents=False), CrashPoints()
    SCENARIOS["a submit"].play(Scene(SCENARIOS["a submit"], consents=False), scene.process(points))
    scene = Scene(SCENARIOS["a submit"], consents=False)

    def overtake() -> None:
        with suppress(Killed):
            submit(scene, scene.process(CrashPoints(points.passed.index("after execute"))))
        scene.clock.advance(LONG_AFTER)
        assert scene.resolve(happened=False)

    answer = submit(scene, scene.process(CrashPoints(points.passed.index(at), overtake)))
    assert answer["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert (scene.effects, outcome(scene), scene.fates) == (1, "nothing", [])


@pytest.mark.invariant(51)
@EVERY_SCENARIO
@CONSENT
def test_of_two_processes_that_do_the_same_at_once_one_does_it(name: str, consents: bool) -> None:
    """The other one comes at any call of the first, and goes, or is killed at any call of its own."""
    for killed_at in (NEVER, *calls(name, consents=consents)):

        def rival(scene: Scene, killed_at: int = killed_at) -> Callable[[], object]:
            return lambda: killed(scene, killed_at)

        for scene, _, answer in played(name, rival, consents=consents):
            check_answer(scene, answer)
            scene.recover()
            if killed_at == NEVER:
                assert scene.effects == most_effects(scene)
            assert scene.effects <= most_effects(scene) + consents
            check(scene)


def killed(scene: Scene, at: int) -> None:
    with suppress(Killed):
        scene.scenario.play(scene, scene.process(CrashPoints(at)))


def calls(name: str, *, consents: bool) -> Iterator[int]:
    """The crash points of a process that nothing interferes with."""
    scene, points = Scene(SCENARIOS[name], consents=consents), CrashPoints()
    scene.scenario.play(scene, scene.process(points))
    yield from range(len(points.passed))
