"""Decides whether the title of a workflow can be the name of a tool."""

import re

WORKFLOW_TOOL = "workflow:"
"""The prefix of the name of a tool that starts a workflow."""
LONGEST_TOOL_NAME = 128
"""Characters of the name of a tool, as MCP recommends."""
LONGEST_TITLE = LONGEST_TOOL_NAME - len(WORKFLOW_TOOL)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def find_title_fault(title: str) -> str | None:
    """Return the reason why the title cannot be the name of a tool, with the remedy; None if it can."""
    if not title.strip():
        return "the title is blank: write one, or leave it out"
    if _CONTROL_CHARACTER.search(title):
        return "the title has a line break or a control character: write it on one line; `description` may have several"
    if len(title) > LONGEST_TITLE:
        return (
            f"the title has {len(title)} characters, and a tool is named by it: shorten it to {LONGEST_TITLE}, and "
            "write the rest into `description`"
        )
    return None
