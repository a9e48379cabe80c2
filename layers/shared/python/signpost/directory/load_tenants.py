"""The tenants for which an executor may be loaded at run time.

An executor runs with the secrets and rights of its own stack, so the stack decides: a tag of the Lambda function names
the tenants. A function without the tag is for the operator's tenant only.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from signpost.directory.model import PlacementRefusal

if TYPE_CHECKING:
    from signpost.directory.ports import ExecutorTags

TENANTS_TAG = "signpost:tenants"
ALL_TENANTS = "@all"
"""The word in the tag that stands for every tenant. No tenant can have this name."""


ARN_PARTS = 7
"""The parts of the ARN of a Lambda function, without a version or an alias."""


class LoadTenants:
    """Decides whether an executor may be loaded for a tenant."""

    def __init__(self, *, tags: "ExecutorTags", operator_tenant: str) -> None:
        self._tags = tags
        self._operator_tenant = operator_tenant

    def check(self, executor_arn: str, tenant: str, *, is_placed: bool) -> PlacementRefusal | None:
        """Return a refusal unless the executor may be loaded for the tenant. `is_placed` tells whether it is placed for
        the tenant already, by an operator or before executors had tags."""
        named = (self._tags.read_tag(without_qualifier(executor_arn), TENANTS_TAG) or "").split()
        is_default = not named and (is_placed or tenant == self._operator_tenant)
        is_allowed = is_default or tenant in named or ALL_TENANTS in named
        return None if is_allowed else _refuse_tenant(executor_arn, tenant)


def name_tenant(tag: str | None, tenant: str) -> Sequence[str]:
    """Return the tenants that the tag names after an operator has deployed the executor for a tenant. No other tenant
    is added: that an executor is loaded for a tenant does not mean that its stack agrees."""
    return sorted({*(tag or "").split(), tenant})


def tenants_without_consent(named: Sequence[str], placed: Iterable[str | None]) -> Sequence[str]:
    """Return the tenants for which an executor is placed although its tag does not name them."""
    return [] if ALL_TENANTS in named else sorted({tenant for tenant in placed if tenant} - set(named))


def without_qualifier(arn: str) -> str:
    """Return the ARN of the function itself: its versions and aliases have no tags."""
    return ":".join(arn.split(":")[:ARN_PARTS])


def _refuse_tenant(executor_arn: str, tenant: str) -> PlacementRefusal:
    return PlacementRefusal(
        "not_allowed",
        f"{executor_arn} may not be loaded for the tenant {tenant}. If it serves this tenant, the owner of its stack "
        f"adds {tenant} to the tag {TENANTS_TAG} of the Lambda function: names of tenants, separated by spaces.",
    )
