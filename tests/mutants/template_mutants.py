"""Mutants of the template: permissions that are looser than reviewed. The deployed roles are judged."""

from tests.mutants.mutant import Mutant

_OF_PERMISSIONS = (
    "tests/e2e/test_permissions.py::test_a_role_allows_nothing_that_is_neither_used_nor_reviewed",
    "tests/e2e/test_permissions.py::test_no_role_allows_to_write_an_api_key",
)

TEMPLATE_MUTANTS = (
    Mutant(
        name="gateway-writes-any-row",
        invariant=75,
        file="template.yaml",
        there="""\
                  ForAllValues:StringEquals:
                    dynamodb:LeadingKeys: [deployment]
""",
        instead="""\
                  ForAllValues:StringLike:
                    dynamodb:LeadingKeys: ["*"]
""",
        tests=_OF_PERMISSIONS,
        needs="cloud",
    ),
    Mutant(
        name="registry-writes-api-keys",
        invariant=75,
        file="template.yaml",
        there="""\
                Effect: Deny
                Action: [dynamodb:DeleteItem, dynamodb:PutItem, dynamodb:UpdateItem]
""",
        instead="""\
                Effect: Deny
                Action: [dynamodb:DeleteItem, dynamodb:UpdateItem]
""",
        tests=_OF_PERMISSIONS[1:],
        needs="cloud",
    ),
)
