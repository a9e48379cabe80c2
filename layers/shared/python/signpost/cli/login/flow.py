"""Logs a person in and out of a server, and renews their tokens."""

from collections.abc import Callable, Mapping

from signpost.cli.failure import CommandFailed
from signpost.cli.login import http, metadata
from signpost.cli.login.callback import listen
from signpost.cli.login.request import AuthorizationRequest, reason_of
from signpost.cli.login.token_store import LoginTokens, TokenSource, TokenStore
from signpost.records import dataclass

# In seconds. A token must stay valid until the request for which it is read has been answered.
EXPIRY_MARGIN = 60


@dataclass(frozen=True, slots=True)
class LoginSession:
    """Logs in, renews and logs out with the tokens of one token store."""

    store: TokenStore
    clock: Callable[[], float]
    patience: float  # seconds that a person has to finish the login page

    def log_in(self, url: str, client_id: str, show: Callable[[str], None]) -> None:
        """Run the authorization code flow and store its tokens. `show` presents the URL of the login page."""
        server = metadata.fetch_server(url)
        attempt = AuthorizationRequest(server, metadata.fetch_authority(server.issuer), client_id)
        with listen(attempt.state) as redirect:
            show(attempt.page_url(redirect.uri))
            code = attempt.read_code(redirect.wait(self.patience))
        tokens = self._redeem(attempt, code, redirect.uri)
        with self.store.lock():
            self.store.keep(url, tokens)

    def access_token(self, url: str) -> str:
        """Return an access token that is valid for at least another minute, and renew it if needed."""
        tokens = self._find_tokens(url)
        if self._is_fresh(tokens):
            return tokens.access_token
        with self.store.lock():
            # Another process may have renewed the token while this one waited for the lock.
            tokens = self._find_tokens(url)
            if not self._is_fresh(tokens):
                tokens = self._renew(url, tokens)
                self.store.keep(url, tokens)
        return tokens.access_token

    def log_out(self, url: str) -> bool:
        """Delete the tokens for a URL. Returns False if there are none."""
        with self.store.lock():
            return self.store.forget(url)

    def _find_tokens(self, url: str) -> LoginTokens:
        if tokens := self.store.find(url):
            return tokens
        raise CommandFailed(f"You are not logged in to {url}. {_login_hint(url)}")

    def _is_fresh(self, tokens: LoginTokens) -> bool:
        return tokens.expires_at is None or tokens.expires_at > self.clock() + EXPIRY_MARGIN

    def _redeem(self, attempt: AuthorizationRequest, code: str, redirect_uri: str) -> LoginTokens:
        source = TokenSource(attempt.server.resource, attempt.client_id, attempt.authority.token_endpoint)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": attempt.verifier,
        }
        answer = _request_tokens(source, form)
        if answer.status != 200:
            raise CommandFailed(f"{attempt.authority.issuer} refused the login: {reason_of(answer.fields)}.")
        return self._parse_tokens(source, answer, refresh_token=None)

    def _renew(self, url: str, expired: LoginTokens) -> LoginTokens:
        if expired.refresh_token is None:
            raise CommandFailed(f"Your login to {url} has expired. {_login_hint(url)}")
        form = {"grant_type": "refresh_token", "refresh_token": expired.refresh_token}
        answer = _request_tokens(expired.source, form)
        if answer.status != 200:
            raise CommandFailed(f"Your login to {url} was not renewed: {reason_of(answer.fields)}. {_login_hint(url)}")
        return self._parse_tokens(expired.source, answer, expired.refresh_token)

    def _parse_tokens(self, source: TokenSource, answer: http.JsonDocument, refresh_token: str | None) -> LoginTokens:
        """Read the tokens from an answer of the token endpoint.

        An issuer that does not rotate refresh tokens sends none. The given one stays valid then."""
        if answer.text("token_type").lower() != "bearer":
            raise CommandFailed(f"{answer.source} issues tokens of a type that this program does not support.")
        lifetime = answer.fields.get("expires_in")
        return LoginTokens(
            source=source,
            access_token=answer.text("access_token"),
            expires_at=self.clock() + lifetime if isinstance(lifetime, int) else None,
            refresh_token=answer.optional_text("refresh_token") or refresh_token,
        )


def _request_tokens(source: TokenSource, grant: Mapping[str, str]) -> http.JsonDocument:
    return http.post(source.token_endpoint, {**grant, "client_id": source.client_id, "resource": source.resource})


def _login_hint(url: str) -> str:
    return f"Run `signpost login --url {url}`."
