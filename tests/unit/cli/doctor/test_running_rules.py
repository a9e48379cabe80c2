"""The rules about what runs: endpoint, issuer, queues, event sources, rules and alarms."""

import json
from collections.abc import Iterable

import pytest

from signpost.cli.doctor.findings import Finding
from signpost.cli.doctor.rules.alarms import PENDING, AlarmFacts, StackAlarm, judge_alarms
from signpost.cli.doctor.rules.endpoint import EndpointAnswer, EndpointFacts, judge_endpoint
from signpost.cli.doctor.rules.event_sources import EventRule, EventSource, judge_event_source, judge_rule
from signpost.cli.doctor.rules.issuer import IssuerFacts, judge_issuer
from signpost.cli.doctor.rules.parameters import StackParameters
from signpost.cli.doctor.rules.queues import (
    DEAD_LETTER_QUEUES,
    QueuedMessage,
    QueueFacts,
    describe_message,
    find_missing_queue,
    judge_queue,
)
from signpost.identity.tokens import ALGORITHMS
from signpost.model import JsonObject

ISSUER, MCP_URL = "https://issuer.example", "https://mcp.example.com/mcp"
METADATA_URL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
CHALLENGE = f'Bearer resource_metadata="{METADATA_URL}"'


def codes_of(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def parameters_of(auth_mode: str = "both", audience: str = "") -> StackParameters:
    return StackParameters({"AuthMode": auth_mode, "OidcIssuer": ISSUER, "OidcAudience": audience}, is_in_account=True)


def answer_of(status: int, document: JsonObject | None = None, **headers: str) -> EndpointAnswer:
    return EndpointAnswer(status, {name.replace("_", "-"): value for name, value in headers.items()}, document or {})


HEALTHY = answer_of(200, {"status": "ok", "version": "0.1.0", "configured": True})
CHALLENGED = answer_of(401, www_authenticate=CHALLENGE)
METADATA = answer_of(200, {"resource": MCP_URL, "authorization_servers": [ISSUER]})


@pytest.mark.parametrize(
    ("health", "challenged", "metadata", "code"),
    [
        ("no route", CHALLENGED, METADATA, "endpoint_unreachable"),
        (answer_of(502), CHALLENGED, METADATA, "health_failed"),
        (answer_of(200, {"configured": False}), CHALLENGED, METADATA, "not_configured"),
        (HEALTHY, "timed out", METADATA, "endpoint_unreachable"),
        (HEALTHY, answer_of(200), METADATA, "no_challenge"),
        (HEALTHY, answer_of(401), METADATA, "no_challenge"),
        (HEALTHY, answer_of(401, www_authenticate="Basic"), METADATA, "no_challenge"),
        (HEALTHY, CHALLENGED, "no route", "metadata_wrong"),
        (HEALTHY, CHALLENGED, answer_of(404), "metadata_wrong"),
        (HEALTHY, CHALLENGED, answer_of(200, {"resource": MCP_URL}), "metadata_wrong"),
        (
            HEALTHY,
            CHALLENGED,
            answer_of(200, {"resource": "https://other.example/mcp", "authorization_servers": [ISSUER]}),
            "metadata_wrong",
        ),
    ],
)
def test_an_endpoint_that_does_not_answer_as_it_should_is_found(
    health: EndpointAnswer | str, challenged: EndpointAnswer | str, metadata: EndpointAnswer | str, code: str
) -> None:
    facts = EndpointFacts(MCP_URL, health, challenged, metadata)
    assert codes_of(judge_endpoint(facts, parameters_of())) == [code]


def test_a_gateway_that_is_not_configured_names_the_setting_in_each_answer() -> None:
    facts = EndpointFacts(MCP_URL, answer_of(200, {"configured": False}))
    (finding,) = judge_endpoint(facts, parameters_of())
    assert finding.remedy.startswith("Send any request to the endpoint: the answer names the setting.")


def test_metadata_that_no_challenge_names_is_described_by_the_path_where_it_was_looked_for() -> None:
    facts = EndpointFacts(MCP_URL, HEALTHY, answer_of(401, www_authenticate="Bearer"), answer_of(404))
    (finding,) = judge_endpoint(facts, parameters_of())
    reason = "the metadata at the well-known path cannot be read: it is answered with 404."
    assert finding.problem == f"Clients cannot find the issuer: {reason}"


@pytest.mark.parametrize("header", ["www_authenticate", "x_amzn_remapped_www_authenticate"])
def test_a_challenge_is_accepted_under_the_name_that_api_gateway_gives_it(header: str) -> None:
    challenged = answer_of(401, None, **{header: CHALLENGE})
    assert challenged.metadata_url == METADATA_URL
    assert codes_of(judge_endpoint(EndpointFacts(MCP_URL, HEALTHY, challenged, METADATA), parameters_of())) == []


@pytest.mark.parametrize("auth_mode", ["none", "local"])
def test_a_stack_that_challenges_nobody_is_not_asked_for_a_challenge(auth_mode: str) -> None:
    facts = EndpointFacts(MCP_URL, answer_of(200, {"configured": auth_mode == "local"}), answer_of(200))
    assert codes_of(judge_endpoint(facts, parameters_of(auth_mode))) == []


def test_a_stack_with_keys_only_needs_no_metadata() -> None:
    challenged = answer_of(401, www_authenticate="Bearer")
    assert challenged.metadata_url is None
    facts = EndpointFacts(MCP_URL, HEALTHY, challenged, answer_of(404))
    assert codes_of(judge_endpoint(facts, parameters_of("api-key"))) == []


RSA: JsonObject = {"kty": "RSA", "alg": "RS256"}
EC: JsonObject = {"kty": "EC", "crv": "P-256"}


def issuer_with(keys: dict[str, JsonObject] | str, fetched_at: float | None = None) -> IssuerFacts:
    return IssuerFacts(ISSUER, MCP_URL, keys, ALGORITHMS, fetched_at, now=10_000.0)


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        ({"a": RSA, "b": EC, "c": {"kty": "RSA"}}, []),
        ({}, ["issuer_keys_unusable"]),
        ({"a": {"kty": "RSA", "alg": "RS512"}}, ["issuer_keys_unusable"]),
        ({"a": {"kty": "EC", "crv": "P-384"}}, ["issuer_keys_unusable"]),
        ({"a": {"kty": "oct", "alg": "HS256"}}, ["issuer_keys_unusable"]),
        ({"a": RSA, "b": {"kty": "OKP", "crv": "Ed25519"}}, ["issuer_key_ignored"]),
    ],
)
def test_keys_in_other_algorithms_are_found(keys: dict[str, JsonObject], codes: list[str]) -> None:
    findings = list(judge_issuer(issuer_with(keys), parameters_of()))
    assert codes_of(findings) == codes
    assert all("RS256, PS256, ES256" in finding.remedy for finding in findings)


