"""A small OIDC issuer for one laptop: real tokens, sample people, no passwords."""

from local.issuer.issuer import Issuer

__all__ = ["Issuer"]
