"""The published rule of search, by its printed examples and against itself written the slow way."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.search.documents import SearchDocument
from signpost.search.ranking import CatalogueSearch
from signpost.search.words import STOP_WORDS

PIPELINE = (
    "lint run_lint Run linter test run_tests Run test suite ready_to_deploy deploy Deploy to environment "
    "abort Abort deployment deployed aborted"
)
CATALOGUE = [
    SearchDocument(
        "deploy_pipeline",
        "workflow",
        "Deploy Pipeline",
        "Lint, test, build, and deploy a service.",
        tags=["deploy", "pipeline"],
        text=PIPELINE,
    ),
    SearchDocument(
        "intake_triage",
        "workflow",
        "intake_triage",
        "Sort, rate, assign and close what customers send in.",
        tags=["support", "rota"],
        text="inbox sort_letter Sort letter rated close filed",
    ),
    SearchDocument(
        "github.list_issues",
        "capability",
        "List GitHub issues",
        "List issues from a GitHub repository.",
        tags=["github", "issues"],
        text="github.list_issues",
    ),
    SearchDocument(
        "cargo.handover",
        "capability",
        "Hand over a shipment",
        "Pass a packed shipment on to the carrier.",
        tags=["cargo"],
        aliases=["deploy", "dispatch"],
        text="cargo.handover",
    ),
    SearchDocument(
        "deploy.live",
        "capability",
        "Deploy to live",
        "Deploy the newest image on the live cluster.",
        tags=["deploy", "live"],
        text="deploy.live",
    ),
    SearchDocument(
        "pytest.run",
        "capability",
        "Run Python tests",
        "Start pytest inside the chosen folder.",
        tags=["pytest", "test", "python"],
        text="pytest.run",
    ),
]
SEARCH = CatalogueSearch(CATALOGUE)


@pytest.mark.parametrize(
    ("query", "printed"),
    [
        ("deploy", "17 deploy.live; 17 deploy_pipeline; 3 cargo.handover"),
        ("DEPLOY", "17 deploy.live; 17 deploy_pipeline; 3 cargo.handover"),
        ("dep", "17 deploy.live; 17 deploy_pipeline; 3 cargo.handover"),
        ("deploy deploy", "34 deploy.live; 34 deploy_pipeline; 6 cargo.handover"),
        ("deploy service", "19 deploy_pipeline; 17 deploy.live; 3 cargo.handover"),
        ("Deploy_Pipeline", "31 deploy_pipeline; 17 deploy.live; 3 cargo.handover"),
        ("deply", "3.4 deploy.live; 3.4 deploy_pipeline; 0.6 cargo.handover"),
        ("deployment", "5.0 deploy_pipeline; 4.25 deploy.live; 0.75 cargo.handover"),
        ("pipline", "2.625 deploy_pipeline"),
        ("repositories", "0.636364 github.list_issues"),
        ("shipments", "3.428571 cargo.handover"),
        ("carier", "0.5 cargo.handover"),
        ("linter", "1.5 deploy_pipeline"),
        ("inta", "11 intake_triage; 0.5 deploy_pipeline"),
        ("tests", "8.6 pytest.run; 1.666667 deploy_pipeline"),
        ("piepline", ""),
        ("pytset", ""),
        ("zzz", ""),
        ("list-issues", "31 github.list_issues"),
        ("github issue", "34 github.list_issues"),
        ("issues", "17 github.list_issues"),
        ("test", "17 pytest.run; 3 deploy_pipeline"),
        ("run", "12 pytest.run; 1 deploy_pipeline"),
        ("dispatch", "3 cargo.handover"),
        ("support", "3 intake_triage"),
        ("cluster", "2 deploy.live"),
        ("letter", "1 intake_triage"),
        ("d", "17 cargo.handover; 17 deploy.live; 17 deploy_pipeline; 3 intake_triage; 2 pytest.run"),
        (
            "",
            "1 cargo.handover; 1 deploy.live; 1 deploy_pipeline; 1 github.list_issues; 1 intake_triage; 1 pytest.run",
        ),
    ],
)
def test_the_published_examples_have_their_published_scores(query: str, printed: str) -> None:
    expected = [hit.split() for hit in printed.split("; ") if hit]
    found = SEARCH.find(query)
    assert [identifier for _, identifier in found] == [identifier for _, identifier in expected]
    assert [score for score, _ in found] == pytest.approx([float(score) for score, _ in expected], abs=1e-4)


def test_stop_words_are_ignored_beside_other_words() -> None:
    assert SEARCH.find("how do I deploy to the live one?") == SEARCH.find("deploy live one")
    assert SEARCH.find("over") == [(6.0 + 5.0 + 1.0, "cargo.handover")]
    assert SEARCH.find("over the a cargo") == SEARCH.find("cargo")


def test_a_search_can_be_restricted_to_a_kind() -> None:
    assert SEARCH.find("deploy", kind="workflow") == [(17.0, "deploy_pipeline")]
    assert SEARCH.find("", kind="workflow") == [(1.0, "deploy_pipeline"), (1.0, "intake_triage")]
    assert SEARCH.find("deploy", kind="connection") == []


def test_hits_are_limited_and_the_default_limit_is_ten() -> None:
    many = CatalogueSearch(SearchDocument(f"report.{number:02}", "capability", "Report") for number in range(12, 0, -1))
    first = [f"report.{number:02}" for number in range(1, 13)]
    assert [identifier for _, identifier in many.find("report", limit=3)] == first[:3]
    assert [identifier for _, identifier in many.find("report")] == first[:10]
    assert many.find("report", limit=0) == many.find("report", limit=10)
    assert len(many.find("", limit=100)) == 12


def test_a_query_of_signs_alone_is_an_empty_one() -> None:
    assert SEARCH.find(" ?! _") == SEARCH.find("")


def test_an_empty_catalogue_has_nothing_to_find() -> None:
    assert CatalogueSearch(()).find("deploy") == []
    assert CatalogueSearch(()).find("") == []


def test_hits_with_equal_scores_are_in_byte_order() -> None:
    identifiers = ["é", "z", "Z", "\U0001f4a1", "ﬀ", "a.b", "a_b", "a"]
    found = CatalogueSearch(SearchDocument(identifier, "capability", "Report") for identifier in identifiers).find(
        "report"
    )
    assert [identifier for _, identifier in found] == sorted(identifiers, key=str.encode)


type Scored = dict[str, float]


def score_slowly(documents: Sequence[SearchDocument], query: str) -> Scored:
    """The rule read aloud: each term, each document, each field."""
    terms = re.findall(r"[^\W_]+", query.lower())
    terms = [term for term in terms if term not in STOP_WORDS] or terms
    if not terms:
        return {document.id: 1.0 for document in documents}
    scores = {document.id: sum(score_of(document, term) for term in terms) for document in documents}
    return {identifier: score for identifier, score in scores.items() if score > 0}


def score_of(document: SearchDocument, term: str) -> float:
    tags, aliases = " ".join(document.tags), " ".join(document.aliases)
    weighed = [
        (6, document.title), (5, document.id), (3, tags), (3, aliases), (2, document.description), (1, document.text),
    ]  # fmt: skip
    return sum(weight * field_score(field.lower(), term) for weight, field in weighed)


def field_score(field: str, term: str) -> float:
    words = re.findall(r"[^\W_]+", field)
    size = len(term.encode())
    if term in field:
        return 1.0
    if size >= 2 and any(word.startswith(term) for word in words):
        return 0.7
    best = max((trigram_similarity(term, word) for word in words), default=0.0) if size >= 4 else 0.0
    return best / 2 if best > 0.3 else 0.0


def trigram_similarity(one: str, other: str) -> float:
    ours, theirs = ({text[at : at + 3] for at in range(len(text) - 2)} for text in (one.encode(), other.encode()))
    return len(ours & theirs) / len(ours | theirs)


WORDS = st.text("abcé", min_size=1, max_size=7) | st.sampled_from(
    ["the", "Deploy", "deploys", "DEPLOYMENT", "İstanbul"]
)
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from(" _-.\n")), max_size=5).map(
    lambda pairs: "".join(map("".join, pairs))
)
CATALOGUES = st.lists(
    st.builds(
        SearchDocument,
        id=st.tuples(WORDS, WORDS).map("_".join),
        kind=st.just("capability"),
        title=TEXTS,
        description=TEXTS,
        tags=st.lists(WORDS, max_size=2),
        aliases=st.lists(WORDS, max_size=2),
        text=TEXTS,
    ),
    max_size=6,
    unique_by=lambda document: document.id,
)


def test_a_similarity_of_three_tenths_is_not_enough() -> None:
    search = CatalogueSearch(
        [SearchDocument("x", "capability", "abcdexyzw"), SearchDocument("y", "capability", "abcdexyz")]
    )
    assert search.find("abcdefgh") == [(round(6 * 3 / 9 / 2, 6), "y")]  # of x it is 3 in 10


def test_the_length_of_a_term_is_that_of_its_bytes() -> None:
    search = CatalogueSearch([SearchDocument("x", "capability", "abè"), SearchDocument("y", "capability", "abce")])
    assert search.find("abé") == [(1.0, "x")]  # three letters but four bytes, of whose trigrams it is 1 in 3


@given(CATALOGUES, TEXTS)
def test_every_score_is_that_of_the_plain_rule(documents: Sequence[SearchDocument], query: str) -> None:
    found = CatalogueSearch(documents).find(query, limit=100)
    assert {identifier: score for score, identifier in found} == pytest.approx(score_slowly(documents, query), abs=1e-4)
    assert found == sorted(found, key=lambda hit: (-hit[0], hit[1].encode()))