@pytest.mark.parametrize(
    ("fetched_at", "code"),
    [(None, "issuer_unreachable"), (1_000.0, "issuer_unreachable"), (9_000.0, "issuer_not_reached_from_here")],
)
def test_an_unreachable_issuer_is_an_error_unless_a_gateway_has_just_reached_it(
    fetched_at: float | None, code: str
) -> None:
    (finding,) = judge_issuer(issuer_with("Connection refused.", fetched_at), parameters_of())
    assert finding.code == code
    assert "Connection refused." in finding.problem


@pytest.mark.parametrize(
    ("audience", "codes"),
    [("", []), (MCP_URL, []), ("https://mcp.example.com/other", []), ("api://signpost", ["audience_not_endpoint"])],
)
def test_an_audience_of_another_host_is_noted(audience: str, codes: list[str]) -> None:
    assert codes_of(judge_issuer(issuer_with({"a": RSA}), parameters_of(audience=audience))) == codes


@pytest.mark.parametrize("name", sorted(DEAD_LETTER_QUEUES))
def test_dead_letters_are_found_with_the_command_that_sends_them_again(name: str) -> None:
    samples = [QueuedMessage(86_400.0, '{"tenant":"acme","workflowId":"w-1"}'), QueuedMessage(86_500.0, "other")]
    (finding,) = judge_queue(QueueFacts(name, 2, 0, samples=samples), "signpost")
    assert finding.code == "dead_letters"
    assert f"`{DEAD_LETTER_QUEUES[name].command} --stack signpost`" in finding.remedy
    assert "1970-01-02 00:00:00Z" in finding.problem
    assert "tenant acme, workflowId w-1" in finding.problem
    assert codes_of(judge_queue(QueueFacts(name, 0, 1), "signpost")) == ["dead_letters"]
    assert codes_of(judge_queue(QueueFacts(name, 0, 0), "signpost")) == []


