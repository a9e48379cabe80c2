"""The surfaces: the views of the registry as MCP servers."""
