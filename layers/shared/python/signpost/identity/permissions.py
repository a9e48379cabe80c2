"""The permissions that Signpost itself checks."""

ADMINISTRATION = "signpost.admin"
"""The permission to change a tenant's content and settings. Reading needs no permission."""
