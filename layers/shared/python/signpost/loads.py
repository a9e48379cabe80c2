"""Executors that a tenant loads while the deployment runs: what its directory has, and one change of it."""

from collections.abc import Sequence
from typing import Literal

from signpost.contract import Executor, Hosted, Placed, Terms
from signpost.records import dataclass

type Code = Literal[
    "not_allowed",  # by the deployment
    "no_executor",  # there is no such Lambda function, or it hosts nothing for anybody
    "not_reached",  # it does not say what it hosts
    "invalid_manifest",  # nor can what it says be called and shown
    "invalid_namespace",  # of a function that would be the registry's own
    "invalid_secret",  # for its keys
    "name_conflicts_with_core",
    "name_taken",  # by another executor of the tenant
    "too_large",  # for one change
    "no_version",  # to tell whether it is another one
    "same_version",
    "lower_version",
    "contract_changed",  # without another version
    "not_found",
    "cannot_unload_core",
]
type LoadOperation = Literal["load", "unload", "reload"]


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """Why an executor is not placed, or not taken away, to whoever wants it."""

    code: Code
    message: str


@dataclass(frozen=True, slots=True)
class Holding:
    """What the directory of a tenant has at one moment."""

    placed: Sequence[Placed]
    """The executors of the tenant, and those of the deployment."""
    own: Sequence[Hosted]
    """What those of the tenant say of their functions."""
    shipped: Sequence[Hosted]


@dataclass(frozen=True, slots=True)
class Told:
    """What became of a callable skill, for subscribers."""

    op: LoadOperation
    name: str
    """Without `skill:`."""


@dataclass(frozen=True, slots=True)
class Loading:
    """Everything that changes at once when an executor is loaded, loaded again, or unloaded."""

    executor: Executor
    hosted: Sequence[Hosted]
    """All of its functions from now on; without any it is gone."""
    terms: Terms | None
    gone: Sequence[str]
    """The ids of those that it had before."""
    told: Sequence[Told]
