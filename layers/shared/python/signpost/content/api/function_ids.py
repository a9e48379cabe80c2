"""The ids of all functions of the registry, and the names of the context operations that it performs, for callers that
do not need the functions themselves."""

REGISTRY_FUNCTIONS = frozenset({
    "manifest::bodies",
    "manifest::plan",
    "manifest::publish",
    "manifest::subscriptions",
    "manifest::switch",
    "prompts::list",
    "prompts::mcp-get",
    "prompts::mcp-list",
    "prompts::register",
    "prompts::unregister",
    "skill::fetch",
    "skills::fetch_skill",
    "skills::list",
    "skills::load",
    "skills::register",
    "skills::reload",
    "skills::resources-list",
    "skills::resources-read",
    "skills::resources-templates",
    "skills::unload",
    "skills::unregister",
})  # fmt: skip
CHANGED, RESOURCE_UPDATED = "changed", "resource_updated"
ANNOUNCING = (CHANGED, RESOURCE_UPDATED)
"""The context operations by which functions announce changes."""
