"""The limits of AWS that a template can come near to: environments of functions, policies of roles, resources.

A value that only a deployment knows counts with its greatest length: a parameter as its definition allows, a name or
an ARN as AWS makes them. So a template within the limits is within them for every deployment.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

LONGEST_ENVIRONMENT = 4_096
"""Bytes of all variables of a function, as JSON."""
LONGEST_POLICIES = 10_240
"""Characters of all inline policies of a role, without white space between them."""
MOST_RESOURCES = 500
"""Resources of a template."""
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
"""What follows the name in the longest ARNs, those of streams."""
SHOWN = 3
"""Functions and roles that a report names."""

type Template = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Measure:
    """The greatest size that a part of a template can have, beside its limit."""

    what: str
    size: int
    limit: int

    @property
    def is_over(self) -> bool:
        return self.size > self.limit

    def __str__(self) -> str:
        note = ": OVER THE LIMIT" if self.is_over else ""
        return f"{self.what} {self.size:,} of {self.limit:,} ({self.size / self.limit:.0%}){note}"


def measure_environment(variables: Mapping[str, Any]) -> int:
    """Return the bytes of the variables of a function."""
    return len(json.dumps(variables, separators=(",", ":")).encode())


def measure_policy(document: Any) -> int:
    """Return the characters of a policy."""
    return len(json.dumps(document, separators=(",", ":")))


def measure_template(template: Template) -> Sequence[Measure]:
    """Return the measures of a template without SAM's types: its resources, and each environment and role from the
    largest to the smallest."""
    longest = LongestValues(template)
    return [
        Measure("resources", len(template["Resources"]), MOST_RESOURCES),
        *sorted(_measure_environments(template, longest), key=lambda measure: -measure.size),
        *sorted(_measure_roles(template, longest), key=lambda measure: -measure.size),
    ]


def report_measures(name: str, measures: Sequence[Measure]) -> Sequence[str]:
    """Return lines for the largest measures of each kind, and for all that are over their limits."""
    kinds = dict.fromkeys(measure.limit for measure in measures)
    nearest = [[one for one in measures if one.limit == kind][:SHOWN] for kind in kinds]
    shown = dict.fromkeys([*(one for kind in nearest for one in kind), *(one for one in measures if one.is_over)])
    return [f"{name}: {measure}" for measure in shown]


def _resources(template: Template, *types: str) -> Iterator[tuple[str, Any]]:
    for name, resource in template["Resources"].items():
        if resource["Type"] in types:
            yield name, resource.get("Properties", {})


def _measure_environments(template: Template, longest: "LongestValues") -> Iterator[Measure]:
    for name, properties in _resources(template, "AWS::Lambda::Function"):
        variables = longest.of(properties.get("Environment", {}).get("Variables", {}))
        yield Measure(f"environment of {name}", measure_environment(variables), LONGEST_ENVIRONMENT)


def _measure_roles(template: Template, longest: "LongestValues") -> Iterator[Measure]:
    separate = list(_resources(template, "AWS::IAM::Policy", "AWS::IAM::RolePolicy"))
    for name, properties in _resources(template, "AWS::IAM::Role"):
        own = [policy["PolicyDocument"] for policy in properties.get("Policies", ())]
        own += [policy["PolicyDocument"] for _, policy in separate if {"Ref": name} in _roles_of(policy)]
        size = sum(measure_policy(longest.of(document)) for document in own)
        yield Measure(f"policies of {name}", size, LONGEST_POLICIES)


def _roles_of(policy: Mapping[str, Any]) -> Sequence[Any]:
    return policy.get("Roles") or [policy.get("RoleName")]


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
            replaced_list = [self.of(one) for one in cast("list[Any]", value)]
            return [one for one in replaced_list if one is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, Any]", value)
        function = next(iter(members), "")
        if function == "Ref" or function.startswith("Fn::"):
            return self._replace(function, members[function])
        replaced = {name: self.of(one) for name, one in members.items()}
        return {name: one for name, one in replaced.items() if one is not NO_VALUE}

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
                raise ValueError(f"local/limits.py does not know {function}.")

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


NAME_PROPERTIES = ("FunctionName", "LogGroupName", "QueueName", "TableName", "BucketName", "RoleName")


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
