"""Policy items: the names that a function, workflow, document or other item has on all surfaces.

A rule may name an item by any of them, so that no spelling gets past a rule.
"""

type PolicyItem = tuple[str, ...]
"""One item, as all its names."""

WORKFLOW, CAPABILITY, CONNECTION, PROMPT = "workflow", "capability", "connection", "prompt"
DOCUMENT_PREFIX, SECTION_PREFIX = "iii://", "iii://fn/"


def function_item(function_id: str, *others: str) -> PolicyItem:
    """Builds the item of a function. `others` are its names as a tool at /mcp/flat and as a capability at /mcp, or the
    prompt name or URI that it has instead."""
    bridged = function_id.replace("::", "__")
    is_reversible = bridged != function_id and bridged.replace("__", "::") == function_id
    names = (function_id, *((bridged,) if is_reversible else ()), *others)
    return tuple(dict.fromkeys(names))  # a skill may be named by its id


def workflow_item(workflow_id: str, *tools: str) -> PolicyItem:
    """Builds the item of a workflow. `tools` are the names of the tools that start it at /mcp/flat."""
    return (f"{WORKFLOW}:{workflow_id}", workflow_id, *tools)


def catalogue_item(kind: str, item_id: str) -> PolicyItem:
    """Builds the item of a capability or a connection. The id of a connection begins with its kind already."""
    plain = item_id.removeprefix(f"{kind}:")
    return (f"{kind}:{plain}", plain)


def prompt_item(name: str) -> PolicyItem:
    return (f"{PROMPT}:{name}", name)


def resource_item(uri: str, read_from: PolicyItem) -> PolicyItem:
    """Builds the item of a resource or of an instance of a template. The URI counts in its decoded spelling too."""
    from urllib.parse import unquote  # noqa: PLC0415 - only where there are rules

    return (*read_from, uri, unquote(uri))


def document_item(skill_id: str) -> PolicyItem:
    """Builds the item of a skill document. It covers the document as an Agent Skill, with all its files, too."""
    return (f"{DOCUMENT_PREFIX}{skill_id}",)


def section_item(function_id: str) -> PolicyItem:
    """Builds the item of the section that a function writes. The function itself is decided on separately."""
    return (f"{SECTION_PREFIX}{function_id.replace('::', '/')}",)
