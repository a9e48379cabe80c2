"""Which Lambda functions may be loaded: those that the deployment names, as a policy of IAM would match them."""

import re
from collections.abc import Sequence

from signpost.loads import NotPlaced

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MARK = ":function:"


class AllowList:
    """Takes ARNs of Lambda functions, in which * stands for any characters and ? for one."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    def arn_of(self, executor: str) -> str | NotPlaced:
        """Of an executor by its ARN or, where only one of those can be meant, its name."""
        if NAME.fullmatch(executor) is None:
            return executor if self._allows(executor) else _not_allowed(executor)
        meant = sorted({arn for pattern in self._patterns if (arn := _named(executor, pattern)) is not None})
        if len(meant) > 1:
            return NotPlaced("not_allowed", f"{executor} may be any of {', '.join(meant)}. Name it by its ARN.")
        return meant[0] if meant else _not_allowed(executor)

    def _allows(self, arn: str) -> bool:
        return any(_matches(pattern, arn) for pattern in self._patterns)


def _named(name: str, pattern: str) -> str | None:
    """The ARN of a function of this name that the pattern allows. Where the pattern leaves account or region open, a
    name says too little."""
    place, mark, names = pattern.partition(MARK)
    if not mark or _is_open(place) or not _matches(names, name):
        return None
    return f"{place}{mark}{name}"


def _is_open(text: str) -> bool:
    return "*" in text or "?" in text


def _matches(pattern: str, text: str) -> bool:
    escaped = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(escaped, text, re.DOTALL) is not None


def _not_allowed(executor: str) -> NotPlaced:
    return NotPlaced(
        "not_allowed",
        f"This deployment does not allow {executor!r}. Its parameter ExecutorFunctions names the Lambda functions that "
        "may be loaded.",
    )
