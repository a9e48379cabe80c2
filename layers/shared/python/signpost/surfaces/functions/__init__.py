"""The surface `/mcp/functions`: each function is a tool under its id."""
