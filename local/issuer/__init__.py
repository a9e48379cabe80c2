"""A small OIDC issuer for one laptop: signed tokens for sample people, without passwords."""

from local.issuer.issuer import Issuer

__all__ = ["Issuer"]
