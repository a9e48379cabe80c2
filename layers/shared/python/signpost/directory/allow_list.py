"""The Lambda functions that a deployment permits to be loaded, matched as IAM matches a policy."""

import re
from collections.abc import Sequence

from signpost.directory.model import PlacementRefusal

FUNCTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ARN_MARK = ":function:"


class AllowList:
    """Matches ARNs of Lambda functions against patterns, in which * stands for any characters and ? for one."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    def arn_of(self, executor: str) -> str | PlacementRefusal:
        """Return the ARN of an executor that is named by its ARN or by its function name. A name is accepted where the
        patterns leave only one ARN for it."""
        if FUNCTION_NAME.fullmatch(executor) is None:
            return executor if self._allows(executor) else _refuse_executor(executor)
        candidates = sorted({arn for pattern in self._patterns if (arn := _arn_for(executor, pattern)) is not None})
        if len(candidates) > 1:
            return PlacementRefusal(
                "not_allowed",
                f"{executor} matches several allowed Lambda functions: {', '.join(candidates)}. Name one by its ARN.",
            )
        return candidates[0] if candidates else _refuse_executor(executor)

    def _allows(self, arn: str) -> bool:
        return any(_matches(pattern, arn) for pattern in self._patterns)


def _arn_for(name: str, pattern: str) -> str | None:
    """Return the ARN that the pattern allows for a function of this name. A pattern that leaves account or region open
    gives None, because the name alone does not say which ARN it is."""
    prefix, mark, name_pattern = pattern.partition(ARN_MARK)
    if not mark or _is_open(prefix) or not _matches(name_pattern, name):
        return None
    return f"{prefix}{mark}{name}"


def _is_open(text: str) -> bool:
    return "*" in text or "?" in text


def _matches(pattern: str, text: str) -> bool:
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(escaped, text, re.DOTALL) is not None


def _refuse_executor(executor: str) -> PlacementRefusal:
    return PlacementRefusal(
        "not_allowed",
        f"This deployment does not allow {executor!r} to be loaded. An operator can add it to the parameter "
        "ExecutorFunctions.",
    )
