"""Workflows: definitions, and what may happen next. Nothing here does I/O or reads a clock."""
