"""`signpost doctor` on a deployed stack: quiet while it is sound, and with a finding for each thing that is broken."""

import json
import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from local.issuer import Issuer
from local.ports import free_port
from local.stack import PROJECT, resource_names
from signpost.adapters import keys
from signpost.adapters.dynamodb import DynamoApiKeys, DynamoDirectory
from signpost.cli import main
from signpost.cli.keys import new_key, stored_key
from signpost.contract import Executor, HostedFunction
from signpost.directory.load_tenants import TENANTS_TAG
from signpost.model import JsonObject
from tests.support.commands import ProcessRunner
from tests.support.executors import Executors
from tests.support.laptop import Laptop, Stack
from tests.support.waiting import wait_for

pytestmark = pytest.mark.cloud

STACK = "doctor"
PAGE = PROJECT / "docs/doctor.md"
OTHER_NAMES = {
    "lambda:GetEventSourceMapping": "lambda:ListEventSourceMappings",
    "lambda:GetFunctionConcurrency": "lambda:PutFunctionConcurrency",
}
"""Actions that the emulator judges under another name than AWS."""
NOT_JUDGED = {"lambda:GetAccountSettings"}
"""Actions that the emulator permits to every role."""
UNUSED_WHEN_SOUND = {
    "cloudformation:DescribeStackEvents",
    "cloudwatch:GetMetricStatistics",
    "lambda:ListTags",
    "s3:GetObject",
    "sns:ListSubscriptionsByTopic",
    "sqs:ReceiveMessage",
}
"""Actions that are needed only for a stack with messages, alarms with a topic, long values, loaded executors or a
failure."""
ACCOUNT = "arn:aws:lambda:us-east-1:000000000000:function:"

