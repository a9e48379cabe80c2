"""The surface `/mcp`: the seven tools that find, start and drive workflows."""
