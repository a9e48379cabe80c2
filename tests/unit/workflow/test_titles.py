"""Titles of workflows as the names of tools."""

import json
from typing import Any

import pytest

from signpost.adapters.source_json import parse_json_source
from signpost.catalogue.cache import CachedCatalogue
from signpost.catalogue.items import compile_definitions
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.model import CatalogueItem
from signpost.workflow.authoring.compile import compile_manifest
from signpost.workflow.titles import LONGEST_TITLE, LONGEST_TOOL_NAME, WORKFLOW_TOOL, find_title_fault

LONG = "x" * (LONGEST_TITLE + 1)
TITLES = {
    "too long": (LONG, f"shorten it to {LONGEST_TITLE}"),
    "a line break": ("Tech\nNews", "write it on one line"),
    "a control character": ("Tech\x07News", "write it on one line"),
    "a line separator": ("Tech\u2028News", "write it on one line"),
    "blank": ("   ", "write one, or leave it out"),
}
NAMEABLE = ("Tech News Digest", "é 日本語 👩\u200d💻", "x" * LONGEST_TITLE, "a: b / c")


def manifest_with(title: Any, name: str = "news") -> Any:
    workflow = {"initialState": "a", "states": {"a": {"terminal": True}}, **({} if title is None else {"title": title})}
    return {"version": 1, "workflows": {name: workflow}}


@pytest.mark.invariant(123)
@pytest.mark.parametrize("case", TITLES)
def test_a_title_that_is_no_name_of_a_tool_is_refused_with_what_to_do(case: str) -> None:
    title, advice = TITLES[case]
    problems: Any = compile_manifest(parse_json_source(json.dumps(manifest_with(title)), "manifest.json"))
    assert [problem.severity for problem in problems] == ["error"]
    assert advice in problems[0].message
    assert "news: `title`: " in problems[0].message
    assert advice in str(compile_definitions(manifest_with(title)))


@pytest.mark.invariant(123)
def test_an_id_that_is_too_long_needs_a_title() -> None:
    refused: Any = compile_definitions(manifest_with(None, name=LONG))
    (message,) = refused
    assert f"write a `title` of at most {LONGEST_TITLE} characters" in message
    assert hasattr(compile_definitions(manifest_with("News", name=LONG)), "items")


@pytest.mark.parametrize("title", NAMEABLE)
def test_other_titles_name_tools(title: str) -> None:
    assert find_title_fault(title) is None
    assert len(f"{WORKFLOW_TOOL}{title}") <= LONGEST_TOOL_NAME


@pytest.mark.invariant(123)
@pytest.mark.parametrize("case", TITLES)
def test_a_stored_workflow_with_such_a_title_is_named_by_its_id(case: str) -> None:
    title, _ = TITLES[case]
    items = [CatalogueItem("news", "workflow", title), CatalogueItem("other", "workflow", "Other")]
    catalogue = CachedCatalogue("digest", CatalogueSnapshot(items=items))
    assert catalogue.workflow_tools == {"news": "workflow:news", "other": "workflow:Other"}
