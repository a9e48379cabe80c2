"""The roles of the functions: as the template has them, as they are deployed, and the requests and resources that they
are for."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local.intrinsics import parse_template
from local.stack import PROJECT, resource_names
from signpost.adapters.dynamodb.deployment_lists import DynamoDeploymentLists
from tests.support.aws_requests import EXECUTOR_TAG, OBJECT_PREFIXES, Resources
from tests.support.exercised_stack import ExercisedStack
from tests.support.policy_judge import Request, Statement, read_policy

TEMPLATE: Any = parse_template((PROJECT / "template.yaml").read_text())
FUNCTION_OUTPUTS: Mapping[str, str] = {
    **{
        name: f"{name}FunctionName"
        for name in (
            "Gateway",
            "NestedCalls",
            "Registry",
            "Relay",
            "Herald",
            "Worker",
            "Sweeper",
            "Subscriber",
            "Delivery",
        )
    },
    "ExecutorCore": "ExecutorCoreFunctionArn",
}
"""The outputs that name the functions, by the names of the functions."""

TABLE = "RegistryTableName"
LOGGING_ACTIONS = ("logs:CreateLogStream", "logs:PutLogEvents")
STREAM_ACTIONS = tuple(
    f"dynamodb:{name}" for name in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
)
QUEUE_ACTIONS = ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")


def read_template_statements(function: str) -> Sequence[Statement]:
    """Return the statements of a role. Their resources are the template's expressions, not yet ARNs."""
    resources, role = TEMPLATE["Resources"], f"{function}Role"
    documents = [policy["PolicyDocument"] for policy in resources[role]["Properties"]["Policies"]]
    documents += [
        item["Properties"]["PolicyDocument"]
        for item in resources.values()
        if item["Type"] == "AWS::IAM::Policy" and {"Ref": role} in item["Properties"]["Roles"]
    ]
    written = [statement for document in documents for statement in document["Statement"]]
    return read_policy({"Statement": [item["Fn::If"][1] if "Fn::If" in item else item for item in written]})