type Examine = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def examine(laptop: Laptop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Examine:
    """Return a runner of the command in this process, with the rights of the account's owner. It returns the exit code
    and the JSON document."""
    for name, value in laptop.emulator.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    def run(stack: str, *arguments: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = main(["doctor", "--stack", stack, "--json", *arguments])
        return code, json.loads(capsys.readouterr().out)

    return run


def find(document: dict[str, Any], code: str) -> dict[str, Any]:
    """Return the only finding with this code."""
    (found,) = [finding for finding in document["findings"] if finding["code"] == code]
    return found


def codes_of(document: dict[str, Any]) -> set[str]:
    return {finding["code"] for finding in document["findings"]}


@contextmanager
def broken(
    examine: Examine, stack: str, check: str, code: str, *, exit_code: int = 1, mend: Callable[[], object]
) -> Generator[Callable[[], dict[str, Any]]]:
    """Yield a function that returns the finding of a fault that was made before the block. Afterwards mend the fault,
    and check that the finding is gone."""

    def look() -> dict[str, Any]:
        code_of_exit, document = examine(stack, "--only", check)
        assert code_of_exit == exit_code, document
        return find(document, code)

    try:
        yield look
    finally:
        mend()
    assert code not in codes_of(examine(stack, "--only", check)[1])


@pytest.fixture(scope="module")
def examined(laptop: Laptop) -> Stack:
    """Deploy a stack of its own, so that other tests neither break it nor meet what is broken here."""
    return laptop.deploy(STACK, AuthMode="both")


@pytest.fixture(scope="module")
def late_issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    """Return an issuer that does not answer before a test starts it."""
    return Issuer(tmp_path_factory.mktemp("issuer"), free_port())


@pytest.fixture(scope="module")
def wrecked(laptop: Laptop, late_issuer: Issuer) -> Stack:
    """Deploy a stack whose issuer and endpoint do not answer, and whose resources tests may delete."""
    return laptop.deploy("wrecked", AuthMode="jwt", OidcIssuer=late_issuer.url, PublicUrl="http://127.0.0.1:1")


@pytest.fixture
def names(laptop: Laptop, examined: Stack) -> Any:
    """Return the physical ids of the resources of the stack."""
    return resource_names(laptop.emulator, examined.deployed.name)


def wait_for_empty_queues(examine: Examine) -> None:
    """Wait until the changes of earlier tests are passed on."""
    wait_for("the queues to be empty", lambda: examine(STACK, "--only", "queues"), lambda seen: seen[0] == 0)


def test_a_sound_stack_has_no_findings_and_nothing_unseen(examined: Stack, examine: Examine) -> None:
    wait_for_empty_queues(examine)
    assert examined.request(None).status == 401
    code, document = examine(STACK)
    assert document["findings"] == []
    assert document["notSeen"] == []
    assert code == 0


def test_the_command_prints_its_progress_and_a_summary(examined: Stack, signpost: ProcessRunner) -> None:
    del examined  # it must be there
    done = signpost("doctor", "--stack", STACK, "--only", "parameters", "--only", "clock")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "doctor: 0 errors, 0 warnings, 0 notes by 2 checks.\n"
    assert done.stderr == "looking at the parameters\nlooking at the clock of this machine\n"


def test_a_stack_that_does_not_exist_cannot_be_looked_at(signpost: ProcessRunner) -> None:
    done = signpost("doctor", "--stack", "nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "--stack, AWS_PROFILE and AWS_REGION" in done.stderr
    assert "Traceback" not in done.stderr


def test_aws_that_cannot_be_reached_cannot_be_looked_at(signpost: ProcessRunner) -> None:
    done = signpost("doctor", AWS_ENDPOINT_URL="http://127.0.0.1:1", AWS_MAX_ATTEMPTS="1")
    assert done.returncode == 2
    assert "Could not connect" in done.stderr


@pytest.mark.invariant(109)
def test_dead_letters_are_found_until_they_are_sent_again(laptop: Laptop, examined: Stack, examine: Examine) -> None:
    sqs, url = laptop.client("sqs"), examined.deployed.outputs["FailedWorkUrl"]
    sqs.send_message(QueueUrl=url, MessageBody='{"tenant":"acme","workflowId":"w-1","secret":"s3cret"}')
    with broken(examine, STACK, "queues", "dead_letters", mend=lambda: sqs.purge_queue(QueueUrl=url)) as look:
        finding = look()
        assert finding["subject"] == "FailedWork"
        assert "`signpost workflow retry --stack doctor`" in finding["remedy"]
        assert "tenant acme, workflowId w-1" in finding["problem"]
        assert "s3cret" not in finding["problem"]
        assert look() == finding, "the first examination has hidden or changed the message"


def test_a_disabled_event_source_mapping_is_found(
    laptop: Laptop, examined: Stack, names: Any, examine: Examine
) -> None:
    functions, uuid = laptop.client("lambda"), names["SubscriberSource"]
    functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    with broken(
        examine,
        STACK,
        "event-sources",
        "event_source_disabled",
        mend=lambda: functions.update_event_source_mapping(UUID=uuid, Enabled=True),
    ) as look:
        finding = look()
        assert finding["subject"] == "SubscriberSource"
        laptop.client("sqs").send_message(QueueUrl=examined.deployed.outputs["ChangesUrl"], MessageBody="{}")
        (unseen,) = examine(STACK, "--only", "queues")[1]["notSeen"]
        assert unseen["subject"] == "age of the oldest message in Changes (1 can be received)"
        laptop.client("sqs").purge_queue(QueueUrl=examined.deployed.outputs["ChangesUrl"])
        assert f"aws lambda update-event-source-mapping --uuid {uuid} --enabled" in finding["remedy"]


def test_a_disabled_rule_is_found(laptop: Laptop, names: Any, examine: Examine) -> None:
    events, rule = laptop.client("events"), names["SweeperRule"]
    events.disable_rule(Name=rule)
    with broken(examine, STACK, "event-sources", "rule_disabled", mend=lambda: events.enable_rule(Name=rule)) as look:
        assert look()["subject"] == "SweeperRule"


def test_a_ringing_alarm_is_found(laptop: Laptop, names: Any, examine: Examine) -> None:
    cloudwatch, alarm = laptop.client("cloudwatch"), names["ApiFailuresAlarm"]

    def set_state(state: str) -> None:
        cloudwatch.set_alarm_state(AlarmName=alarm, StateValue=state, StateReason="a test")

    set_state("ALARM")
    with broken(examine, STACK, "alarms", "alarm_ringing", mend=lambda: set_state("OK")) as look:
        finding = look()
        assert finding["subject"] == "ApiFailuresAlarm"
        assert "Clients received 5xx answers." in finding["problem"]


def test_a_stopped_function_is_found(laptop: Laptop, names: Any, examine: Examine) -> None:
    functions, function = laptop.client("lambda"), names["SweeperFunction"]
    functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    with broken(
        examine,
        STACK,
        "functions",
        "function_stopped",
        mend=lambda: functions.delete_function_concurrency(FunctionName=function),
    ) as look:
        assert look()["subject"] == "SweeperFunction"


def test_a_resource_that_was_changed_by_hand_is_found(laptop: Laptop, names: Any, examine: Examine) -> None:
    functions, function = laptop.client("lambda"), names["RelayFunction"]
    functions.update_function_configuration(FunctionName=function, Timeout=299)
    with broken(
        examine,
        STACK,
        "drift",
        "resource_drifted",
        exit_code=0,
        mend=lambda: functions.update_function_configuration(FunctionName=function, Timeout=300),
    ) as look:
        finding = look()
        assert finding["subject"] == "RelayFunction"
        assert "/Timeout" in finding["problem"]


def test_an_expired_and_an_expiring_key_are_found_until_they_are_revoked(
    laptop: Laptop, examined: Stack, examine: Examine
) -> None:
    store = DynamoApiKeys(laptop.client("dynamodb"), examined.deployed.outputs["RegistryTableName"])
    now = time.time()
    expired, expiring = new_key("doctor"), new_key("doctor")
    assert store.add(stored_key(expired, "old", created_at=now - 100, lifetime=50))
    assert store.add(stored_key(expiring, "soon", created_at=now, lifetime=86_400))
    code, document = examine(STACK, "--only", "keys", "--tenant", "doctor")
    assert code == 0
    assert expired.key_id in find(document, "api_key_expired")["subject"]
    assert expiring.key_id in find(document, "api_key_expires_soon")["subject"]
    for key in (expired, expiring):
        store.revoke("doctor", key.key_id, now)
    assert examine(STACK, "--only", "keys", "--tenant", "doctor")[1]["findings"] == []


def test_a_deleted_document_is_found(laptop: Laptop, examined: Stack, examine: Examine) -> None:
    s3, bucket = laptop.client("s3"), examined.deployed.outputs["ContentBucketName"]
    key = s3.list_objects_v2(Bucket=bucket, Prefix="content/_shipped/")["Contents"][0]["Key"]
    body = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    s3.delete_object(Bucket=bucket, Key=key)
    with broken(
        examine,
        STACK,
        "documents",
        "document_missing",
        mend=lambda: s3.put_object(Bucket=bucket, Key=key, Body=body),
    ) as look:
        finding = look()
        assert finding["subject"].endswith("of the deployment")
        assert f"--prefix {key}" in finding["remedy"]
    s3.put_object(Bucket=bucket, Key=key, Body=body + b"!")
    with broken(
        examine,
        STACK,
        "documents",
        "document_changed",
        mend=lambda: s3.put_object(Bucket=bucket, Key=key, Body=body),
    ) as look:
        assert f"{len(body) + 1} bytes instead of {len(body)}" in look()["problem"]


def test_a_deleted_placement_is_found(laptop: Laptop, examined: Stack, examine: Examine) -> None:
    dynamodb, table = laptop.client("dynamodb"), examined.deployed.outputs["RegistryTableName"]
    key = keys.placed_function(None, "core::wait")
    row = dynamodb.get_item(TableName=table, Key=key)["Item"]
    dynamodb.delete_item(TableName=table, Key=key)
    with broken(
        examine,
        STACK,
        "executors",
        "placement_incomplete",
        mend=lambda: dynamodb.put_item(TableName=table, Item=row),
    ) as look:
        assert "core::wait of the deployment" in look()["problem"]


def test_the_executor_of_the_stack_that_is_not_placed_is_found(
    laptop: Laptop, examined: Stack, examine: Examine
) -> None:
    outputs = examined.deployed.outputs
    dynamodb, table = laptop.client("dynamodb"), outputs["RegistryTableName"]
    key = keys.executor(None, outputs["ExecutorCoreFunctionArn"])
    row = dynamodb.get_item(TableName=table, Key=key)["Item"]
    dynamodb.delete_item(TableName=table, Key=key)
    with broken(
        examine, STACK, "executors", "core_not_placed", mend=lambda: dynamodb.put_item(TableName=table, Item=row)
    ) as look:
        assert look()["subject"] == outputs["ExecutorCoreFunctionArn"]


def test_an_executor_that_does_not_exist_is_found_until_it_is_removed(
    laptop: Laptop, examined: Stack, examine: Examine, signpost: ProcessRunner
) -> None:
    outputs = examined.deployed.outputs
    directory = DynamoDirectory(laptop.client("dynamodb"), outputs["RegistryTableName"])
    gone = Executor(f"{ACCOUNT}gone", outputs["MasterSecretArn"], 3_000)
    assert directory.place("doctor", gone, [HostedFunction("gone::run")]) == []

    def remove() -> None:
        done = signpost("executors", "remove", gone.arn, "--tenant", "doctor", "--stack", STACK)
        assert done.returncode == 0, done.stderr

    with broken(examine, STACK, "executors", "executor_no_answer", mend=remove) as look:
        assert f"signpost executors remove {gone.arn} --tenant doctor --stack doctor" in look()["remedy"]
        document = examine(STACK, "--only", "executors")[1]
        assert find(document, "executor_not_allowed")["subject"] == gone.arn
    assert examine(STACK, "--only", "executors")[1]["findings"] == []


def test_an_executor_without_the_tag_of_its_tenant_is_found(executors: Executors, examine: Examine) -> None:
    arn, functions = executors.find_executor("stub").arn, executors.laptop.client("lambda")
    executors.place("stub", [HostedFunction("doctor::run")], "doctor-tags")

    def tag(tenants: str) -> None:
        functions.tag_resource(Resource=arn, Tags={TENANTS_TAG: tenants})

    def look_for(code: str) -> list[dict[str, Any]]:
        findings = examine("calling", "--only", "executors")[1]["findings"]
        return [finding for finding in findings if (finding["code"], finding["subject"]) == (code, arn)]

    before = functions.list_tags(Resource=arn)["Tags"].get(TENANTS_TAG)
    try:
        tag("another")
        assert any("tenant doctor-tags" in finding["problem"] for finding in look_for("executor_tag_missing"))
        tag("@all")
        assert look_for("executor_tag_missing") == []
    finally:
        if before is None:
            functions.untag_resource(Resource=arn, TagKeys=[TENANTS_TAG])
        else:
            tag(before)
        executors.directory.remove("doctor-tags", arn)


def test_a_prompt_whose_function_no_executor_hosts_is_found(
    examined: Stack, examine: Examine, signpost: ProcessRunner, tmp_path: Path
) -> None:
    del examined  # it must be there
    prompts = tmp_path / "prompts.yaml"
    prompts.write_text("- name: greet\n  description: Greets.\n  function_id: nobody::greets\n")
    done = signpost("publish", str(tmp_path), "--stack", STACK)
    assert done.returncode == 0, done.stderr

    def withdraw() -> None:
        prompts.write_text("[]\n")
        done = signpost("publish", str(tmp_path), "--prune", "--stack", STACK)
        assert done.returncode == 0, done.stderr

    with broken(examine, STACK, "published", "function_not_found", mend=withdraw) as look:
        finding = look()
        assert finding["subject"] == "prompt greet of tenant default"
        assert "nobody::greets" in finding["problem"]


def test_rows_of_a_later_release_are_found(laptop: Laptop, examined: Stack, examine: Examine) -> None:
    dynamodb, table = laptop.client("dynamodb"), examined.deployed.outputs["RegistryTableName"]
    row = {**keys.settings("doctor", None), "schema": {"N": str(keys.SCHEMA + 1)}}
    dynamodb.put_item(TableName=table, Item=row)
    code, document = examine(STACK, "--only", "release", "--tenant", "doctor")
    assert (code, find(document, "stored_format_newer")["subject"]) == (1, "settings")
    dynamodb.delete_item(TableName=table, Key=keys.settings("doctor", None))
    assert examine(STACK, "--only", "release", "--tenant", "doctor")[1]["findings"] == []


def test_an_issuer_that_is_not_reached_is_found_until_it_answers(
    wrecked: Stack, late_issuer: Issuer, examine: Examine
) -> None:
    name = wrecked.deployed.name
    with broken(examine, name, "issuer", "issuer_unreachable", mend=late_issuer.start) as look:
        finding = look()
        assert "cannot be fetched (timed out)" in finding["problem"]
        assert f"{late_issuer.url}/.well-known/openid-configuration" in finding["remedy"]
    late_issuer.stop()


def test_an_endpoint_that_does_not_answer_is_found(wrecked: Stack, examine: Examine) -> None:
    code, document = examine(wrecked.deployed.name, "--only", "endpoint", "--only", "release")
    assert (code, codes_of(document)) == (1, {"endpoint_unreachable"})
    assert [unseen["subject"] for unseen in document["notSeen"]] == ["release of the stack"]


def test_resources_that_were_deleted_by_hand_are_found(laptop: Laptop, wrecked: Stack, examine: Examine) -> None:
    """They are not made again: the emulator no longer serves a queue whose dead letter queue was deleted once."""
    name = wrecked.deployed.name
    names = resource_names(laptop.emulator, name)
    laptop.client("sqs").delete_queue(QueueUrl=names["UnheardChanges"])
    laptop.client("lambda").delete_event_source_mapping(UUID=names["HeraldSource"])
    laptop.client("lambda").delete_function(FunctionName=names["NestedCallsFunction"])
    laptop.client("cloudwatch").delete_alarms(AlarmNames=[names["SweeperAlarm"]])
    targets = laptop.client("events").list_targets_by_rule(Rule=names["SweeperRule"])["Targets"]
    laptop.client("events").remove_targets(Rule=names["SweeperRule"], Ids=[target["Id"] for target in targets])
    laptop.client("events").delete_rule(Name=names["SweeperRule"])
    checks = ("functions", "queues", "event-sources", "alarms", "quotas", "drift")
    code, document = examine(name, *(option for check in checks for option in ("--only", check)))
    found = {finding["code"]: finding["subject"] for finding in document["findings"]}
    assert found.items() >= {
        ("function_missing", "NestedCallsFunction"),
        ("queue_missing", "UnheardChanges"),
        ("event_source_missing", "HeraldSource"),
        ("rule_missing", "SweeperRule"),
        ("alarm_missing", "SweeperAlarm"),
    }
    assert "resource_deleted" in found
    assert (code, document["notSeen"]) == (1, [])


def test_a_deployment_that_failed_is_found_with_its_reason(laptop: Laptop, examine: Examine) -> None:
    """The stack has another template, so that it fails quickly. Checks that need its outputs are reported as not
    seen."""
    odd = {"Type": "Custom::Odd", "Properties": {"ServiceToken": f"{ACCOUNT}gone"}}
    cloudformation = laptop.client("cloudformation")
    cloudformation.create_stack(StackName="failed", TemplateBody=json.dumps({"Resources": {"Odd": odd}}))
    wait_for(
        "the creation to fail",
        lambda: cloudformation.describe_stacks(StackName="failed")["Stacks"][0]["StackStatus"],
        lambda status: status == "ROLLBACK_COMPLETE",
    )
    code, document = examine("failed")
    assert code == 1
    finding = find(document, "stack_failed")
    assert "Odd is CREATE_FAILED" in finding["problem"]
    assert "sam delete --stack-name failed" in finding["remedy"]
    unseen = {unseen["check"]: unseen["reason"] for unseen in document["notSeen"]}
    assert {"endpoint", "release", "keys", "functions", "executors", "published", "documents"} <= unseen.keys()
    assert "no output McpUrl" in unseen["endpoint"]


@pytest.mark.invariant(108)
def test_what_the_credentials_may_not_read_is_not_counted_as_sound(
    laptop: Laptop, examined: Stack, signpost: ProcessRunner
) -> None:
    del examined  # it must be there
    only_the_stack = {"Effect": "Allow", "Action": ["cloudformation:DescribeStacks"], "Resource": "*"}
    credentials = assume_role(laptop, "doctor-reader", {"Version": "2012-10-17", "Statement": [only_the_stack]})
    with laptop.expect_denials_during("doctor-reader"):
        done = signpost("doctor", "--stack", STACK, "--json", **credentials)
    document = json.loads(done.stdout)
    assert done.returncode == 2, document
    denied = {unseen["check"] for unseen in document["notSeen"]}
    assert {"functions", "queues", "event-sources", "alarms", "quotas", "drift"} <= denied
    assert all("may not" in unseen["reason"] for unseen in document["notSeen"])


def test_the_permissions_of_the_page_are_enough_and_none_is_idle(
    laptop: Laptop, examined: Stack, signpost: ProcessRunner, examine: Examine
) -> None:
    del examined  # it must be there
    wait_for_empty_queues(examine)
    (block,) = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    policy = json.loads(block)
    actions = set(policy["Statement"][0]["Action"])
    policy["Statement"][0]["Action"] += [OTHER_NAMES[action] for action in actions & OTHER_NAMES.keys()]
    done = signpost("doctor", "--stack", STACK, "--json", **assume_role(laptop, "doctor-page", policy))
    document = json.loads(done.stdout)
    assert document["notSeen"] == []
    assert done.returncode == 0, document
    used = {decision.request.action for decision in laptop.read_decisions() if decision.session == "doctor-page"}
    unused = {action for action in actions if OTHER_NAMES.get(action, action) not in used}
    assert unused == UNUSED_WHEN_SOUND | NOT_JUDGED


def assume_role(laptop: Laptop, name: str, policy: JsonObject) -> dict[str, str]:
    """Make a role with this policy, and return the credentials of a session of it."""
    iam, sts = laptop.client("iam"), laptop.client("sts")
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    iam.put_role_policy(RoleName=name, PolicyName="read", PolicyDocument=json.dumps(policy))
    found = sts.assume_role(RoleArn=role, RoleSessionName=name)["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
        "AWS_SESSION_TOKEN": found["SessionToken"],
    }
