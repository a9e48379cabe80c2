"""Signpost: a serverless MCP gateway. Importing the package costs nothing; import what you need from it."""

__version__ = "0.1.0"
