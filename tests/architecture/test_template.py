"""What the template must be, whoever changes it."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from local.intrinsics import parse_template
from signpost.cli.redrive import PATIENCE
from signpost.content.subscriptions import TRIGGER_TYPES
from signpost.settings import LEASE_MARGIN_MS, PROMPTS_SCOPE, SKILLS_SCOPE

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATE: dict[str, Any] = parse_template((PROJECT / "template.yaml").read_text())
RESOURCES: dict[str, Any] = TEMPLATE["Resources"]


def resources_of_type(*types: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, resource in RESOURCES.items():
        if resource["Type"] in types:
            yield name, resource


FUNCTIONS = dict(resources_of_type("AWS::Serverless::Function"))


def test_only_functions_of_integrations_and_rules_have_call_permissions() -> None:
    called = {
        str(resource["Properties"]["IntegrationUri"])
        for _, resource in resources_of_type("AWS::ApiGatewayV2::Integration")
    }
    called |= {str(rule["Properties"]["Targets"]) for _, rule in resources_of_type("AWS::Events::Rule")}
    permitted = {
        str(resource["Properties"]["FunctionName"]) for _, resource in resources_of_type("AWS::Lambda::Permission")
    }
    for function in FUNCTIONS:
        is_called = any(f"'{function}" in uri or f"{function}.Arn" in uri for uri in called)
        assert is_called == any(f"'{function}'" in name for name in permitted), function


def test_one_route_leads_every_request_to_the_gateway() -> None:
    """A second route would have to wait for the first: API Gateway refuses some of the changes of one API that arrive
    at once, and the stack would be rolled back."""
    (route,) = (resource["Properties"] for _, resource in resources_of_type("AWS::ApiGatewayV2::Route"))
    assert (route["RouteKey"], route["AuthorizationType"]) == ("$default", "NONE")
    assert route["Target"] == {"Fn::Sub": "integrations/${GatewayIntegration}"}
    function = RESOURCES["GatewayIntegration"]["Properties"]["IntegrationUri"]
    assert function == {"Fn::GetAtt": ["GatewayFunction", "Arn"]}


def test_the_edge_function_of_the_example_runs_for_refusals_and_the_example_is_linted() -> None:
    """CloudFront runs no other function for an answer of the origin with a status of 400 or higher."""
    path = "examples/cloudfront/template.yaml"
    template: Any = parse_template((PROJECT / path).read_text())
    resources = template["Resources"]
    behavior = resources["Distribution"]["Properties"]["DistributionConfig"]["DefaultCacheBehavior"]
    (association,) = behavior["LambdaFunctionAssociations"]
    assert association == {"EventType": "origin-response", "LambdaFunctionARN": {"Ref": "ChallengeVersion1"}}
    assert resources["ChallengeFunction"]["Properties"]["Architectures"] == ["x86_64"]
    errors = resources["Distribution"]["Properties"]["DistributionConfig"]["CustomErrorResponses"]
    assert {error["ErrorCode"]: error["ErrorCachingMinTTL"] for error in errors} == {
        404: 0,
        500: 0,
        502: 0,
        503: 0,
        504: 0,
    }
    assert f'"{path}"' in (PROJECT / "local/lint.py").read_text()


def test_the_api_comes_before_every_function() -> None:
    """The first of them decides how `sam local start-api` reads routes; after a function it finds none."""
    names = list(RESOURCES)
    assert names.index("Api") < min(map(names.index, FUNCTIONS))


def test_layer_versions_stay_for_the_stacks_that_name_them() -> None:
    for _, layer in resources_of_type("AWS::Serverless::LayerVersion"):
        assert layer["Properties"]["RetentionPolicy"] == "Retain"


def test_a_stack_has_one_custom_resource() -> None:
    """An earlier release would answer for the deletion of a second one after a rollback, and withdraw the shipped
    content."""
    customs = [name for name, resource in RESOURCES.items() if resource["Type"].startswith("Custom::")]
    assert customs == ["ShippedFunctions"]


CONCURRENCY_OF_A_NEW_ACCOUNT = 10


def test_the_default_concurrency_of_queues_is_not_more_than_a_new_account_has() -> None:
    sources = [resource["Properties"] for _, resource in resources_of_type("AWS::Lambda::EventSourceMapping")]
    queues = [source for source in sources if "ScalingConfig" in source]
    names = {source["ScalingConfig"]["MaximumConcurrency"]["Ref"] for source in queues}
    defaults = {name: TEMPLATE["Parameters"][name]["Default"] for name in names}
    assert defaults.keys() == {"WorkerConcurrency", "SubscriberConcurrency", "DeliveryConcurrency"}
    # Workers and deliveries wait for the functions that they call, which run at the same time.
    assert (
        sum(defaults.values()) + defaults["WorkerConcurrency"] + defaults["DeliveryConcurrency"]
        <= CONCURRENCY_OF_A_NEW_ACCOUNT
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_a_folder_a_log_group_and_no_reserved_concurrency(name: str) -> None:
    properties = FUNCTIONS[name]["Properties"]
    assert (PROJECT / properties["CodeUri"] / "app.py").is_file()
    assert "LogGroup" in properties["LoggingConfig"]
    assert "ReservedConcurrentExecutions" not in properties


def is_refusal_without_tls(statement: dict[str, Any], resources: Sequence[str]) -> bool:
    """Whether a statement of a resource policy denies all requests that come without TLS."""
    return (
        (statement["Effect"], statement["Principal"]) == ("Deny", "*")
        and statement["Action"].endswith(":*")
        and all(name in str(statement["Resource"]) for name in resources)
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    )


QUEUES = dict(resources_of_type("AWS::SQS::Queue"))


def test_undeliverable_change_events_go_to_a_queue_that_accepts_them() -> None:
    """The emulator never does that, so that it is looked at here."""
    target = RESOURCES["SubscriberRule"]["Properties"]["Targets"][0]
    queue = "UnheardChanges"
    assert target["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [queue, "Arn"]}}
    assert target["Arn"] == {"Fn::GetAtt": ["Changes", "Arn"]}
    assert QUEUES["Changes"]["Properties"]["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": [queue, "Arn"]}
    for taking in ("Changes", queue):
        policy = RESOURCES[f"{taking}Policy"]["Properties"]
        statement, secure = policy["PolicyDocument"]["Statement"]
        assert is_refusal_without_tls(secure["Fn::If"][1], [taking])
        assert policy["Queues"] == [{"Ref": taking}]
        assert statement["Principal"] == {"Service": "events.amazonaws.com"}
        assert (statement["Action"], statement["Resource"]) == ("sqs:SendMessage", {"Fn::GetAtt": [taking, "Arn"]})
        assert statement["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["SubscriberRule", "Arn"]}}}


@pytest.mark.parametrize("name", ["UndeliveredChanges", "UnheardChanges", "FailedDeliveries", "FailedWork"])
def test_a_dead_letter_queue_keeps_messages_two_weeks_and_has_an_alarm(name: str) -> None:
    assert QUEUES[name]["Properties"]["MessageRetentionPeriod"] == 14 * 24 * 3600
    alarm = RESOURCES[f"{name}Alarm"]["Properties"]
    assert alarm["Dimensions"] == [{"Name": "QueueName", "Value": {"Fn::GetAtt": [name, "QueueName"]}}]


MAPPING = "AWS::Lambda::EventSourceMapping"
SOURCES = [source for _, source in resources_of_type(MAPPING)]
QUEUE_SOURCES = [source["Properties"] for source in SOURCES if source["Properties"]["EventSourceArn"].get("Fn::GetAtt")]


MOST_FILTERS = 5
"""Filters of an event source mapping without a higher quota."""
DOCUMENTED_RULES = {"prefix", "suffix", "exists", "anything-but"}
"""Rules that Lambda documents for streams of DynamoDB, beside a value as it is. Numbers cannot be compared."""


def list_filtered_keys(pattern: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each key of a filter pattern that has rules, as its path, with the rules."""
    if isinstance(pattern, list):
        yield path, pattern
        return
    for name, part in pattern.items():
        yield from list_filtered_keys(part, *path, name)


