from pathlib import Path

import pytest

from local.account import NO_ENDPOINT, Account
from local.built import BuiltTemplate
from local.intrinsics import (
    Scope,
    TemplateError,
    condition_holds,
    parameter_values,
    parse_template,
    resolve,
)
from local.json_values import Json, JsonObject

TEMPLATE = """
Parameters:
  Domain: {Type: String, Default: ""}
  Size: {Type: Number, Default: 256, AllowedValues: [256, 512]}
  Needed: {Type: String}
  Several: {Type: CommaDelimitedList, Default: "a, b"}
Conditions:
  HasDomain: !Not [!Equals [!Ref Domain, ""]]
  IsLarge: !Equals [!Ref Size, 512]
  Both: !And [!Condition HasDomain, !Condition IsLarge]
  Either: !Or [!Condition HasDomain, !Condition IsLarge]
"""


def scope(**parameters: str) -> Scope:
    template = parse_template(TEMPLATE)
    conditions = template["Conditions"]
    assert isinstance(conditions, dict)
    names = {"AWS::Region": "eu-west-1", "Table": "table-1", "Table.Arn": "arn:table-1"}
    return Scope(parameter_values(template, {"Needed": "n", **parameters}), conditions, names)


def parse_value(value: str) -> Json:
    return parse_template(f"value: {value}")["value"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("!Ref Size", "256"),
        ("!Ref Table", "table-1"),
        ("!GetAtt Table.Arn", "arn:table-1"),
        ("!If [HasDomain, !Ref Api, other]", "other"),
        ("!Sub https://${Needed}.${AWS::Region}/${Table.Arn}", "https://n.eu-west-1/arn:table-1"),
        ('!Sub ["${Own}-${Needed}-${!Kept}", {Own: !Ref Size}]', "256-n-${Kept}"),
        ("!Join [':', [a, !Ref Table]]", "a:table-1"),
        ("!Join [':', !Ref Several]", "a:b"),
        ("{a: !Ref AWS::NoValue, b: [!Ref AWS::NoValue, true]}", {"b": [True]}),
        ("{'Fn::Sub': '${Table}'}", "table-1"),
        ("{Ref: Table, Other: 1}", {"Ref": "Table", "Other": 1}),
    ],
)
def test_a_value_is_resolved_as_cloudformation_would(value: str, expected: Json) -> None:
    assert resolve(parse_value(value), scope()) == expected


@pytest.mark.parametrize(
    ("parameters", "holding"),
    [
        ({}, set[str]()),
        ({"Domain": "d"}, {"HasDomain", "Either"}),
        ({"Size": "512"}, {"IsLarge", "Either"}),
        ({"Domain": "d", "Size": "512"}, {"HasDomain", "IsLarge", "Both", "Either"}),
    ],
)
def test_conditions_follow_the_parameters(parameters: dict[str, str], holding: set[str]) -> None:
    given = scope(**parameters)
    assert {name for name in given.conditions if condition_holds(name, given)} == holding


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("!Ref Nobody", "Nobody is no parameter, pseudo parameter or resource of the template"),
        ("!If [Never, 1, 2]", "no condition Never"),
        ("!FindInMap [a, b, c]", "Fn::FindInMap is not supported"),
        ("!Equals [1]", "expected a list of 2 arguments"),
    ],
)
def test_a_value_that_cannot_be_resolved_is_refused(value: str, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        resolve(parse_value(value), scope())


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({}, "Needed needs a value"),
        ({"Needed": "n", "Nedeed": "n"}, "no parameter Nedeed"),
        ({"Needed": "n", "Size": "300"}, "Size may not be '300'"),
    ],
)
def test_parameters_are_checked(overrides: dict[str, str], message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        parameter_values(parse_template(TEMPLATE), overrides)


BUILT = """
Parameters:
  Mode: {Type: String, Default: none}
Globals:
  Function:
    Handler: app.handler
    MemorySize: 512
    Layers: [!Ref Shared]
    Environment: {Variables: {MODE: !Ref Mode, LEVEL: INFO}}
Resources:
  Shared:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: SharedFolder}
  Table:
    Type: AWS::DynamoDB::Table
  Gateway:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: GatewayFolder
      Timeout: 30
      Environment: {Variables: {LEVEL: DEBUG, TABLE: !Ref Table, FLAG: true, GONE: !Ref AWS::NoValue}}
"""


@pytest.fixture
def built(tmp_path: Path) -> BuiltTemplate:
    (tmp_path / "template.yaml").write_text(BUILT)
    return BuiltTemplate.read(tmp_path / "template.yaml")


def test_a_function_has_the_properties_of_globals_and_its_own(built: BuiltTemplate, tmp_path: Path) -> None:
    function = built.function("Gateway", {"Mode": "jwt"}, {"Table": "table-1"})
    assert (function.handler, function.timeout, function.memory) == ("app.handler", 30, 512)
    assert function.search_path == (tmp_path / "GatewayFolder", tmp_path / "SharedFolder" / "python")
    assert function.environment == {"MODE": "jwt", "LEVEL": "DEBUG", "TABLE": "table-1", "FLAG": "true"}


def test_only_serverless_functions_are_listed_as_functions(built: BuiltTemplate, tmp_path: Path) -> None:
    assert built.functions() == {"Gateway": tmp_path / "GatewayFolder"}
    with pytest.raises(TemplateError, match="no function Table"):
        built.function("Table", {}, {})


def test_a_template_that_was_not_built_is_refused_with_a_next_step(tmp_path: Path) -> None:
    with pytest.raises(TemplateError, match="run sam build"):
        BuiltTemplate.read(tmp_path / "template.yaml")


def test_a_template_must_be_a_mapping() -> None:
    with pytest.raises(TemplateError, match="expected a mapping"):
        parse_template("- a")


@pytest.mark.parametrize(
    "environ",
    [{}, {"AWS_ACCESS_KEY_ID": "real", "AWS_SECRET_ACCESS_KEY": "real"}, {"AWS_ENDPOINT_URL": ""}],
)
def test_without_an_endpoint_no_endpoint_and_no_credentials_are_passed_on(
    environ: JsonObject,
) -> None:
    variables = Account.from_environment({name: str(value) for name, value in environ.items()}).variables()
    assert variables["AWS_ENDPOINT_URL"] == NO_ENDPOINT
    assert "real" not in variables.values()


def test_with_an_endpoint_the_callers_credentials_are_passed_on() -> None:
    environ = {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ACCESS_KEY_ID": "k", "AWS_REGION": "eu-west-1"}
    variables = Account.from_environment(environ).variables()
    assert variables["AWS_ENDPOINT_URL"] == "http://127.0.0.1:4566"
    assert (variables["AWS_ACCESS_KEY_ID"], variables["AWS_REGION"]) == ("k", "eu-west-1")
