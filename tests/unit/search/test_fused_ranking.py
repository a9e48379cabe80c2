"""The stronger ranking: what it finds that the rule does not, and what it keeps of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.search import fused
from signpost.search.documents import SearchDocument
from signpost.search.ranking import CatalogueSearch
from signpost.search.words import split_identifier, stem


def tool(identifier: str, description: str = "") -> SearchDocument:
    return SearchDocument(identifier, "capability", identifier, description)


CATALOGUE = [
    tool("createPullRequest", "Opens a request to merge a branch."),
    tool("files.read_text", "Read the complete contents of a file from disk."),
    tool("files.write", "Write a file, replacing what is there."),
    tool("mail.send", "Send a message to somebody by mail. A file may be attached."),
    tool("GitHub", "Issues and branches of a repository."),
    tool("weather", "What the sky will bring, for any place."),
]
SEARCH = CatalogueSearch(CATALOGUE)


@pytest.fixture
def words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what spelling and the literal rule add."""
    monkeypatch.setattr(fused, "BY_SPELLING", 0.0)
    monkeypatch.setattr(fused, "BY_RULE", 0.0)


@pytest.fixture
def spelling_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what words and the literal rule add."""
    monkeypatch.setattr(fused, "BY_WORDS", 0.0)
    monkeypatch.setattr(fused, "BY_RULE", 0.0)


def best(query: str) -> str:
    return SEARCH.find(query, ranking="fused")[0][1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("I would like to be reading something", "files.read_text"),
        ("pull requests", "createPullRequest"),
        ("create_pull_request", "createPullRequest"),
        ("github", "GitHub"),
        ("repositories", "GitHub"),
        ("send a file", "mail.send"),
        ("wether", "weather"),
        ("dis", "files.read_text"),
    ],
)
def test_a_query_finds_the_expected_item_first(query: str, expected: str) -> None:
    assert best(query) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("deploy", "deploys", "deployed", "deploying", "deployment"),
        ("query", "queries"),
        ("add", "adds", "added", "adding"),
        ("create", "created", "creating", "creation", "creator"),
        ("commit", "commits", "committed", "committing"),
        ("box", "boxes"),
        ("search", "searches"),
        ("process", "processes", "processing"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: Sequence[str]) -> None:
    assert {stem(form) for form in forms} == {stem(forms[0])}


@pytest.mark.parametrize(
    ("one", "other"),
    [("status", "state"), ("string", "strive"), ("news", "newest"), ("analysis", "anal"), ("bed", "b")],
)
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("listOpenIssues", ["list", "open", "issues", "listopenissues"]),
        ("URLTool", ["url", "tool", "urltool"]),
        ("plain", ["plain"]),
        ("UPPER", ["upper"]),
        ("Ärger", ["ärger"]),
    ],
)
def test_an_identifier_is_its_parts_and_itself(identifier: str, expected: Sequence[str]) -> None:
    assert split_identifier(identifier) == expected


def test_a_rare_word_counts_more_than_a_common_one(words_alone: None) -> None:
    del words_alone
    shared = [tool(f"x{number}", "Make report.") for number in range(9)]
    found = CatalogueSearch([*shared, tool("y", "Send invoice.")]).find("report invoice", ranking="fused")
    assert found[0][1] == "y"


def test_a_word_counts_less_in_a_longer_description(words_alone: None) -> None:
    del words_alone
    found = CatalogueSearch([tool("x", "Make report for week, month, year."), tool("y", "Make report.")]).find(
        "report", ranking="fused"
    )
    assert [identifier for _, identifier in found] == ["y", "x"]


def test_a_number_does_not_resemble_other_numbers(spelling_alone: None) -> None:
    del spelling_alone
    search = CatalogueSearch([tool("x", "Invoice 20250117."), tool("y", "Invoice 20250118.")])
    assert search.find("20250117", ranking="fused") == []
    assert len(search.find("invoices 20250117", ranking="fused")) == 2


def test_an_item_is_found_by_its_number() -> None:
    search = CatalogueSearch([tool("x", "Invoice 4711."), tool("y", "Invoice 815.")])
    assert [identifier for _, identifier in search.find("815", ranking="fused")] == ["y"]


def test_stop_words_do_not_lengthen_a_description() -> None:
    search = CatalogueSearch([tool("x", "Read the whole of a file."), tool("y", "Read whole file.")])
    (first, _), (second, _) = search.find("read file", ranking="fused")
    assert first == second


def test_kind_limit_and_empty_query_act_as_in_the_literal_ranking() -> None:
    assert SEARCH.find("file", ranking="fused", kind="workflow") == []
    assert len(SEARCH.find("file", ranking="fused", limit=2)) == 2
    assert SEARCH.find("", ranking="fused") == SEARCH.find("")


def test_a_query_of_stop_words_alone_finds_items() -> None:
    assert SEARCH.find("what is there", ranking="fused")


WORDS = ["file", "files", "filing", "read", "reading", "Reader", "write", "the", "of", "and"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
CATALOGUES = st.lists(
    st.builds(tool, st.text("abc", min_size=1, max_size=3), TEXTS), max_size=6, unique_by=lambda document: document.id
)


@given(CATALOGUES, TEXTS)
def test_fused_ranking_finds_every_hit_of_the_literal_ranking(documents: Sequence[SearchDocument], query: str) -> None:
    search = CatalogueSearch(documents)
    by_rule, fused = (
        {hit[1] for hit in search.find(query, ranking=ranking, limit=100)} for ranking in ("literal", "fused")
    )
    assert by_rule <= fused


@given(CATALOGUES, TEXTS)
def test_the_order_of_the_catalogue_changes_no_hit(documents: Sequence[SearchDocument], query: str) -> None:
    found = CatalogueSearch(documents).find(query, ranking="fused", limit=100)
    assert CatalogueSearch(reversed(documents)).find(query, ranking="fused", limit=100) == found
    assert found == sorted(found, key=lambda hit: (-hit[0], hit[1]))
    assert all(0 < score <= 1 for score, _ in found)
