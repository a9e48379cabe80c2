"""Logging in, staying logged in, logging out."""

from collections.abc import Callable, Mapping

from signpost.cli import discovery, web
from signpost.cli.attempt import Attempt, reason
from signpost.cli.credentials import Credentials, CredentialStore, Source
from signpost.cli.failure import CommandFailed
from signpost.cli.redirect import listening
from signpost.records import dataclass

# A token must outlive the request it is fetched for.
MARGIN = 60


@dataclass(frozen=True, slots=True)
class Session:
    store: CredentialStore
    clock: Callable[[], float]
    patience: float  # seconds that a person has at the page

    def log_in(self, url: str, client_id: str, show: Callable[[str], None]) -> None:
        """`show` puts the address of the login page before the person."""
        server = discovery.server(url)
        attempt = Attempt(server, discovery.authority(server.issuer), client_id)
        with listening(attempt.state) as redirect:
            show(attempt.page(redirect.uri))
            code = attempt.code(redirect.wait(self.patience))
        credentials = self._redeem(attempt, code, redirect.uri)
        with self.store.alone():
            self.store.keep(url, credentials)

    def access_token(self, url: str) -> str:
        """A token that is good for at least another minute."""
        credentials = self._known(url)
        if self._lasts(credentials):
            return credentials.access_token
        with self.store.alone():
            # Another process may have renewed it while this one waited for its turn.
            credentials = self._known(url)
            if not self._lasts(credentials):
                credentials = self._renew(url, credentials)
                self.store.keep(url, credentials)
        return credentials.access_token

    def log_out(self, url: str) -> bool:
        with self.store.alone():
            return self.store.forget(url)

    def _known(self, url: str) -> Credentials:
        if credentials := self.store.find(url):
            return credentials
        raise CommandFailed(f"You are not logged in to {url}. {_advice(url)}")

    def _lasts(self, credentials: Credentials) -> bool:
        return credentials.expires_at is None or credentials.expires_at > self.clock() + MARGIN

    def _redeem(self, attempt: Attempt, code: str, redirect_uri: str) -> Credentials:
        source = Source(attempt.server.resource, attempt.client_id, attempt.authority.token_endpoint)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        answer = _ask(source, form)
        if answer.status != 200:
            raise CommandFailed(f"{attempt.authority.issuer} refused the login: {reason(answer.fields)}.")
        return self._credentials(source, answer, refresh_token=None)

    def _renew(self, url: str, expired: Credentials) -> Credentials:
        if expired.refresh_token is None:
            raise CommandFailed(f"Your login to {url} has expired. {_advice(url)}")
        form = {"grant_type": "refresh_token", "refresh_token": expired.refresh_token}
        answer = _ask(expired.source, form)
        if answer.status != 200:
            raise CommandFailed(f"Your login to {url} was not renewed: {reason(answer.fields)}. {_advice(url)}")
        return self._credentials(expired.source, answer, expired.refresh_token)

    def _credentials(self, source: Source, answer: web.Document, refresh_token: str | None) -> Credentials:
        """An issuer that does not rotate refresh tokens sends none, and the old one stays good."""
        if answer.text("token_type").lower() != "bearer":
            raise CommandFailed(f"{answer.source} gives tokens of a kind that this program does not know.")
        lifetime = answer.fields.get("expires_in")
        return Credentials(
            source=source,
            access_token=answer.text("access_token"),
            expires_at=self.clock() + lifetime if isinstance(lifetime, int) else None,
            refresh_token=answer.optional("refresh_token") or refresh_token,
        )


def _ask(source: Source, grant: Mapping[str, str]) -> web.Document:
    return web.post(source.token_endpoint, {**grant, "client_id": source.client_id, "resource": source.resource})


def _advice(url: str) -> str:
    return f"Run `signpost login --url {url}`."
