"""The surface `/mcp/flat`: each function and each workflow is a tool of its own."""
