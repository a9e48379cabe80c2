"""The rules about the deployment: status, parameters, release, clock, drift and quotas."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import pytest

from signpost.cli.doctor.findings import Finding
from signpost.cli.doctor.rules.clocks import ClockReading, judge_clock
from signpost.cli.doctor.rules.drift import ResourceDrift, judge_drift
from signpost.cli.doctor.rules.functions import LambdaFacts, find_missing_function, judge_function
from signpost.cli.doctor.rules.parameters import StackParameters, judge_parameters
from signpost.cli.doctor.rules.quotas import ConcurrencyFacts, judge_concurrency, judge_resources, judge_role
from signpost.cli.doctor.rules.releases import ReleaseFacts, StoredFormat, judge_releases
from signpost.cli.doctor.rules.stack_status import StackEvent, StackStatus, find_first_failure, judge_status

SOUND = {
    "AuthMode": "both",
    "OidcIssuer": "https://issuer.example",
    "TenantClaim": "tenant",
    "HumanClaim": "amr",
    "DefaultTenant": "default",
    "Stage": "prod",
    "DeletionProtection": "on",
    "LeaseMarginMs": "15000",
    "SearchProvider": "none",
    "WorkerConcurrency": "2",
    "SubscriberConcurrency": "2",
    "DeliveryConcurrency": "2",
}
LAYER = "arn:aws:lambda:us-east-1:1:layer:shared:7"


def parameters_with(values: Mapping[str, str] = MappingProxyType({}), *, is_in_account: bool = True) -> StackParameters:
    return StackParameters({**SOUND, **values}, is_in_account=is_in_account)


def codes_of(findings: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in findings]


@pytest.mark.parametrize("is_in_account", [True, False])
def test_sound_parameters_have_no_findings(*, is_in_account: bool) -> None:
    assert codes_of(judge_parameters(parameters_with(is_in_account=is_in_account))) == []


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"AuthMode": "none", "OidcIssuer": ""}, "auth_mode_none"),
        ({"OidcIssuer": ""}, "issuer_missing"),
        ({"AuthMode": "api-key"}, "issuer_unused"),
        ({"TenantClaim": ""}, "tenant_claim_empty"),
        ({"HumanClaim": ""}, "human_claim_empty"),
        ({"DomainName": "mcp.example.com"}, "certificate_missing"),
        (
            {"DomainName": "mcp.example.com", "CertificateArn": "arn", "PublicUrl": "https://other.example"},
            "public_url_differs",
        ),
        ({"AllowedOrigins": "https://a.example, https://b.example/path"}, "origin_malformed"),
        ({"AllowedOrigins": "*"}, "origin_malformed"),
        ({"MoreOrigins": "https://a.example,b.example"}, "origin_malformed"),
        ({"RegistryTableName": "restored"}, "stream_missing"),
        ({"WorkflowsTableName": "restored"}, "stream_missing"),
        ({"WorkflowsStreamArn": "arn:aws:dynamodb:r:1:table/restored/stream/x"}, "stream_unused"),
        (
            {"RegistryTableName": "restored", "RegistryStreamArn": "arn:aws:dynamodb:r:1:table/old/stream/x"},
            "stream_of_other_table",
        ),
        ({"SearchProvider": "brave"}, "search_key_missing"),
        ({"SearchProvider": "json", "SearchEndpoint": "https://search.example"}, "search_endpoint_missing"),
        ({"SearchEndpoint": "https://search.example"}, "search_settings_unused"),
        (
            {"ExecutorFunctions": "arn:aws:lambda:r:1:function:a, arn:aws:lambda:r:1:function:*"},
            "executors_unrestricted",
        ),
        ({"ExecutorFunctions": "arn:aws:lambda:*"}, "executors_unrestricted"),
        ({"ExecutorFunctions": "arn:aws:lambda:r:1:function*"}, "executors_unrestricted"),
        ({"ExecutorFunctions": "arn:aws:lambda:r:1:function:?*"}, "executors_unrestricted"),
        ({"AuthMode": "local"}, "local_mode_in_account"),
        ({"EndpointUrl": "http://127.0.0.1:4566"}, "laptop_endpoint_in_account"),
        ({"PublicUrl": "http://mcp.example.com"}, "public_url_without_tls"),
        ({"Stage": "test"}, "test_stage"),
        ({"DeletionProtection": "off"}, "tables_unprotected"),
        ({"LeaseMarginMs": "1000"}, "lease_margin_short"),
    ],
)
def test_a_parameter_that_does_not_fit_is_found(values: dict[str, str], code: str) -> None:
    (finding,) = judge_parameters(parameters_with(values))
    assert finding.code == code
    assert "docs/" in finding.remedy


@pytest.mark.parametrize(
    "values",
    [
        {"AuthMode": "local"},
        {"EndpointUrl": "http://127.0.0.1:4566"},
        {"PublicUrl": "http://localhost:8765"},
        {"Stage": "test"},
        {"DeletionProtection": "off"},
        {"LeaseMarginMs": "1000"},
        {"RegistryTableName": "restored", "RegistryStreamArn": "arn:aws:dynamodb:r:1:table/restored/stream/x"},
        {"SearchProvider": "json", "SearchEndpoint": "https://search.example?q={query}"},
        {"SearchProvider": "brave", "SearchKeySecretArn": "arn"},
        {"DomainName": "mcp.example.com", "CertificateArn": "arn", "PublicUrl": "https://MCP.example.com"},
    ],
)
def test_parameters_of_a_laptop_cloud_and_complete_pairs_are_sound(values: dict[str, str]) -> None:
    assert codes_of(judge_parameters(parameters_with(values, is_in_account=False))) == []


def test_a_stack_without_tokens_needs_no_claims() -> None:
    values = {"AuthMode": "api-key", "OidcIssuer": "", "TenantClaim": "", "HumanClaim": ""}
    assert codes_of(judge_parameters(parameters_with(values))) == []


def event_of(resource: str, status: str, reason: str = "") -> StackEvent:
    return StackEvent(resource, resource == "signpost", status, reason)


FAILED_UPDATE = [
    event_of("signpost", "UPDATE_ROLLBACK_COMPLETE"),
    event_of("RelayFunction", "UPDATE_FAILED", "Resource update cancelled"),
    event_of("ShippedFunctions", "UPDATE_FAILED", "not_reached"),
    event_of("GatewayFunction", "UPDATE_FAILED", "Code is too large"),
    event_of("signpost", "UPDATE_IN_PROGRESS", "User Initiated"),
    event_of("GatewayFunction", "CREATE_FAILED", "of an earlier deployment"),
]


def test_the_first_failure_of_the_last_operation_is_the_cause() -> None:
    assert find_first_failure(FAILED_UPDATE) == event_of("GatewayFunction", "UPDATE_FAILED", "Code is too large")
    assert find_first_failure(FAILED_UPDATE[:2]) is None


@pytest.mark.parametrize(
    ("status", "code", "remedy"),
    [
        ("ROLLBACK_COMPLETE", "stack_failed", "sam delete"),
        ("CREATE_FAILED", "stack_failed", "sam delete"),
        ("UPDATE_ROLLBACK_FAILED", "stack_failed", "continue-update-rollback"),
        ("UPDATE_FAILED", "stack_failed", "rollback-stack"),
        ("IMPORT_ROLLBACK_FAILED", "stack_failed", "rollback-stack"),
        ("UPDATE_ROLLBACK_COMPLETE", "stack_rolled_back", "sam deploy"),
        ("UPDATE_IN_PROGRESS", "stack_changing", "describe-stack-events"),
    ],
)
def test_a_status_that_is_not_complete_is_found_with_its_cause(status: str, code: str, remedy: str) -> None:
    (finding,) = judge_status(StackStatus("signpost", status, "", FAILED_UPDATE))
    assert finding.code == code
    assert remedy in finding.remedy
    assert "Code is too large" in finding.problem or code == "stack_changing"


def test_a_failed_stack_without_events_says_the_reason_of_its_status() -> None:
    (finding,) = judge_status(StackStatus("signpost", "ROLLBACK_COMPLETE", "No room", ()))
    assert "No room" in finding.problem
    assert codes_of(judge_status(StackStatus("signpost", "UPDATE_COMPLETE", "", ()))) == []


def test_another_release_and_a_newer_form_of_rows_are_found() -> None:
    forms = [StoredFormat("functions", 2, 1), StoredFormat("settings", 1, 1)]
    findings = list(judge_releases(ReleaseFacts("0.1.0", "0.2.0", forms)))
    assert codes_of(findings) == ["release_differs", "stored_format_newer"]
    assert "going back" in findings[1].problem
    assert findings[1].subject == "functions"
    for release in ("0.1.0", None):
        assert codes_of(judge_releases(ReleaseFacts("0.1.0", release, forms[1:]))) == []


@pytest.mark.parametrize(
    ("sent_at", "answered", "received_at", "codes"),
    [
        (100.9, 100.0, 101.2, []),
        (100.9, 100.0, 160.0, []),  # a slow answer is no skew
        (120.0, 100.0, 120.1, ["clock_differs"]),
        (50.0, 100.0, 51.0, ["clock_differs"]),
        (500.0, 100.0, 500.1, ["clock_skew"]),
        (100.0, 500.0, 101.0, ["clock_skew"]),
    ],
)
def test_clocks_are_compared(sent_at: float, answered: float, received_at: float, codes: list[str]) -> None:
    findings = list(judge_clock(ClockReading(sent_at, answered, received_at)))
    assert codes_of(findings) == codes
    assert all(("ahead" in finding.problem) == (sent_at > answered) for finding in findings)


def test_drifted_and_deleted_resources_are_found_with_the_properties_that_differ() -> None:
    paths = [f"/Environment/{number}" for number in range(7)]
    (modified,) = judge_drift(ResourceDrift("GatewayFunction", "MODIFIED", paths), "signpost")
    assert modified.code == "resource_drifted"
    assert "/Environment/4 and 2 more" in modified.problem
    assert codes_of(judge_drift(ResourceDrift("Bus", "DELETED"), "signpost")) == ["resource_deleted"]
    assert codes_of(judge_drift(ResourceDrift("Bus", "IN_SYNC"), "signpost")) == []


@pytest.mark.parametrize(
    ("unreserved", "reserved", "codes"),
    [
        (1000, {}, []),
        (11, {}, []),
        (10, {}, ["concurrency_tight"]),  # a new account, with the defaults
        (6, {}, ["concurrency_exhausted"]),
        (1000, {"WorkerFunction": 1}, ["concurrency_below_parameter"]),
        (1000, {"WorkerFunction": 0, "DeliveryFunction": 2}, []),  # a stopped function has a finding of its own
    ],
)
def test_concurrency_is_compared_with_the_parameters(
    unreserved: int, reserved: dict[str, int], codes: list[str]
) -> None:
    facts = ConcurrencyFacts(unreserved, reserved)
    assert codes_of(judge_concurrency(facts, parameters_with())) == codes


def test_a_stack_of_a_release_without_concurrency_parameters_is_judged_by_the_others() -> None:
    parameters = StackParameters({"AuthMode": "both"}, is_in_account=True)
    assert codes_of(judge_concurrency(ConcurrencyFacts(10, {}), parameters)) == []


@pytest.mark.parametrize(("size", "codes"), [(9_216, []), (9_217, ["role_policies_near_limit"])])
def test_policies_near_the_limit_of_a_role_are_found(size: int, codes: list[str]) -> None:
    assert codes_of(judge_role("GatewayRole", size)) == codes


@pytest.mark.parametrize(("number", "codes"), [(450, []), (451, ["resources_near_limit"])])
def test_a_stack_near_the_limit_of_resources_is_found(number: int, codes: list[str]) -> None:
    assert codes_of(judge_resources("signpost", number)) == codes


def function_with(**changed: object) -> LambdaFacts:
    facts: dict[str, object] = {
        "name": "GatewayFunction",
        "physical_id": "shop-GatewayFunction-1",
        "state": "Active",
        "update_status": "Successful",
        "reason": "",
        "environment": {"NAME": "value"},
        "layers": frozenset({LAYER}),
        "reserved": None,
    }
    return LambdaFacts(**{**facts, **changed})  # pyright: ignore[reportArgumentType] - each field by its name


def test_a_function_that_does_not_exist_is_found() -> None:
    assert find_missing_function("GatewayFunction").code == "function_missing"


@pytest.mark.parametrize(
    ("changed", "codes"),
    [
        ({}, []),
        ({"state": "Inactive", "reserved": 5}, []),  # it starts at its next request
        ({"state": "Failed", "reason": "The role is gone"}, ["function_failed"]),
        ({"update_status": "Failed"}, ["function_failed"]),
        ({"reserved": 0}, ["function_stopped"]),
        ({"layers": frozenset({LAYER[:-1] + "6"})}, ["layer_differs"]),
        ({"layers": frozenset[str]()}, []),
        ({"environment": {"ALLOWED": "x" * 3_680}}, ["environment_near_limit"]),
        ({"environment": {"ALLOWED": "ä" * 1_840}}, ["environment_near_limit"]),
    ],
)
def test_functions_are_judged_by_their_configuration(changed: dict[str, object], codes: list[str]) -> None:
    assert codes_of(judge_function(function_with(**changed), LAYER)) == codes


def test_the_command_that_starts_a_stopped_function_has_its_name() -> None:
    (finding,) = judge_function(function_with(reserved=0), LAYER)
    assert finding.remedy == "`aws lambda delete-function-concurrency --function-name shop-GatewayFunction-1`"


def test_a_malformed_origin_is_found_under_the_parameter_that_has_it() -> None:
    (finding,) = judge_parameters(parameters_with({"AllowedOrigins": "https://a.example", "MoreOrigins": "b.example"}))
    assert finding.subject == "MoreOrigins"
    assert finding.problem.startswith("MoreOrigins has b.example,")
