"""Workflows: definitions, and the rules for the next moves. Nothing here does I/O or reads a clock."""
