"""Steps whose gateway or worker is killed, held up or overtaken before and after every call of a port, with the real
rules of the engine on stores in memory. `tests/e2e/test_step_crashes.py` kills real processes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from signpost.workflow.engine.permissions import ANSWER, CANCEL
from signpost.workflow.instance import Instance, child_id_of
from tests.support.crash_points import NEVER, CrashPoints, ProcessKilled
from tests.support.interrupted_workflows import (
    RECOVERY_SECONDS,
    SCENARIOS,
    ScenarioRun,
    answer_question,
    submit_step,
)
from tests.support.listed_runs import check_listed
from tests.support.memory_workflows import TENANT, check_verified
from tests.support.step_cases import AGENT

pytestmark = pytest.mark.no_cover

type Interfere = Callable[[ScenarioRun], Callable[[], object] | None]
"""What happens at a crash point of this scene; None for a kill."""

EVERY_SCENARIO = pytest.mark.parametrize("name", SCENARIOS)
CONSENT = pytest.mark.parametrize("consents", [False, True], ids=["without consent", "with consent"])


def scenes_after_interference(
    name: str, interfere: Interfere, *, consents: bool
) -> Iterator[tuple[ScenarioRun, CrashPoints, Any]]:
    """The scene after a process that was interfered with at its first point, at its second, and so on to its last; and
    what the process answered, if it lived."""
    for at in range(NEVER):
        scene = ScenarioRun(SCENARIOS[name], consents=consents)
        points = CrashPoints(at, interfere(scene))
        answer = None
        with suppress(ProcessKilled):
            answer = SCENARIOS[name].action(scene, scene.start_process(points))
        if not points.was_reached:
            assert at >= LEAST_POINTS
            return
        yield scene, points, answer


LEAST_POINTS = 2
"""Before and after one save."""


MOST_DOUBTS = 2
"""Once when the lease was over, and once when the process that comes back did not hear of its executor."""


def outcome(scene: ScenarioRun) -> str:
    stand = scene.instance
    assert stand is not None
    if stand.state == "done":
        return "settled"
    return "nothing" if stand.claim is None else "in doubt"


def check(scene: ScenarioRun, *, doubts: int | None = None) -> None:
    """The promises that hold wherever a process dies. `doubts`: how often it was recorded to be in doubt."""
    found = outcome(scene)
    check_scene_is_listed(scene)
    if found == "nothing":
        assert scene.effect_count == 0
    if found == "settled":
        assert scene.effect_count >= 1
    if scene.has_consent:
        assert found != "in doubt" or scene.scenario.fails_when_repeated
    else:
        assert scene.effect_count <= 1
    if found == "in doubt":
        seen = scene.start_process().get(scene.id, AGENT)
        assert (seen["inDoubt"]["transition"], "pending" in seen) == ("go", False)
    check_audit(scene, found, (found == "in doubt") if doubts is None else doubts)


def check_scene_is_listed(scene: ScenarioRun) -> None:
    loaded = scene.start_process().workflows.load_instance(TENANT, scene.id)
    if loaded is not None:
        check_listed(scene.instances, loaded.definition, scene.id, scene.clock.now())


def check_audit(scene: ScenarioRun, found: str, doubts: int) -> None:
    """The audit, from which the bus is told, has each event of what happened once."""
    events, stand = scene.count_events(), scene.instance
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
    check_verified(scene.instances, scene.id)


def is_settled(scene: ScenarioRun) -> bool:
    stand = scene.instance
    return stand is not None and stand.state == "done"


def check_wake_written(scene: ScenarioRun) -> None:
    """What a worker can go on with is said in the stream as well: in the transaction that made it so."""
    stand = scene.instance
    claim = stand.claim if stand is not None else None
    if claim is None or claim.standing != "waiting" or claim.is_parked:
        return
    child = scene.start_process().load_instance(child_id_of(claim)) if claim.is_waiting_for_child else None
    if child is None or child.state == "done":
        assert scene.id in {wake.workflow_id for _, wake in scene.instances.wakes}


@pytest.mark.invariant(56)
@EVERY_SCENARIO
@CONSENT
def test_a_process_killed_at_any_call_loses_no_step_and_repeats_none(name: str, consents: bool) -> None:
    """A client and the sweeper go on, first in a process that is killed at any call too, then in one that lives."""
    seen: set[str] = set()
    for second in second_kill_points(name, consents):
        for scene, _, _ in scenes_after_interference(name, lambda _: None, consents=consents):
            check_wake_written(scene)
            check_scene_is_listed(scene)
            was_settled, effects = is_settled(scene), scene.effect_count
            scene.recover(CrashPoints(second))
            check(scene)
            if was_settled:
                assert (outcome(scene), scene.effect_count) == ("settled", effects)
            seen.add(outcome(scene))
    assert seen == expected_outcomes(name, consents=consents)


def expected_outcomes(name: str, *, consents: bool) -> set[str]:
    """Each of them is seen at some crash point."""
    scenario = SCENARIOS[name]
    found = set(scenario.outcomes)
    return found - {"in doubt"} | {"settled"} if consents and not scenario.fails_when_repeated else found


def second_kill_points(name: str, consents: bool) -> Iterator[int]:
    """No second death, and one at each call of the process that goes on."""
    yield NEVER
    points = CrashPoints()
    scene = ScenarioRun(SCENARIOS[name], consents=consents)
    scene.recover(points)
    yield from range(len(points.passed_points))


@pytest.mark.invariant(56)
@EVERY_SCENARIO
@CONSENT
@pytest.mark.parametrize("happened", [None, False, True], ids=["unresolved", "did not happen", "happened"])
def test_a_process_that_outlived_its_lease_changes_no_step_decided_meanwhile(
    name: str, consents: bool, happened: bool | None
) -> None:
    """At any call. Meanwhile workers go on with what they find, and an operator resolves what is in doubt."""
    decided: list[Instance | None] = []

    def sleep(scene: ScenarioRun) -> Callable[[], object]:
        def others_decide() -> None:
            scene.clock.advance(RECOVERY_SECONDS)
            scene.recover()
            is_resolved = happened is not None and scene.resolve(happened=happened)
            decided.append(scene.instance if is_resolved or is_settled(scene) else None)

        return others_decide

    seen = 0
    for scene, _, answer in scenes_after_interference(name, sleep, consents=consents):
        check_answer(scene, answer)
        assert scene.effect_count <= most_effects(scene) + consents
        if (stand := decided.pop()) is not None:
            assert scene.instance == stand
            seen += 1
        scene.recover()
        if happened is None:  # what was in doubt meanwhile may be settled by the process that still owns it
            doubts = scene.count_events()["executor.in_doubt"]
            assert (outcome(scene) == "in doubt") <= doubts <= MOST_DOUBTS
            check(scene, doubts=doubts)
    assert seen or happened is None


def check_answer(scene: ScenarioRun, answer: Any) -> None:
    """A caller that was told of a step finds it taken."""
    if answer is not None and "error" not in answer:
        stand = scene.start_process().load_instance(answer["workflowId"])
        assert answer["version"] <= stand.version
        assert (answer["state"] == "done") <= (stand.state == "done")


def most_effects(scene: ScenarioRun) -> int:
    """While nobody dies: an author who consents has an executor called again that was not heard of."""
    return 1 + (scene.has_consent and "unheard" in scene.scenario.first_results)


@pytest.mark.invariant(56)
@pytest.mark.parametrize("at", ["after load", "before hold"])
def test_a_request_overtaken_by_a_claim_and_its_release_executes_no_step(at: str) -> None:
    """The version is the same as when it looked, and nothing is under way; yet what its caller saw is over."""
    scene, points = ScenarioRun(SCENARIOS["a submit"], consents=False), CrashPoints()
    SCENARIOS["a submit"].action(ScenarioRun(SCENARIOS["a submit"], consents=False), scene.start_process(points))
    scene = ScenarioRun(SCENARIOS["a submit"], consents=False)

    def overtake() -> None:
        with suppress(ProcessKilled):
            submit_step(scene, scene.start_process(CrashPoints(points.passed_points.index("after execute"))))
        scene.clock.advance(RECOVERY_SECONDS)
        assert scene.resolve(happened=False)

    answer = submit_step(scene, scene.start_process(CrashPoints(points.passed_points.index(at), overtake)))
    assert answer["error"]["code"] == "STALE_WORKFLOW_VERSION"
    assert (scene.effect_count, outcome(scene), scene.next_results) == (1, "nothing", [])


@pytest.mark.invariant(51)
@EVERY_SCENARIO
@CONSENT
def test_one_of_two_concurrent_processes_executes_the_step(name: str, consents: bool) -> None:
    """The other one comes at any call of the first, and goes, or is killed at any call of its own."""
    for killed_at in (NEVER, *crash_points_of(name, consents=consents)):

        def rival(scene: ScenarioRun, killed_at: int = killed_at) -> Callable[[], object]:
            return lambda: play_until_killed(scene, killed_at)

        for scene, _, answer in scenes_after_interference(name, rival, consents=consents):
            check_answer(scene, answer)
            scene.recover()
            if killed_at == NEVER:
                assert scene.effect_count == most_effects(scene)
            assert scene.effect_count <= most_effects(scene) + consents
            check(scene)


def play_until_killed(scene: ScenarioRun, at: int) -> None:
    with suppress(ProcessKilled):
        scene.scenario.action(scene, scene.start_process(CrashPoints(at)))


@pytest.mark.invariant(160)
@pytest.mark.parametrize("first", ["answer", "cancel"])
def test_an_answer_and_a_cancellation_exclude_each_other(first: str) -> None:
    """The other one comes at any call of the first. One of them is refused, and the effect is that of the other."""
    acts = {"answer": answer_question, "cancel": cancel_instance}
    begin, interfere = acts.pop(first), acts.popitem()[1]
    seen: set[str] = set()
    for at in range(NEVER):
        scene = ScenarioRun(SCENARIOS["an answer"], consents=False)
        points = CrashPoints(at, lambda scene=scene: interfere(scene, scene.start_process()))
        begin(scene, scene.start_process(points))
        if not points.was_reached:
            break
        scene.recover()
        stand = scene.instance
        assert stand is not None
        assert (stand.cancelled is None, scene.effect_count) in ((True, 1), (False, 0))
        seen.add("answered" if stand.cancelled is None else "cancelled")
        check_verified(scene.instances, scene.id)
    assert seen == {"answered", "cancelled"}


def cancel_instance(scene: ScenarioRun, shop: Any) -> Any:
    return shop.submit(scene.id, CANCEL, AGENT, version=1)


@pytest.mark.invariant(160)
def test_of_two_different_answers_one_reaches_the_function() -> None:
    for at in range(NEVER):
        scene = ScenarioRun(SCENARIOS["an answer"], consents=False)
        points = CrashPoints(at, lambda scene=scene: give_answer(scene, scene.start_process(), "file:///b"))
        answers = [give_answer(scene, scene.start_process(points), "file:///a")]
        if not points.was_reached:
            break
        scene.recover()
        assert scene.effect_count == 1
        assert len(scene.received_answers) == 1
        refused = "error" in answers[0]
        assert scene.received_answers[0]["root"]["roots"][0]["uri"] == ("file:///b" if refused else "file:///a")


def give_answer(scene: ScenarioRun, shop: Any, uri: str) -> Any:
    return shop.submit(scene.id, ANSWER, AGENT, {"root": {"roots": [{"uri": uri}]}}, version=1)


def crash_points_of(name: str, *, consents: bool) -> Iterator[int]:
    """The crash points of a process that nothing interferes with."""
    scene, points = ScenarioRun(SCENARIOS[name], consents=consents), CrashPoints()
    scene.scenario.action(scene, scene.start_process(points))
    yield from range(len(points.passed_points))