def test_stream_filters_use_only_the_keys_and_rules_that_lambda_documents() -> None:
    """Lambda documents that mappings of DynamoDB are filtered on the key dynamodb only, and by an attribute with its
    type; the emulator filters on every key. Without a new image in the pattern, removed rows would pass."""
    filtered = {name: source for name, source in resources_of_type(MAPPING) if "FilterCriteria" in source["Properties"]}
    assert filtered.keys() == {"RelaySource", "HeraldSource"}
    for name, source in filtered.items():
        filters = source["Properties"]["FilterCriteria"]["Filters"]
        assert len(filters) <= MOST_FILTERS, name
        for path, rules in (found for one in filters for found in list_filtered_keys(json.loads(one["Pattern"]))):
            (*place, attribute, kind) = path
            assert (place, kind) == (["dynamodb", "NewImage"], "S"), (name, attribute)
            assert all(isinstance(rule, str) or rule.keys() <= DOCUMENTED_RULES for rule in rules), (name, rules)


@pytest.mark.parametrize("name", ["Changes", "Deliveries", "WorkQueue"])
def test_a_visibility_timeout_is_at_least_six_times_the_function_timeout(name: str) -> None:
    """AWS refuses less than the function may take, and advises six times that; the emulator takes anything."""
    (source,) = [source for source in QUEUE_SOURCES if source["EventSourceArn"]["Fn::GetAtt"][0] == name]
    function = FUNCTIONS[source["FunctionName"]["Ref"]]["Properties"]
    assert QUEUES[name]["Properties"]["VisibilityTimeout"] >= 6 * function["Timeout"]


