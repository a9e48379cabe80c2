"""The rules about what is stored: API keys, executors, published functions and documents."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from signpost.cli.doctor.findings import Finding
from signpost.cli.doctor.rules.api_keys import ApiKeyFacts, judge_api_keys
from signpost.cli.doctor.rules.documents import MOST_NAMED, DocumentFacts, judge_documents
from signpost.cli.doctor.rules.executors import ExecutorAnswer, ExecutorFacts, FunctionRows, judge_executors
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.cli.doctor.rules.published_functions import (
    FunctionReference,
    PublishedFacts,
    UnreadableText,
    judge_published,
    list_references,
)
from signpost.content.model import Skill, StoredFile
from signpost.contract import Executor, PlacedExecutor
from signpost.directory.model import PlacementRefusal
from signpost.identity.credentials import ApiKey
from signpost.workflow.definition import Definition
from signpost.workflow.definition_reader import parse_definition

NOW, DAY = 1_000_000.0, 86_400.0


def codes_of(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def key_with(expires_at: float | None = None, revoked_at: float | None = None) -> ApiKey:
    return ApiKey(
        tenant="acme",
        key_id="0a1b",
        name="ci",
        secret_digest="",
        roles=frozenset(),
        permissions=frozenset(),
        created_at=0.0,
        expires_at=expires_at,
        revoked_at=revoked_at,
    )


@pytest.mark.parametrize(
    ("auth_mode", "key", "codes"),
    [
        ("api-key", key_with(), []),
        ("both", None, []),
        ("api-key", None, ["no_api_key"]),
        ("api-key", key_with(revoked_at=1.0), ["no_api_key"]),
        ("api-key", key_with(NOW), ["no_api_key", "api_key_expired"]),
        ("both", key_with(NOW - 1), ["api_key_expired"]),
        ("both", key_with(NOW + 13 * DAY), ["api_key_expires_soon"]),
        ("both", key_with(NOW + 15 * DAY), []),
        ("both", key_with(NOW - 1, revoked_at=1.0), []),
        ("jwt", key_with(), ["api_keys_not_accepted"]),
        ("jwt", key_with(NOW - 1), []),
    ],
)
def test_keys_are_judged_by_their_expiry_and_the_mode(auth_mode: str, key: ApiKey | None, codes: list[str]) -> None:
    facts = ApiKeyFacts("signpost", ["acme"], [key] if key else [], NOW)
    findings = list(judge_api_keys(facts, StackParameters({"AuthMode": auth_mode}, is_in_account=True)))
    assert codes_of(findings) == codes
    expiring = [finding for finding in findings if finding.code.startswith("api_key_expire")]
    assert all("signpost keys revoke 0a1b --tenant acme --stack signpost" in finding.remedy for finding in expiring)


PREFIX = "arn:aws:lambda:us-east-1:1:function:"
CORE, MAIL = f"{PREFIX}core", f"{PREFIX}mail"
LAYER = "arn:aws:lambda:us-east-1:1:layer:shared:7"
SILENT = PlacementRefusal("not_reached", "It timed out.")


def placed_at(arn: str, tenant: str | None, *functions: str) -> PlacedExecutor:
    return PlacedExecutor(tenant, Executor(arn, "secret", 3_000), functions)


def answer_of(arn: str, *offered: str) -> ExecutorAnswer:
    return ExecutorAnswer(arn, frozenset(offered), "acme", None, [LAYER])


SOUND = ExecutorFacts(
    stack="signpost",
    core=CORE,
    layer=LAYER,
    operator_tenant="default",
    allowed=[f"{PREFIX}m*"],
    placed=[placed_at(CORE, None, "core::wait"), placed_at(MAIL, "acme", "mail::send")],
    answers=[answer_of(CORE, "core::wait"), answer_of(MAIL, "mail::send")],
    rows=[FunctionRows(None, frozenset({"core::wait"})), FunctionRows("acme", frozenset({"mail::send"}))],
)


def with_mail(answer: ExecutorAnswer) -> ExecutorFacts:
    return replace(SOUND, answers=[SOUND.answers[0], answer])


MAIL_ANSWER = SOUND.answers[1]


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        (SOUND, []),
        (replace(SOUND, placed=SOUND.placed[1:], rows=SOUND.rows[1:]), ["core_not_placed"]),
        (with_mail(replace(MAIL_ANSWER, offered=SILENT)), ["executor_no_answer"]),
        (replace(SOUND, allowed=["", f"{PREFIX}other"]), ["executor_not_allowed"]),
        (with_mail(replace(MAIL_ANSWER, offered=frozenset[str]())), ["function_not_hosted"]),
        (with_mail(replace(MAIL_ANSWER, offered=frozenset({"mail::send", "mail::read"}))), ["function_not_placed"]),
        (with_mail(replace(MAIL_ANSWER, tag="")), ["executor_tag_missing"]),
        (with_mail(replace(MAIL_ANSWER, tag="other")), ["executor_tag_missing"]),
        (with_mail(replace(MAIL_ANSWER, tag="@all")), []),
        (with_mail(replace(MAIL_ANSWER, tag=None)), []),
        (replace(with_mail(replace(MAIL_ANSWER, tag="")), operator_tenant="acme"), []),
        (replace(with_mail(replace(MAIL_ANSWER, tag="other")), operator_tenant="acme"), ["executor_tag_missing"]),
        (with_mail(replace(MAIL_ANSWER, secret_problem="there is no secret.")), ["executor_secret_wrong"]),
        (with_mail(replace(MAIL_ANSWER, layers=[f"{LAYER[:-1]}6"])), ["executor_layer_differs"]),
        (with_mail(replace(MAIL_ANSWER, layers=["arn:aws:lambda:us-east-1:1:layer:other:1"])), []),
        (replace(SOUND, rows=[SOUND.rows[0], FunctionRows("acme", frozenset())]), ["placement_incomplete"]),
        (
            replace(SOUND, placed=SOUND.placed[:1], answers=SOUND.answers[:1]),
            ["function_without_executor"],
        ),
    ],
)
def test_executors_are_compared_with_the_directory(facts: ExecutorFacts, codes: list[str]) -> None:
    assert codes_of(judge_executors(facts)) == codes


def test_a_finding_about_an_executor_says_the_command() -> None:
    (silent,) = judge_executors(with_mail(replace(MAIL_ANSWER, offered=SILENT)))
    removal = f"`signpost executors remove {MAIL} --tenant acme --stack signpost`"
    assert silent.remedy == f"Read its log and deploy it again, or {removal} (docs/executors.md)."
    (gone,) = judge_executors(with_mail(replace(MAIL_ANSWER, offered=frozenset[str]())))
    assert f"signpost executors place {MAIL} --tenant acme --stack signpost" in gone.remedy
    (untagged,) = judge_executors(with_mail(replace(MAIL_ANSWER, tag="other")))
    assert f'aws lambda tag-resource --resource {MAIL} --tags "signpost:tenants=acme other"' in untagged.remedy
    (stray,) = judge_executors(replace(SOUND, placed=SOUND.placed[:1], answers=SOUND.answers[:1]))
    assert "signpost executors place FUNCTION --tenant acme --stack signpost" in stray.remedy


def test_a_shipped_function_without_a_row_is_mended_by_a_deployment() -> None:
    (finding,) = judge_executors(replace(SOUND, rows=[FunctionRows(None, frozenset()), SOUND.rows[1]]))
    assert finding.code == "placement_incomplete"
    assert "sam deploy" in finding.remedy
    (silent,) = judge_executors(replace(SOUND, answers=[replace(SOUND.answers[0], offered=SILENT), MAIL_ANSWER]))
    assert silent.remedy == "Read its log and deploy it again (docs/executors.md)."


def test_functions_that_no_executor_hosts_for_the_tenant_are_found() -> None:
    references = [FunctionReference("acme", "prompt greet", "mail::send"), FunctionReference("b", "x", "mail::send")]
    facts = PublishedFacts("signpost", references, {"acme": frozenset({"mail::send"}), "b": frozenset()})
    (finding,) = judge_published(facts)
    assert (finding.code, finding.subject) == ("function_not_found", "x of tenant b")
    assert "signpost executors place FUNCTION --tenant b --stack signpost" in finding.remedy


def test_unreadable_catalogues_and_definitions_are_found() -> None:
    unreadable = [UnreadableText("acme", None, "no object"), UnreadableText("acme", "pay", "no row")]
    facts = PublishedFacts("signpost", [], {}, unreadable)
    assert codes_of(judge_published(facts)) == ["catalogue_unreadable", "definition_unreadable"]


def test_the_functions_of_entries_and_transitions_of_a_workflow_are_listed() -> None:
    run = {"kind": "function", "function": "mail::send"}
    document = {
        "title": "Pay",
        "description": "Pays.",
        "initialState": "open",
        "states": {
            "open": {
                "onEnter": {"executor": {"kind": "function", "function": "mail::read"}},
                "transitions": {
                    "send": {"target": "done", "title": "Send", "executor": run},
                    "again": {"target": "done", "title": "Again", "executor": run},
                    "ask": {"target": "done", "title": "Ask", "executor": {"kind": "human"}},
                    "skip": {"target": "done", "title": "Skip"},
                },
            },
            "done": {"terminal": True},
        },
    }
    definition = parse_definition("pay", document)
    assert isinstance(definition, Definition), definition
    assert list(list_references("acme", definition)) == [
        FunctionReference("acme", "workflow pay, state open", "mail::read"),
        FunctionReference("acme", "workflow pay, state open", "mail::send"),
    ]


def document_of(number: int, *files: StoredFile) -> Skill:
    return Skill(f"doc/{number}", "Title", None, 5, "2026-01-01T00:00:00Z", f"digest-{number}", files=files)


def test_documents_whose_objects_are_missing_or_changed_are_found() -> None:
    file = StoredFile("a.txt", "digest-f", 3, "text/plain")
    skills = [document_of(1), document_of(2), document_of(3, file)]
    sizes = {"digest-1": 5, "digest-2": 4, "digest-3": 5}
    findings = list(judge_documents(DocumentFacts("acme", "bucket", "content/acme/", skills, sizes)))
    assert [(finding.code, finding.subject) for finding in findings] == [
        ("document_changed", "document doc/2 of tenant acme"),
        ("document_missing", "document doc/3 of tenant acme"),
    ]
    assert "--bucket bucket --prefix content/acme/digest-f" in findings[1].remedy


def test_only_some_documents_of_many_are_named() -> None:
    skills = [document_of(number) for number in range(MOST_NAMED + 2)]
    findings = list(judge_documents(DocumentFacts(None, "bucket", "content/_shipped/", skills, {})))
    assert len(findings) == MOST_NAMED + 1
    assert "2 more documents of the deployment" in findings[-1].problem
