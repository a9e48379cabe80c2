"""Mutants of the state of functions: effects and handles."""

from tests.mutants.mutant import Mutant

_SHARED = "layers/shared/python/signpost"
_EFFECTS = (
    "tests/interaction/test_once.py::test_a_killed_process_repeats_nothing_without_consent",
    "tests/unit/calling/test_effects_model.py",
)

STATE_MUTANTS = (
    Mutant(
        name="effect-claimed-twice",
        invariant=155,
        file=f"{_SHARED}/adapters/dynamodb/effects.py",
        there='self._put(key, record, "attribute_not_exists(pk)")',
        instead='self._put(key, record, "attribute_exists(pk) OR attribute_not_exists(pk)")',
        tests=("tests/contract/test_function_state.py",),
        needs="table",
    ),
    Mutant(
        name="effect-outcome-replaced",
        invariant=155,
        file=f"{_SHARED}/adapters/dynamodb/effects.py",
        there='OF_CLAIM = "claim = :claim AND attribute_not_exists(outcome)"',
        instead='OF_CLAIM = "claim = :claim"',
        tests=("tests/contract/test_function_state.py",),
        needs="table",
    ),
    Mutant(
        name="effect-repeated-in-doubt",
        invariant=155,
        file=f"{_SHARED}/calling/effects.py",
        there='return "running" if now < record.claimed_until else "in_doubt"',
        instead='return "running" if now < record.claimed_until else "claimed"',
        tests=_EFFECTS,
    ),
    Mutant(
        name="effect-taken-over-while-it-runs",
        invariant=155,
        file=f"{_SHARED}/calling/effects.py",
        there="if record.claim == claim:",
        instead="if record.claim == claim or now < record.claimed_until:",
        tests=_EFFECTS,
    ),
    Mutant(
        name="failed-effect-released",
        invariant=155,
        file=f"{_SHARED}/toolkit/once.py",
        there="RELEASE if did_nothing else DOUBT",
        instead="RELEASE if did_nothing else RELEASE",
        tests=("tests/interaction/test_once.py::test_an_effect_that_fails_is_in_doubt_at_once",),
    ),
    Mutant(
        name="function-goes-on-without-a-record",
        invariant=156,
        file=f"{_SHARED}/toolkit/once.py",
        there='raise EffectInDoubt(f"{self._state_happened(claimed)} {failed.message}") from failed',
        instead="is_recorded = failed is not None",
        tests=("tests/interaction/test_once.py::test_a_function_does_not_go_on_without_a_recorded_outcome",),
    ),
    Mutant(
        name="handle-of-any-executor",
        invariant=157,
        file=f"{_SHARED}/calling/handles.py",
        there="digest_of_texts(grant.executor, namespace)",
        instead="digest_of_texts(namespace)",
        tests=("tests/interaction/test_handles.py",),
    ),
    Mutant(
        name="handle-of-any-principal",
        invariant=157,
        file=f"{_SHARED}/calling/handles.py",
        there="digest_of(grant.principal)",
        instead='"anybody"',
        tests=("tests/interaction/test_handles.py",),
    ),
    Mutant(
        name="handle-written-at-any-version",
        invariant=158,
        file=f"{_SHARED}/adapters/dynamodb/handles.py",
        there='"version = :version AND expires_at > :now"',
        instead='"(version = :version OR version <> :version) AND expires_at > :now"',
        tests=("tests/contract/test_function_state.py",),
        needs="table",
    ),
    Mutant(
        name="handle-rebuilt-at-its-first-version",
        invariant=158,
        file=f"{_SHARED}/calling/handle_actions.py",
        there='version=int(now * 1000) if fields.get("rebuilt") is True else 1,',
        instead='version=1 if fields.get("rebuilt") is True else 1,',
        tests=("tests/interaction/test_handles.py",),
    ),
)