def test_a_queue_that_does_not_exist_is_found() -> None:
    assert find_missing_queue("WorkQueue").code == "queue_missing"


@pytest.mark.invariant(109)
def test_a_described_message_shows_no_secret() -> None:
    delivery = {"tenant": "acme", "kind": "webhook", "target": "https://hooks.example?key=secret", "payload": {"a": 1}}
    assert describe_message(json.dumps(delivery)) == "tenant acme, kind webhook"
    batch = {"requestContext": {"functionArn": "arn:aws:lambda:r:1:function:stack-Relay"}}
    assert describe_message(json.dumps(batch)) == "of stack-Relay"
    for body in ("no JSON", "[1]", "{}"):
        assert describe_message(body) == "a message of another form"


@pytest.mark.parametrize(
    ("visible", "oldest", "codes"),
    [(3, 901.0, ["messages_waiting"]), (3, 900.0, []), (3, None, []), (0, 5_000.0, [])],
)
def test_messages_that_wait_too_long_are_found(visible: int, oldest: float | None, codes: list[str]) -> None:
    assert codes_of(judge_queue(QueueFacts("WorkQueue", visible, 1, oldest), "signpost")) == codes


@pytest.mark.parametrize(
    ("state", "result", "codes"),
    [
        ("Enabled", "", []),
        ("Enabled", "OK", []),
        ("Enabled", "OK - 9 records", []),
        ("Enabled", "No records processed", []),
        ("Enabled", "PROBLEM: Function call failed", ["event_source_failing"]),
        ("Enabled", "FAILED", ["event_source_failing"]),
        ("Disabled", "OK", ["event_source_disabled"]),
        ("Disabling", "OK", ["event_source_disabled"]),
        ("Updating", "OK", ["event_source_changing"]),
        (None, "", ["event_source_missing"]),
    ],
)
def test_event_sources_are_judged_by_state_and_last_result(state: str | None, result: str, codes: list[str]) -> None:
    assert codes_of(judge_event_source(EventSource("WorkerSource", "u-1", state, result))) == codes


@pytest.mark.parametrize(
    ("state", "codes"), [("ENABLED", []), ("DISABLED", ["rule_disabled"]), (None, ["rule_missing"])]
)
def test_rules_must_exist_and_be_enabled(state: str | None, codes: list[str]) -> None:
    assert codes_of(judge_rule(EventRule("DueRule", "due", "default", state))) == codes


TOPIC = ["arn:aws:sns:us-east-1:1:alarms"]


@pytest.mark.parametrize(
    ("alarm", "subscriptions", "is_in_account", "codes"),
    [
        (StackAlarm("A", "stack-A", "OK", topics=TOPIC), ["arn:subscription"], True, []),
        (StackAlarm("A", "stack-A", "INSUFFICIENT_DATA"), [], False, []),
        (StackAlarm("A", "stack-A", "ALARM", "Too much.", "3 of 3"), [], False, ["alarm_ringing"]),
        (StackAlarm("A", "stack-A", "OK", may_act=False), [], False, ["alarm_actions_off"]),
        (StackAlarm("A", "stack-A", None), [], False, ["alarm_missing"]),
        (StackAlarm("A", "stack-A", "OK"), [], True, ["alarms_without_subscriber"]),
        (StackAlarm("A", "stack-A", "OK", topics=TOPIC), [], True, ["alarms_without_subscriber"]),
        (StackAlarm("A", "stack-A", "OK", topics=TOPIC), [PENDING], True, ["alarm_subscription_pending"]),
        (StackAlarm("A", "stack-A", "OK", topics=TOPIC), None, True, []),
    ],
)
def test_alarms_must_be_quiet_and_reach_a_person(
    alarm: StackAlarm, subscriptions: list[str] | None, *, is_in_account: bool, codes: list[str]
) -> None:
    findings = list(judge_alarms(AlarmFacts([alarm], subscriptions, is_in_account)))
    assert codes_of(findings) == codes
    assert all(finding.remedy for finding in findings)


def test_the_command_that_turns_on_the_actions_of_an_alarm_has_its_name() -> None:
    alarm = StackAlarm("FailuresAlarm", "shop-FailuresAlarm-1", "OK", may_act=False)
    (finding,) = judge_alarms(AlarmFacts([alarm], None, is_in_account=True))
    assert finding.remedy == "`aws cloudwatch enable-alarm-actions --alarm-names shop-FailuresAlarm-1`"
