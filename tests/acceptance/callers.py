"""The callers of a case with the credentials that a deployment knows them by."""

import threading

from signpost.model import Principal
from tests.support.laptop import Laptop, Stack

SIGNS_IN_AS = "reader"
"""Of the people of the local issuer; who it is and what they may do is said for each case."""


class Credentials:
    """People have an access token of the local issuer, machines an API key. Each gets theirs once."""

    def __init__(self, laptop: Laptop, stack: Stack) -> None:
        self._laptop = laptop
        self._stack = stack
        self._issued: dict[Principal, str] = {}
        self._issuing = threading.Lock()

    def of(self, principal: Principal) -> str:
        with self._issuing:
            if principal not in self._issued:
                self._issued[principal] = self._token(principal) if principal.human else self._key(principal)
            return self._issued[principal]

    def _token(self, person: Principal) -> str:
        return self._laptop.issuer.access_token(
            SIGNS_IN_AS,
            self._stack.url,
            sub=person.subject,
            tenant=person.tenant,
            roles=sorted(person.roles),
            scope=" ".join(sorted(person.permissions)),
        )

    def _key(self, machine: Principal) -> str:
        return self._laptop.make_key(
            self._stack, machine.tenant, machine.subject, roles=machine.roles, permissions=machine.permissions
        )
