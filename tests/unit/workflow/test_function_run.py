"""The definitions of runs that call one function, derived from the text in the place of their digest."""

import pytest

from signpost.workflow.engine.capability_focus import capabilities_of
from signpost.workflow.running.function_run import (
    FunctionRun,
    TransitionTexts,
    build_function_run,
    definition_of,
    parse_digest,
)

RUNS = (
    FunctionRun("yard::price", idempotent=False),
    FunctionRun("yard::price", idempotent=True),
    FunctionRun("yard::price", idempotent=False, capability="price"),
    FunctionRun("a.b-c_d::e", idempotent=True, capability="as as a name with: signs"),
)


@pytest.mark.parametrize("run", RUNS)
def test_a_digest_names_everything_that_the_definition_follows_from(run: FunctionRun) -> None:
    assert parse_digest(run.digest) == run
    published = build_function_run(run)
    assert published.digest == run.digest
    assert definition_of(run.digest) == published.definition
    ((name, transition),) = capabilities_of(published.definition).items()
    assert name == (run.capability or run.function)
    assert transition.executor is not None
    assert transition.executor.settings["function"] == run.function
    assert transition.executor.settings["idempotent"] is run.idempotent


def test_the_digest_of_a_long_call_is_that_of_earlier_releases() -> None:
    assert FunctionRun("yard::build", idempotent=False).digest == "call:once:yard::build"
    assert FunctionRun("yard::build", idempotent=True).digest == "call:again:yard::build"


@pytest.mark.parametrize("digest", ["", "0" * 64, "call:", "call:twice:yard::build", "call:once:", "call:once:a b"])
def test_the_digest_of_a_published_definition_is_no_call(digest: str) -> None:
    assert parse_digest(digest) is None
    assert definition_of(digest) is None


def test_shown_texts_do_not_change_the_digest() -> None:
    run = RUNS[2]
    texts = TransitionTexts("Price", "Prices it.", {"type": "object", "required": ["item"]})
    published = build_function_run(run, texts)
    transition = capabilities_of(published.definition)["price"]
    assert (transition.title, transition.description, transition.input_schema) == (
        "Price",
        "Prices it.",
        texts.input_schema,
    )
    assert published.digest == run.digest
