"""Permissions that Signpost itself asks for."""

ADMINISTRATION = "signpost.admin"
"""To change what a tenant has. Whoever reads needs none."""
