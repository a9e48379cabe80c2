"""How near a template is to limits of AWS, for the longest values that its parameters allow."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from local.limits import (
    LONGEST_ENVIRONMENT,
    LONGEST_POLICIES,
    MOST_RESOURCES,
    Measure,
    measure_environment,
    measure_policy,
    measure_template,
    report_measures,
)
from local.longest_values import LONGEST_PARAMETER


def build_template(
    variables: Mapping[str, Any] | None = None,
    policies: Sequence[Any] = (),
    others: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """Return a template with a function, its role, a policy beside the role, and other resources."""
    documents = [{"PolicyName": str(number), "PolicyDocument": one} for number, one in enumerate(policies)]
    beside = {"Roles": [{"Ref": "OwnRole"}], "PolicyDocument": build_policy("beside")}
    return {
        "Parameters": parameters or {},
        "Resources": {
            "Own": {"Type": "AWS::Lambda::Function", "Properties": {"Environment": {"Variables": variables or {}}}},
            "OwnRole": {"Type": "AWS::IAM::Role", "Properties": {"Policies": documents}},
            "Beside": {"Type": "AWS::IAM::Policy", "Properties": beside},
            **{f"Queue{number}": {"Type": "AWS::SQS::Queue"} for number in range(others)},
        },
    }


def build_policy(resource: Any) -> Mapping[str, Any]:
    return {"Statement": [{"Effect": "Allow", "Action": "lambda:InvokeFunction", "Resource": resource}]}


def find_over(template: Mapping[str, Any]) -> Sequence[str]:
    return [measure.subject for measure in measure_template(template) if measure.is_over]


def test_a_template_within_the_limits_has_no_measure_over_them() -> None:
    assert find_over(build_template({"NAME": "value"}, [build_policy("*")])) == []


@pytest.mark.parametrize(("length", "over"), [(4_085, []), (4_086, ["environment of Own"])])
def test_an_environment_has_at_most_4_kb_with_names_and_signs(length: int, over: Sequence[str]) -> None:
    variables = {"NAME": "x" * length}
    assert measure_environment(variables) == length + len('{"NAME":""}')
    assert find_over(build_template(variables)) == over


def test_the_policies_of_a_role_count_together_with_those_beside_it() -> None:
    own = build_policy(
        "x" * (LONGEST_POLICIES - measure_policy(build_policy("")) - measure_policy(build_policy("beside")))
    )
    assert find_over(build_template(policies=[own])) == []
    assert find_over(build_template(policies=[own, build_policy("*")])) == ["policies of OwnRole"]


@pytest.mark.parametrize(("others", "over"), [(MOST_RESOURCES - 3, []), (MOST_RESOURCES - 2, ["resources"])])
def test_a_template_has_at_most_500_resources(others: int, over: Sequence[str]) -> None:
    assert find_over(build_template(others=others)) == over


@pytest.mark.parametrize(
    ("parameter", "length"),
    [
        ({"Type": "String"}, LONGEST_PARAMETER),
        ({"Type": "String", "MaxLength": 100}, 100),
        ({"Type": "String", "AllowedValues": ["a", "abc", "ab"]}, 3),
        ({"Type": "Number", "MaxValue": 1_000}, 4),
    ],
)
def test_a_parameter_counts_with_its_longest_value(parameter: Mapping[str, Any], length: int) -> None:
    template = build_template({"A": {"Ref": "P"}}, parameters={"P": parameter})
    measures = {measure.subject: measure.size for measure in measure_template(template)}
    assert measures["environment of Own"] == length + len('{"A":""}')


def test_a_list_counts_with_the_quotation_marks_of_its_entries() -> None:
    template = build_template(policies=[build_policy({"Ref": "P"})], parameters={"P": {"Type": "CommaDelimitedList"}})
    sizes = {measure.subject: measure.size for measure in measure_template(template)}
    assert LONGEST_PARAMETER * 1.05 < sizes["policies of OwnRole"] < LONGEST_PARAMETER * 1.15


def test_intrinsic_functions_count_with_the_longest_of_their_values() -> None:
    parameters = {"Long": {"Type": "String", "MaxLength": 50}, "Short": {"Type": "String", "MaxLength": 5}}
    variables = {
        "A": {"Fn::If": ["Some", {"Ref": "Short"}, {"Ref": "Long"}]},
        "B": {"Fn::Sub": "<${Long}.${AWS::StackName}>"},
        "C": {"Fn::Sub": ["${It}!", {"It": {"Ref": "Short"}}]},
        "D": {"Fn::Join": [",", ["a", {"Ref": "Short"}]]},
        "E": {"Fn::If": ["Some", {"Ref": "AWS::NoValue"}, ""]},
        "F": {"Ref": "AWS::NoValue"},
        "G": {"Ref": "OwnRole"},
    }
    template = build_template(variables, parameters=parameters)
    sizes = {measure.subject: measure.size for measure in measure_template(template)}
    lengths = {"A": 50, "B": 50 + 128 + 3, "C": 6, "D": 7, "E": 0, "G": 64}
    assert sizes["environment of Own"] == measure_environment({name: "x" * size for name, size in lengths.items()})


def test_an_unknown_intrinsic_function_is_an_error() -> None:
    with pytest.raises(ValueError, match="Fn::Cidr"):
        measure_template(build_template({"A": {"Fn::Cidr": []}}))


def test_a_report_has_the_nearest_of_each_limit_and_all_that_are_over() -> None:
    measures = [
        *(Measure(f"environment {number}", 5_000 - number, LONGEST_ENVIRONMENT) for number in range(4)),
        *(Measure(f"policies {number}", 10 - number, LONGEST_POLICIES) for number in range(4)),
    ]
    lines = report_measures("template.yaml", measures)
    assert lines[0] == "template.yaml: environment 0 5,000 of 4,096 (122%): OVER THE LIMIT"
    assert [line.split(":")[1].split()[:2] for line in lines] == [
        *(["environment", str(number)] for number in range(3)),
        *(["policies", str(number)] for number in range(3)),
        ["environment", "3"],
    ]
