"""The executor of examples/welcome: the functions of its slash command and of its section."""

from datetime import UTC, datetime
from typing import Any

from signpost.toolkit import Context, Function, executor


def greet(arguments: dict[str, Any]) -> str:
    """Write the prompt of the slash command `greet`."""
    name = str(arguments.get("name") or "the reader")
    return f"Greet {name} warmly, in one sentence. Then list the skills that iii://skills names."


def visitor(_arguments: dict[str, Any], ctx: Context) -> str:
    """Write a section, anew at every read."""
    now = datetime.now(UTC).strftime("%H:%M")
    return f"# Visitor\n\nYou are **{ctx.principal.subject}** of the tenant {ctx.principal.tenant}. It is {now} UTC."


handler = executor(
    Function("welcome::greet", greet),
    Function("welcome::visitor", visitor, readable=True),
)