class DeployedRoles:
    """The roles of the functions of one stack, and the names of its resources."""

    def __init__(self, exercised: ExercisedStack) -> None:
        self._exercised = exercised
        self._lambda = exercised.functions.lambdas
        self._iam = exercised.laptop.client("iam")
        self._names = resource_names(exercised.laptop.emulator, exercised.stack.deployed.name)
        self._configurations = {
            function: self._lambda.get_function_configuration(FunctionName=exercised.read_output(output))
            for function, output in FUNCTION_OUTPUTS.items()
        }

    def find_role_arn(self, function: str) -> str:
        return self._configurations[function]["Role"]

    def find_session(self, function: str) -> tuple[str, str]:
        """Return the names of the role and of the session in which Lambda runs a function."""
        return self._role(function), self._configurations[function]["FunctionName"]

    def _role(self, function: str) -> str:
        return self.find_role_arn(function).rsplit("/", 1)[-1]

    def read_statements(self, function: str) -> Sequence[Statement]:
        """Return the statements of a role as IAM has them."""
        role = self._role(function)
        assert self._iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"] == []
        names = self._iam.list_role_policies(RoleName=role)["PolicyNames"]
        written = [self._iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"] for name in names]
        documents = [json.loads(text) if isinstance(text, str) else text for text in written]
        return [statement for document in documents for statement in read_policy(document)]

    def list_lambda_requests(self, function: str) -> Iterator[Request]:
        """Return the requests that Lambda itself makes in the role, as its developer guide lists them: it writes the
        log, reads the streams and queues of event source mappings, and sends failures to their destinations. The
        emulator does all that without a permission."""
        log = f"{_arn('logs', self._log_group(function))}:log-stream:stream"
        yield from (Request(action, log) for action in LOGGING_ACTIONS)
        name = self._configurations[function]["FunctionName"]
        for source in self._lambda.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]:
            is_stream = ":dynamodb:" in source["EventSourceArn"]
            yield from (
                Request(action, source["EventSourceArn"]) for action in (STREAM_ACTIONS if is_stream else QUEUE_ACTIONS)
            )
            failed = source.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
            yield from [Request("sqs:SendMessage", failed)] if failed else []

    def list_resources(self) -> Resources:
        """Return the resources of the stack, and foreign resources that look like them."""
        resources = {**self._data(), **self._secrets(), **dict(self._compute())}
        unnamed = {name: arn for name, arn in resources.items() if not arn.startswith("arn:")}
        assert not unnamed, unnamed
        return resources

    def _log_group(self, function: str) -> str:
        return f"log-group:{self._configurations[function]['LoggingConfig']['LogGroup']}"

    def _data(self) -> Resources:
        bucket = f"arn:aws:s3:::{self._exercised.read_output('ContentBucketName')}"
        resources = {"bucket": bucket, "another bucket": "arn:aws:s3:::another"}
        resources |= {f"bucket/{prefix}": f"{bucket}/{prefix}/object" for prefix in OBJECT_PREFIXES}
        resources |= {"another bucket/values": "arn:aws:s3:::another/values/object"}
        for name, output in (("registry", "RegistryTableName"), ("workflows", "WorkflowsTableName")):
            table = self._exercised.read_output(output)
            described = self._exercised.dynamodb.describe_table(TableName=table)["Table"]
            arn = described["TableArn"]
            resources |= {name: arn, f"{name} stream": described["LatestStreamArn"]}
            resources |= {f"former {name} stream": f"{arn}/stream/2026-01-01T00:00:00.000"}
            resources |= {f"{name} index": f"{arn}/index/due", f"another {name} index": f"{arn}/index/another"}
        return {**resources, "another table": _arn("dynamodb", "table/another")}

    def _secrets(self) -> Resources:
        """Return the secrets. The secrets named executor keys have the tag of executor keys."""
        secrets = self._exercised.laptop.client("secretsmanager")
        configuration = self._configurations["ExecutorCore"]["Environment"]["Variables"]
        core = configuration["EXECUTOR_KEY_SECRET_ARN"]
        assert EXECUTOR_TAG.removeprefix("aws:resourcetag/") in str(secrets.describe_secret(SecretId=core)["Tags"])
        return {
            "master keys": self._exercised.read_output("MasterSecretArn"),
            "core executor keys": core,
            "search key": configuration["SEARCH_KEY_SECRET_ARN"],
            "another secret": _arn("secretsmanager", "secret:another-abcdef"),
            "executor keys of another stack": _arn("secretsmanager", "secret:others-abcdef"),
            "executor keys in another region": "arn:aws:secretsmanager:eu-west-1:000000000000:secret:others-abcdef",
        }

    def _compute(self) -> Iterator[tuple[str, str]]:
        """Return functions, their logs and roles, queues and the bus."""
        for function, configuration in self._configurations.items():
            yield f"{function} function", configuration["FunctionArn"]
            yield f"{function} log", f"{_arn('logs', self._log_group(function))}:log-stream:stream"
        for logical_id, resource in TEMPLATE["Resources"].items():
            if resource["Type"] == "AWS::SQS::Queue":
                yield f"{logical_id} queue", _arn("sqs", self._names[logical_id].rsplit("/", 1)[-1])
        yield "bus", self._exercised.read_output("EventBusArn")
        (stranger,) = (
            DynamoDeploymentLists(self._exercised.dynamodb, self._exercised.read_output(TABLE)).read().executors
        )
        yield "stranger", stranger
        yield "gateway role", self.find_role_arn("Gateway")
        for name, service, resource in FOREIGN_RESOURCES:
            yield name, _arn(service, resource)


FOREIGN_RESOURCES = (
    ("another function", "lambda", "function:another"),
    ("another log", "logs", "log-group:/another:log-stream:stream"),
    ("another log of the stack", "logs", "log-group:/signpost/exercised/another:log-stream:stream"),
    ("another queue", "sqs", "another"),
    ("another bus", "events", "event-bus/another"),
    ("a key", "kms", "key/another"),
)
"""Resources that no function of the stack uses, by service."""


def _arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:us-east-1:000000000000:{resource}"
