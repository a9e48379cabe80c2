"""Replaces the intrinsic functions of a template by their longest values."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

LONGEST_PARAMETER = 4_096
"""Characters of the value of a parameter that limits them no further."""
SHORTEST_ENTRY = 32
"""Characters of the entries of a parameter with a list of ARNs, each of which adds two quotation marks to a policy."""
LONGEST_NAMES = {
    "AWS::DynamoDB::Table": 255,
    "AWS::Events::EventBus": 256,
    "AWS::IAM::Role": 64,
    "AWS::Lambda::Function": 64,
    "AWS::Logs::LogGroup": 512,
    "AWS::S3::Bucket": 63,
    "AWS::SQS::Queue": 80,
}
"""The longest names by type of resource. CloudFormation makes names of stack name, logical id and a suffix."""
LONGEST_PSEUDO_PARAMETERS = {
    "AWS::AccountId": 12,
    "AWS::Partition": len("aws-us-gov"),
    "AWS::Region": len("ap-southeast-1"),
    "AWS::StackName": 128,
    "AWS::URLSuffix": len("amazonaws.com.cn"),
}
LONGEST_SUFFIX = 15
"""Characters that CloudFormation adds to stack name and logical id."""
LONGEST_NUMBER = 20
LONGEST_ID = 32
"""Characters of ids that a service makes, such as that of an API."""
ARN = "arn:aws-us-gov:secretsmanager:ap-southeast-1:000000000000:log-group:"
"""The longest beginning of an ARN."""
ARN_REST = "/stream/2026-01-01T00:00:00.000"
"""The end of the longest ARNs, those of streams, behind the name."""
NAME_PROPERTIES = ("FunctionName", "LogGroupName", "QueueName", "TableName", "BucketName", "RoleName")

type Template = Mapping[str, Any]


class _NoValue:
    """Stands for `AWS::NoValue`, which leaves its place out."""


NO_VALUE = _NoValue()


class LongestValues:
    """Replaces the intrinsic functions of a template by the longest values that they can have."""

    def __init__(self, template: Template) -> None:
        self._parameters: Mapping[str, Any] = template.get("Parameters", {})
        self._resources: Mapping[str, Any] = template["Resources"]

    def of(self, value: Any) -> Any:
        """Return a value of the template with all its intrinsic functions replaced."""
        if isinstance(value, list):
            replaced_list = [self.of(entry) for entry in cast("list[Any]", value)]
            return [entry for entry in replaced_list if entry is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        function = next(iter(members), "")
        if function == "Ref" or function.startswith("Fn::"):
            return self._replace(function, members[function])
        replaced = {name: self.of(member) for name, member in members.items()}
        return {name: member for name, member in replaced.items() if member is not NO_VALUE}

    def _replace(self, function: str, argument: Any) -> Any:
        match function:
            case "Ref":
                return self._reference(argument)
            case "Fn::GetAtt":
                return self._attribute(*argument)
            case "Fn::Sub":
                return self._substitute(argument)
            case "Fn::If":
                return max((self.of(branch) for branch in argument[1:]), key=_size)
            case "Fn::Join":
                return argument[0].join(map(str, self.of(argument[1])))
            case _:
                raise ValueError(f"local/longest_values.py does not know {function}.")

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name in LONGEST_PSEUDO_PARAMETERS:
            return "x" * LONGEST_PSEUDO_PARAMETERS[name]
        if name in self._parameters:
            return _longest_parameter(self._parameters[name])
        return self._physical_id(name)

    def _physical_id(self, name: str) -> str:
        """Return the longest value of a reference to a resource: its name, for a queue its URL, for others an ARN."""
        kind = self._resources[name]["Type"]
        if kind == "AWS::SQS::Queue":
            return f"https://sqs.ap-southeast-1.amazonaws.com.cn/000000000000/{self._name(name)}"
        if kind.startswith("AWS::ApiGatewayV2::"):
            return "x" * LONGEST_ID
        return self._name(name) if kind in LONGEST_NAMES else ARN + self._name(name)

    def _attribute(self, name: str, attribute: str) -> str:
        if attribute.endswith("Name"):
            return self._name(name)
        rest = ARN_REST if attribute == "StreamArn" else ":*" if attribute == "Arn" else ""
        return ARN + self._name(name) + rest

    def _name(self, logical_id: str) -> str:
        """Return the longest name of a resource: as the template gives it, else as CloudFormation makes it."""
        resource = self._resources[logical_id]
        properties = resource.get("Properties", {})
        written = next((properties[name] for name in NAME_PROPERTIES if name in properties), None)
        if written is not None:
            return str(self.of(written))
        made = LONGEST_PSEUDO_PARAMETERS["AWS::StackName"] + len(logical_id) + LONGEST_SUFFIX
        return "x" * min(made, LONGEST_NAMES.get(resource["Type"], made))

    def _substitute(self, argument: Any) -> str:
        written = cast("Sequence[Any]", [argument, {}] if isinstance(argument, str) else argument)
        values: Mapping[str, Any] = written[1]

        def longest(match: re.Match[str]) -> str:
            name = match[1]
            if name in values:
                return str(self.of(values[name]))
            logical_id, _, attribute = name.partition(".")
            return str(self._attribute(logical_id, attribute) if attribute else self._reference(name))

        return re.sub(r"\$\{([\w:.]+)\}", longest, str(written[0]))


def _size(value: Any) -> int:
    """Return the size by which branches are compared; nothing at all is the smallest."""
    return -1 if value is NO_VALUE else len(json.dumps(value))


def _longest_parameter(parameter: Mapping[str, Any]) -> Any:
    """Return the longest value that a parameter can have."""
    if allowed := parameter.get("AllowedValues"):
        return max(map(str, allowed), key=len)
    if parameter["Type"] == "CommaDelimitedList":
        entries = LONGEST_PARAMETER // (SHORTEST_ENTRY + 1)
        return ["x" * SHORTEST_ENTRY] * entries
    if parameter["Type"] == "Number":
        return str(parameter["MaxValue"]) if "MaxValue" in parameter else "9" * LONGEST_NUMBER
    return "x" * int(parameter.get("MaxLength", LONGEST_PARAMETER))