@pytest.mark.parametrize("name", ["RelayFunction", "HeraldFunction"])
def test_redrive_waits_longer_than_the_timeout_of_a_relay(name: str) -> None:
    assert FUNCTIONS[name]["Properties"]["Timeout"] < PATIENCE


def test_failed_stream_batches_go_to_the_queue_of_redrive() -> None:
    """The emulator shows nothing again, so that it is looked at here."""
    for name in ("RelaySource", "HeraldSource"):
        source = RESOURCES[name]["Properties"]
        assert source["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": ["UndeliveredChanges", "Arn"]}
        assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert source["MaximumRetryAttempts"] == 20
        assert source["BisectBatchOnFunctionError"] is True


def test_only_workflow_relay_and_worker_allow_recursive_loops() -> None:
    """Lambda ends what comes by the same function sixteen times; these two come by as often as a chain has hops."""
    allowed = {name for name, function in FUNCTIONS.items() if function["Properties"].get("RecursiveLoop") == "Allow"}
    assert allowed == {"HeraldFunction", "WorkerFunction"}


def test_template_and_settings_accept_the_same_scope_names() -> None:
    for name, taken in (("SkillsScope", SKILLS_SCOPE), ("PromptsScope", PROMPTS_SCOPE)):
        assert TEMPLATE["Parameters"][name]["AllowedPattern"] == taken.pattern


def test_the_default_lease_margin_is_the_setting_and_stands_in_the_page_on_operations() -> None:
    parameter = TEMPLATE["Parameters"]["LeaseMarginMs"]
    assert parameter["MinValue"] <= parameter["Default"] == LEASE_MARGIN_MS <= parameter["MaxValue"]
    assert f"\n| `LeaseMarginMs` | {LEASE_MARGIN_MS} |" in (PROJECT / "docs/operations.md").read_text()


def test_the_subscriber_rule_matches_every_trigger_type() -> None:
    pattern = TEMPLATE["Resources"]["SubscriberRule"]["Properties"]["EventPattern"]
    assert sorted(pattern["detail-type"]) == sorted(TRIGGER_TYPES)


ROLES = dict(resources_of_type("AWS::IAM::Role"))


