"""The Model Context Protocol: messages, revisions, methods, results and pages."""
