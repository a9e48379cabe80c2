"""What an item is called at each door. Rules name it by any of these names, so that no spelling gets past a rule."""

type Item = tuple[str, ...]
"""One thing, by all the names that it has."""

WORKFLOW, CAPABILITY, CONNECTION, PROMPT = "workflow", "capability", "connection", "prompt"
DOCUMENT, SECTION = "iii://", "iii://fn/"


def function(function_id: str, *others: str) -> Item:
    """`others` are its tool at /mcp/flat, or the prompt or the URI that it is instead of a tool."""
    bridged = function_id.replace("::", "__")
    leads_back = bridged != function_id and bridged.replace("__", "::") == function_id
    return (function_id, *((bridged,) if leads_back else ()), *others)


def workflow(workflow_id: str, *tools: str) -> Item:
    """`tools` start it at /mcp/flat."""
    return (f"{WORKFLOW}:{workflow_id}", workflow_id, *tools)


def catalogued(kind: str, item_id: str) -> Item:
    """A capability, or a connection, whose id begins with its kind already."""
    plain = item_id.removeprefix(f"{kind}:")
    return (f"{kind}:{plain}", plain)


def prompt(name: str) -> Item:
    return (f"{PROMPT}:{name}", name)


def at(uri: str, read_from: Item) -> Item:
    """A resource, or an instance of a template. What is encoded in the URI and need not be names the same thing."""
    from urllib.parse import unquote  # noqa: PLC0415 - only where there are rules

    return (*read_from, uri, unquote(uri))


def document(skill_id: str) -> Item:
    """Also in its other form, as an Agent Skill with all its files."""
    return (f"{DOCUMENT}{skill_id}",)


def section(function_id: str) -> Item:
    """What the function writes; beside it the function itself is asked about."""
    return (f"{SECTION}{function_id.replace('::', '/')}",)