def statements(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for policy in role["Properties"]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


@pytest.mark.parametrize("name", ROLES)
def test_a_role_names_its_actions_and_its_resources(name: str) -> None:
    for statement in statements(ROLES[name]):
        assert "*" not in str(statement["Action"]), statement["Sid"]
        # All objects under a named prefix is as narrow as it gets; or all that somebody has tagged for it.
        is_tagged = any(
            key.startswith("aws:ResourceTag/") for key in statement.get("Condition", {}).get("StringLike", ())
        )
        resources = re.sub(r"(?<=[a-z])/\*'" if not is_tagged else ":secret:\\*", "", str(statement["Resource"]))
        assert "*" not in resources, statement["Sid"]
        assert statement["Sid"]


def test_secrets_of_other_stacks_are_writable_only_if_their_executors_are_named() -> None:
    (statement,) = [one for one in statements(ROLES["RegistryRole"]) if one["Sid"] == "HandOutKeys"]
    condition, all_that_are_tagged, own = statement["Resource"]["Fn::If"]
    assert (condition, own) == ("HasExecutors", {"Fn::GetAtt": ["ExecutorCoreKeys", "Id"]})
    assert all_that_are_tagged["Fn::Sub"].endswith(":secret:*")
    assert statement["Condition"] == {"StringLike": {"aws:ResourceTag/signpost:executor-keys": "*"}}


def test_every_function_has_a_role_of_its_own() -> None:
    roles = [str(function["Properties"]["Role"]) for function in FUNCTIONS.values()]
    assert len(set(roles)) == len(FUNCTIONS) == len(ROLES)


DATA = resources_of_type("AWS::DynamoDB::Table", "AWS::SecretsManager::Secret", "AWS::S3::Bucket")


# The keys of executors are derived from the master keys and handed out again.
@pytest.mark.parametrize("name", [name for name, _ in DATA if not re.fullmatch(r"Executor\w+Keys", name)])
def test_data_resources_are_retained_when_the_stack_is_deleted(name: str) -> None:
    assert RESOURCES[name]["DeletionPolicy"] == "RetainExceptOnCreate"  # a first deployment that fails leaves nothing
    assert RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


def test_the_content_bucket_answers_nothing_without_tls() -> None:
    policy = RESOURCES["ContentBucketPolicy"]
    assert policy["Condition"] == "IsInAws"
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "s3:*"
    assert is_refusal_without_tls(statement, ["ContentBucket", "/*"])


def test_the_tables_of_a_stack_in_production_are_protected_from_deletion() -> None:
    for _, table in resources_of_type("AWS::DynamoDB::Table"):
        assert table["Properties"]["DeletionProtectionEnabled"] == {"Fn::If": ["ProtectsTables", True, False]}
    assert TEMPLATE["Parameters"]["DeletionProtection"]["Default"] == "on"
    assert TEMPLATE["Conditions"]["ProtectsTables"]["Fn::And"] == [
        {"Fn::Equals": [{"Ref": "Stage"}, "prod"]},
        {"Fn::Equals": [{"Ref": "DeletionProtection"}, "on"]},
        {"Condition": "IsInAws"},
    ]


def test_a_condition_on_all_values_of_a_key_needs_the_key() -> None:
    """An absent key satisfies `ForAllValues`."""
    for name, role in ROLES.items():
        for policy in role["Properties"]["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                conditions = statement.get("Condition", {})
                keys = [
                    key for operator, one in conditions.items() if operator.startswith("ForAllValues") for key in one
                ]
                assert [conditions.get("Null", {}).get(key) for key in keys] == ["false"] * len(keys), name


def test_tables_have_point_in_time_recovery_and_time_to_live() -> None:
    for _, table in resources_of_type("AWS::DynamoDB::Table"):
        assert table["Properties"]["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
        assert table["Properties"]["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}


SETTINGS = (PROJECT / "layers/shared/python/signpost/settings.py").read_text()
SHARED_VARIABLES = set(TEMPLATE["Globals"]["Function"]["Environment"]["Variables"])
VARIABLES_READ_BY_ALL = {"AWS_ENDPOINT_URL", "POWERTOOLS_LOG_LEVEL", "WIRING"}


def variables_read_by(reader: str) -> set[str]:
    """With those that are read by what it hands the environment to."""
    (source,) = re.findall(rf"^def {reader}\(.*?(?=\n\n\n)", SETTINGS, flags=re.DOTALL | re.MULTILINE)
    _, _, body = source.partition(":\n")
    read = set(re.findall(r'environment\["([A-Z_]+)"]', body))
    return read.union(*(variables_read_by(other) for other in re.findall(r"(\w+)\(environment\)", body)))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if not name.startswith("Executor")])
def test_a_function_has_exactly_the_variables_that_its_settings_read(name: str) -> None:
    """Every variable is read and every one that is read is there."""
    function = Path(FUNCTIONS[name]["Properties"]["CodeUri"]).name
    read = variables_read_by(f"{function}_settings")
    assert set(FUNCTIONS[name]["Properties"]["Environment"]["Variables"]) == read - SHARED_VARIABLES
    assert SHARED_VARIABLES == VARIABLES_READ_BY_ALL


def test_every_alarm_has_its_row_in_the_page_on_operations() -> None:
    page = (PROJECT / "docs/operations.md").read_text()
    alarms = [name for name, resource in RESOURCES.items() if resource["Type"] == "AWS::CloudWatch::Alarm"]
    assert [name for name in alarms if f"\n| `{name}` |" not in page] == []


def test_every_parameter_is_explained_grouped_and_used() -> None:
    source = (PROJECT / "template.yaml").read_text()
    groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    grouped = {parameter for group in groups for parameter in group["Parameters"]}
    assert grouped == set(TEMPLATE["Parameters"])
    for parameter, definition in TEMPLATE["Parameters"].items():
        assert definition["Description"].endswith("."), parameter
        assert re.search(rf"!Ref {parameter}\b|\${{{parameter}}}", source), parameter
