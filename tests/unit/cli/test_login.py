"""signpost login, token and logout against a real issuer."""

import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import Any, override
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from local.issuer import Issuer
from signpost.cli import main, private_file
from signpost.cli.failure import CommandFailed
from signpost.cli.login.flow import LoginSession
from signpost.cli.login.token_store import TokenStore, default_path
from tests.support.browser import PageAnswer, choose_person, fetch
from tests.support.imports import imported_by


@dataclass(slots=True)
class FakeClock:
    now: float = field(default_factory=time.time)

    def __call__(self) -> float:
        return self.now


class Pages(BaseHTTPRequestHandler):
    """A stand-in server: what each path answers, as status, headers and JSON (or text)."""

    def __init__(self, pages: Mapping[str, tuple[int, Mapping[str, str], object]], *connection: Any) -> None:
        self._pages = pages
        super().__init__(*connection)

    def do_GET(self) -> None:
        status, headers, body = self._pages.get(self.path, (404, {}, {}))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write((body if isinstance(body, str) else json.dumps(body)).encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass(frozen=True, slots=True)
class StandIn:
    url: str
    pages: dict[str, tuple[int, Mapping[str, str], object]]

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def answers(self, path: str, body: object, status: int = 200, **headers: str) -> None:
        self.pages[path] = (status, headers, body)

    def protects(self, issuer: str, **changes: object) -> None:
        metadata = {"resource": self.mcp, "authorization_servers": [issuer], **changes}
        self.answers("/.well-known/oauth-protected-resource/mcp", metadata)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def issuer(tmp_path: Path, clock: FakeClock) -> Iterator[Issuer]:
    with Issuer(tmp_path / "issuer", 0, clock) as issuer:
        yield issuer


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    pages: dict[str, tuple[int, Mapping[str, str], object]] = {}
    with ThreadingTCPServer(("127.0.0.1", 0), partial(Pages, pages)) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield StandIn(f"http://127.0.0.1:{server.server_address[1]}", pages)
        server.shutdown()
        thread.join()


@pytest.fixture
def gateway(stand_in: StandIn, issuer: Issuer) -> StandIn:
    stand_in.protects(issuer.url)
    return stand_in


@pytest.fixture
def session(tmp_path: Path, clock: FakeClock) -> LoginSession:
    return LoginSession(TokenStore(tmp_path / "config" / "credentials.json"), clock, patience=10)


@pytest.fixture
def logged_in(session: LoginSession, gateway: StandIn) -> LoginSession:
    session.log_in(gateway.mcp, "signpost-cli", person_chooses("approver"))
    return session


def person_chooses(person: str) -> Callable[[str], None]:
    def show(page: str) -> None:
        assert follow_redirect(choose_person(page, person)).status == 200

    return show


def follow_redirect(redirect: PageAnswer) -> PageAnswer:
    return fetch("GET", redirect.headers["location"])


def claims(token: str) -> dict[str, object]:
    return jwt.decode(token, options={"verify_signature": False})


class TestLogin:
    def test_a_login_brings_a_token_of_the_chosen_person_for_the_server(
        self, logged_in: LoginSession, gateway: StandIn, issuer: Issuer
    ) -> None:
        token = claims(logged_in.access_token(gateway.mcp))
        assert (token["iss"], token["aud"]) == (issuer.url, gateway.mcp)
        assert (token["sub"], token["amr"]) == ("approver", ["user"])

    def test_tokens_are_kept_in_a_file_for_their_owner_alone(self, logged_in: LoginSession, tmp_path: Path) -> None:
        del logged_in
        path = tmp_path / "config" / "credentials.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert sorted(kept.name for kept in path.parent.iterdir()) == ["credentials.json", "credentials.lock"]

    def test_a_login_requests_the_scopes_that_the_server_names(
        self, session: LoginSession, stand_in: StandIn, issuer: Issuer
    ) -> None:
        stand_in.protects(issuer.url, scopes_supported=["signpost.admin"])
        asked: list[str] = []

        def show(page: str) -> None:
            asked.extend(parse_qs(urlsplit(page).query)["scope"])
            person_chooses("operator")(page)

        session.log_in(stand_in.mcp, "signpost-cli", show)
        assert asked == ["signpost.admin offline_access"]

    def test_a_surface_below_the_resource_uses_its_login(
        self, session: LoginSession, gateway: StandIn, issuer: Issuer
    ) -> None:
        metadata = {"resource": gateway.mcp, "authorization_servers": [issuer.url]}
        gateway.answers("/.well-known/oauth-protected-resource/mcp/flat", metadata)
        session.log_in(f"{gateway.mcp}/flat", "signpost-cli", person_chooses("reader"))
        assert claims(session.access_token(f"{gateway.mcp}/flat"))["aud"] == gateway.mcp

    def test_a_cancelled_login_is_reported(self, session: LoginSession, gateway: StandIn) -> None:
        with pytest.raises(CommandFailed, match="The login was cancelled"):
            session.log_in(gateway.mcp, "signpost-cli", person_chooses(""))

    def test_a_login_waits_a_limited_time(self, session: LoginSession, gateway: StandIn) -> None:
        hasty = LoginSession(session.store, session.clock, patience=0)
        with pytest.raises(CommandFailed, match="in time"):
            hasty.log_in(gateway.mcp, "signpost-cli", lambda _: None)

    def test_an_answer_with_another_state_is_refused(self, session: LoginSession, gateway: StandIn) -> None:
        def show(page: str) -> None:
            callback = parse_qs(urlsplit(page).query)["redirect_uri"][0]
            assert fetch("GET", f"{callback}?code=stolen&state=guessed").status == 404
            assert fetch("GET", f"{callback}?code=stolen").status == 404
            person_chooses("reader")(page)

        session.log_in(gateway.mcp, "signpost-cli", show)
        assert claims(session.access_token(gateway.mcp))["sub"] == "reader"

    @pytest.mark.parametrize("named", ["&iss=http://127.0.0.1:1", ""])
    def test_an_answer_of_another_issuer_is_refused(self, session: LoginSession, gateway: StandIn, named: str) -> None:
        def show(page: str) -> None:
            asked = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
            fetch("GET", f"{asked['redirect_uri']}?code=c&state={asked['state']}{named}")

        with pytest.raises(CommandFailed, match="does not name the issuer"):
            session.log_in(gateway.mcp, "signpost-cli", show)

    def test_a_refused_code_is_explained_without_the_code(self, session: LoginSession, gateway: StandIn) -> None:
        def show(page: str) -> None:
            redirect = choose_person(page, "reader").headers["location"]
            fetch("GET", redirect.replace("code=", "code=not-"))

        with pytest.raises(CommandFailed, match="refused the login: The code is unknown") as refused:
            session.log_in(gateway.mcp, "signpost-cli", show)
        assert "not-" not in str(refused.value)


class TestDiscovery:
    @pytest.fixture
    def log_in(self, session: LoginSession, stand_in: StandIn) -> Callable[[], None]:
        return lambda: session.log_in(stand_in.mcp, "signpost-cli", pytest.fail)

    def test_a_server_without_metadata_offers_no_login(self, log_in: Callable[[], None]) -> None:
        with pytest.raises(CommandFailed, match="offers no login"):
            log_in()

    def test_a_server_that_names_another_resource_is_refused(
        self, log_in: Callable[[], None], stand_in: StandIn, issuer: Issuer
    ) -> None:
        stand_in.protects(issuer.url, resource="http://127.0.0.1:1/mcp")
        with pytest.raises(CommandFailed, match=r"another resource, http://127\.0\.0\.1:1/mcp"):
            log_in()

    def test_an_issuer_that_names_another_issuer_is_refused(
        self, log_in: Callable[[], None], stand_in: StandIn
    ) -> None:
        stand_in.protects(stand_in.url)
        stand_in.answers("/.well-known/oauth-authorization-server", {"issuer": "https://elsewhere.example"})
        with pytest.raises(CommandFailed, match=r"names the issuer https://elsewhere\.example"):
            log_in()

    def test_control_characters_of_a_server_are_not_shown(
        self, log_in: Callable[[], None], stand_in: StandIn, issuer: Issuer
    ) -> None:
        stand_in.protects(issuer.url, resource="http://127.0.0.1:1/\x1b[2J")
        with pytest.raises(CommandFailed, match="has no field resource"):
            log_in()

    def test_metadata_of_an_issuer_with_a_path_is_read_at_every_known_place(
        self, log_in: Callable[[], None], stand_in: StandIn
    ) -> None:
        stand_in.protects(f"{stand_in.url}/realm")
        stand_in.answers("/realm/.well-known/openid-configuration", {"issuer": f"{stand_in.url}/realm"})
        with pytest.raises(CommandFailed, match="does not support PKCE"):
            log_in()

    def test_an_issuer_without_metadata_is_named(self, log_in: Callable[[], None], stand_in: StandIn) -> None:
        stand_in.protects(stand_in.url)
        with pytest.raises(CommandFailed, match="publishes no metadata"):
            log_in()

    @pytest.mark.parametrize("endpoint", ["http://elsewhere.example/token", "file:///etc/passwd"])
    def test_an_endpoint_without_tls_is_refused(
        self, log_in: Callable[[], None], stand_in: StandIn, endpoint: str
    ) -> None:
        stand_in.protects(stand_in.url)
        metadata = {
            "issuer": stand_in.url,
            "code_challenge_methods_supported": ["S256"],
            "authorization_endpoint": f"{stand_in.url}/authorize",
            "token_endpoint": endpoint,
        }
        stand_in.answers("/.well-known/oauth-authorization-server", metadata)
        with pytest.raises(CommandFailed, match="not safe for a login"):
            log_in()

    @pytest.mark.parametrize("url", ["http://elsewhere.example/mcp", "ftp://127.0.0.1/", "mcp", "http://[", ""])
    def test_a_url_without_tls_is_refused_unless_it_is_this_machine(self, session: LoginSession, url: str) -> None:
        with pytest.raises(CommandFailed, match=r"not safe for a login|not a URL"):
            session.log_in(url, "signpost-cli", pytest.fail)

    def test_a_redirect_is_not_followed(self, log_in: Callable[[], None], stand_in: StandIn) -> None:
        path = "/.well-known/oauth-protected-resource/mcp"
        stand_in.answers(path, {}, status=302, Location="https://elsewhere.example/")
        with pytest.raises(CommandFailed, match="redirects to another address"):
            log_in()

    def test_a_server_that_is_down_is_named(self, session: LoginSession) -> None:
        with pytest.raises(CommandFailed, match=r"cannot be reached .* the server is running"):
            session.log_in("http://127.0.0.1:1/mcp", "signpost-cli", pytest.fail)

    @pytest.mark.parametrize(("status", "body"), [(500, {}), (200, "<html>"), (200, [])])
    def test_an_invalid_answer_is_reported(
        self, log_in: Callable[[], None], stand_in: StandIn, status: int, body: object
    ) -> None:
        stand_in.answers("/.well-known/oauth-protected-resource/mcp", body, status)
        with pytest.raises(CommandFailed, match=r"status 500|JSON object"):
            log_in()


class TestToken:
    def test_a_fresh_token_is_returned_unchanged(
        self, logged_in: LoginSession, gateway: StandIn, issuer: Issuer
    ) -> None:
        token = logged_in.access_token(gateway.mcp)
        issuer.stop()
        assert logged_in.access_token(gateway.mcp) == token

    def test_a_token_in_its_last_minute_is_renewed_and_the_new_one_kept(
        self, logged_in: LoginSession, gateway: StandIn, clock: FakeClock
    ) -> None:
        first = logged_in.access_token(gateway.mcp)
        clock.now += 3600 - 60
        second = logged_in.access_token(gateway.mcp)
        assert claims(second)["exp"] == int(clock.now) + 3600
        assert claims(second)["sub"] == claims(first)["sub"]
        assert logged_in.access_token(gateway.mcp) == second

    def test_processes_that_renew_at_once_do_not_end_the_login(
        self, logged_in: LoginSession, gateway: StandIn, clock: FakeClock
    ) -> None:
        clock.now += 3600
        with ThreadPoolExecutor(4) as several:
            tokens = set(several.map(logged_in.access_token, [gateway.mcp] * 4))
        assert len(tokens) == 1

    def test_a_missing_login_is_reported_with_the_command_to_run(self, session: LoginSession) -> None:
        with pytest.raises(CommandFailed, match="`signpost login --url http://localhost:8765/mcp`"):
            session.access_token("http://localhost:8765/mcp")

    def test_an_ended_login_is_reported_with_the_command_to_run(
        self, logged_in: LoginSession, gateway: StandIn, clock: FakeClock
    ) -> None:
        clock.now += 31 * 24 * 3600
        with pytest.raises(CommandFailed, match=r"was not renewed: .* Run `signpost login"):
            logged_in.access_token(gateway.mcp)

    def test_a_login_without_a_refresh_token_expires(
        self, session: LoginSession, stand_in: StandIn, clock: FakeClock
    ) -> None:
        plain_issuer(stand_in, {"access_token": "opaque", "token_type": "bearer", "expires_in": 600})
        session.log_in(stand_in.mcp, "signpost-cli", answer_at_once)
        assert session.access_token(stand_in.mcp) == "opaque"
        clock.now += 600
        with pytest.raises(CommandFailed, match="has expired"):
            session.access_token(stand_in.mcp)

    def test_an_issuer_that_does_not_rotate_keeps_the_refresh_token(
        self, session: LoginSession, stand_in: StandIn, clock: FakeClock
    ) -> None:
        first = {"access_token": "a", "token_type": "Bearer", "expires_in": 600, "refresh_token": "kept"}
        plain_issuer(stand_in, first)
        session.log_in(stand_in.mcp, "signpost-cli", answer_at_once)
        stand_in.answers("/token", {"access_token": "b", "token_type": "Bearer", "expires_in": 600})
        for _ in range(2):
            clock.now += 600
            assert session.access_token(stand_in.mcp) == "b"

    @pytest.mark.parametrize(
        ("tokens", "complaint"),
        [
            ({"token_type": "Bearer"}, "has no field access_token"),
            ({"access_token": "a", "token_type": "mac"}, "a type that this program does not support"),
        ],
    )
    def test_an_answer_without_a_usable_token_is_named(
        self, session: LoginSession, stand_in: StandIn, tokens: Mapping[str, object], complaint: str
    ) -> None:
        plain_issuer(stand_in, tokens)
        with pytest.raises(CommandFailed, match=complaint):
            session.log_in(stand_in.mcp, "signpost-cli", answer_at_once)

    def test_a_failing_issuer_is_reported_with_its_status(self, session: LoginSession, stand_in: StandIn) -> None:
        plain_issuer(stand_in, {})
        stand_in.answers("/token", {}, status=503)
        with pytest.raises(CommandFailed, match="status 503; try again later"):
            session.log_in(stand_in.mcp, "signpost-cli", answer_at_once)

    def test_an_unwritable_folder_is_reported(self, session: LoginSession, tmp_path: Path) -> None:
        (tmp_path / "config").write_text("a file where the folder should be")
        with pytest.raises(CommandFailed, match="cannot be written"):
            session.log_out("http://localhost:8765/mcp")

    def test_a_failed_replacement_of_a_file_leaves_no_temporary_file(self, tmp_path: Path) -> None:
        (tmp_path / "taken").mkdir()
        with pytest.raises(OSError, match="directory"):
            private_file.write(tmp_path / "taken", "secret")
        assert [path.name for path in tmp_path.iterdir()] == ["taken"]

    def test_an_unreadable_token_file_is_reported_with_the_next_step(
        self, session: LoginSession, tmp_path: Path
    ) -> None:
        path = tmp_path / "config" / "credentials.json"
        path.parent.mkdir()
        path.write_text('{"http://localhost:8765/mcp": {}}')
        with pytest.raises(CommandFailed, match="Remove it and log in again"):
            session.access_token("http://localhost:8765/mcp")


def plain_issuer(stand_in: StandIn, tokens: Mapping[str, object]) -> None:
    """An authorization server that gives the same tokens for whatever it is shown."""
    stand_in.protects(stand_in.url)
    metadata = {
        "issuer": stand_in.url,
        "code_challenge_methods_supported": ["S256"],
        "authorization_endpoint": f"{stand_in.url}/authorize?realm=a",
        "token_endpoint": f"{stand_in.url}/token",
    }
    stand_in.answers("/.well-known/oauth-authorization-server", metadata)
    stand_in.answers("/token", tokens)


def answer_at_once(page: str) -> None:
    asked = {name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}
    fetch("GET", f"{asked['redirect_uri']}?code=any&state={asked['state']}")


class TestCommands:
    @pytest.fixture(autouse=True)
    def config_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def test_a_person_logs_in_takes_a_token_and_logs_out(
        self, gateway: StandIn, capsys: pytest.CaptureFixture[str]
    ) -> None:
        log_in_as_a_process(gateway.mcp, "operator")
        assert main(["token", "--url", gateway.mcp]) == 0
        token = capsys.readouterr().out
        assert token.count("\n") == 1
        assert claims(token.strip())["sub"] == "operator"
        assert main(["logout", "--url", f"{gateway.mcp}/"]) == 0
        assert "logged out" in capsys.readouterr().out
        assert main(["token", "--url", gateway.mcp]) == 1

    def test_the_page_is_opened_in_the_browser(
        self, gateway: StandIn, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("webbrowser.open", person_chooses("author"))
        assert main(["login", "--url", gateway.mcp]) == 0
        assert f"You are logged in to {gateway.mcp}." in capsys.readouterr().out

    def test_a_token_without_a_login_prints_only_to_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["token"]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert "Run `signpost login --url http://localhost:8765/mcp`." in said.err

    def test_logging_out_twice_is_no_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["logout"]) == 0
        assert "You were not logged in" in capsys.readouterr().out

    def test_a_relative_config_home_is_ignored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
        assert default_path() == Path.home() / ".config" / "signpost" / "credentials.json"

    def test_registering_the_commands_imports_no_http(self) -> None:
        assert imported_by("import signpost.cli.login.login_command", {"urllib.request"}) == set()


def log_in_as_a_process(url: str, person: str) -> None:
    command = [
        sys.executable,
        "-c",
        "import sys; from signpost.cli import main; sys.exit(main())",
        "login",
        "--url",
        url,
        "--no-browser",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        page = next(line.strip() for line in process.stdout if "/authorize?" in line)
        follow_redirect(choose_person(page, person))
        assert process.wait(timeout=30) == 0
