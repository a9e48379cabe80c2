"""The limits of AWS that a template can come near to: environments of functions, policies of roles, resources.

A value that only a deployment knows counts with its greatest length: a parameter as its definition allows, a name or
an ARN as AWS makes them. So a template within the limits is within them for every deployment.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.longest_values import LongestValues, Template

LONGEST_ENVIRONMENT = 4_096
"""Bytes of all variables of a function, as JSON."""
LONGEST_POLICIES = 10_240
"""Characters of all inline policies of a role, without white space between them."""
MOST_RESOURCES = 500
"""Resources of a template."""
SHOWN = 3
"""Functions and roles that a report names."""


@dataclass(frozen=True, slots=True)
class Measure:
    """The greatest size that a part of a template can have, beside its limit."""

    subject: str
    size: int
    limit: int

    @property
    def is_over(self) -> bool:
        return self.size > self.limit

    def __str__(self) -> str:
        note = ": OVER THE LIMIT" if self.is_over else ""
        return f"{self.subject} {self.size:,} of {self.limit:,} ({self.size / self.limit:.0%}){note}"


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
    nearest = [[measure for measure in measures if measure.limit == kind][:SHOWN] for kind in kinds]
    over = [measure for measure in measures if measure.is_over]
    shown = dict.fromkeys([*itertools.chain.from_iterable(nearest), *over])
    return [f"{name}: {measure}" for measure in shown]


def _resources(template: Template, *types: str) -> Iterator[tuple[str, Any]]:
    for name, resource in template["Resources"].items():
        if resource["Type"] in types:
            yield name, resource.get("Properties", {})


def _measure_environments(template: Template, longest: LongestValues) -> Iterator[Measure]:
    for name, properties in _resources(template, "AWS::Lambda::Function"):
        variables = longest.of(properties.get("Environment", {}).get("Variables", {}))
        yield Measure(f"environment of {name}", measure_environment(variables), LONGEST_ENVIRONMENT)


def _measure_roles(template: Template, longest: LongestValues) -> Iterator[Measure]:
    separate = list(_resources(template, "AWS::IAM::Policy", "AWS::IAM::RolePolicy"))
    for name, properties in _resources(template, "AWS::IAM::Role"):
        own = [policy["PolicyDocument"] for policy in properties.get("Policies", ())]
        own += [policy["PolicyDocument"] for _, policy in separate if {"Ref": name} in _roles_of(policy)]
        size = sum(measure_policy(longest.of(document)) for document in own)
        yield Measure(f"policies of {name}", size, LONGEST_POLICIES)


def _roles_of(policy: Mapping[str, Any]) -> Sequence[Any]:
    return policy.get("Roles") or [policy.get("RoleName")]
