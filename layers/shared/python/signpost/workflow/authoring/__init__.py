"""Manifests: sources with line numbers, compiled into definitions."""
