"""The issuer of the laptop, over real HTTP."""

import json
import socket
import stat
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt import PyJWKSet

from local.issuer import Issuer
from local.issuer.exchange import Answer as Answered
from local.issuer.exchange import Request
from local.issuer.server import Server
from tests.support.browser import Page, PageAnswer, choose_person, fetch, post
from tests.support.example_workflows import ROLES

MCP = "http://localhost:8765/mcp"
CALLBACK = "http://127.0.0.1:49152/callback"
# The example of RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@dataclass(slots=True)
class FakeClock:
    now: float

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def module_clock() -> FakeClock:
    return FakeClock(time.time())


@pytest.fixture(scope="module")
def module_issuer(tmp_path_factory: pytest.TempPathFactory, module_clock: FakeClock) -> Iterator[Issuer]:
    with Issuer(tmp_path_factory.mktemp("issuer"), 0, module_clock) as issuer:
        yield issuer


@pytest.fixture
def clock(module_clock: FakeClock) -> FakeClock:
    module_clock.now = time.time()
    return module_clock


@pytest.fixture
def issuer(module_issuer: Issuer, clock: FakeClock) -> Issuer:
    """One for all tests that leave its keys alone; the clock shows the right time again."""
    del clock
    return module_issuer


def page_url(issuer: Issuer, **changes: str | None) -> str:
    asked = {
        "response_type": "code",
        "client_id": "signpost-cli",
        "redirect_uri": CALLBACK,
        "state": "a state & more",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": MCP,
        **changes,
    }
    return f"{issuer.url}/authorize?{urlencode({name: value for name, value in asked.items() if value})}"


def code_for(issuer: Issuer, person: str = "operator", **changes: str | None) -> str:
    return choose_person(page_url(issuer, **changes), person).redirect_parameters()["code"]


def redeem(issuer: Issuer, code: str, **changes: str) -> PageAnswer:
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": "signpost-cli",
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
        "resource": MCP,
    }
    return post(f"{issuer.url}/token", form | changes)


def refresh(issuer: Issuer, token: str, client_id: str = "signpost-cli") -> PageAnswer:
    form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": client_id}
    return post(f"{issuer.url}/token", form)


def verify_token(issuer: Issuer, token: str, audience: str = MCP) -> dict[str, object]:
    """As a resource server does it: with the published keys and nothing else."""
    keys = PyJWKSet.from_json(fetch("GET", f"{issuer.url}/jwks").text)
    key = keys[jwt.get_unverified_header(token)["kid"]]
    return jwt.decode(token, key, ["RS256"], audience=audience, issuer=issuer.url)


class TestMetadata:
    @pytest.mark.parametrize("name", ["openid-configuration", "oauth-authorization-server"])
    def test_the_metadata_names_the_issuer_and_its_endpoints(self, issuer: Issuer, name: str) -> None:
        metadata = fetch("GET", f"{issuer.url}/.well-known/{name}").json()
        assert metadata["issuer"] == issuer.url
        permissions = ["signpost.admin", "workflow.resolve", "workflow.cancel", "workflow.approve"]
        assert metadata["scopes_supported"] == ["openid", "offline_access", *permissions]
        assert metadata["token_endpoint"] == f"{issuer.url}/token"
        assert metadata["code_challenge_methods_supported"] == ["S256"]

    def test_requests_for_the_keys_are_counted(self, issuer: Issuer) -> None:
        before = issuer.jwks_requests
        fetch("GET", f"{issuer.url}/jwks")
        assert issuer.jwks_requests == before + 1

    def test_published_keys_hold_no_private_members(self, issuer: Issuer) -> None:
        (key,) = fetch("GET", f"{issuer.url}/jwks").json()["keys"]
        assert set(key) == {"kty", "n", "e", "kid", "use", "alg"}

    def test_a_request_with_another_host_name_is_misdirected(self, issuer: Issuer) -> None:
        answer = fetch("GET", page_url(issuer), headers={"Host": "rebound.example"})
        assert answer.status == 421

    def test_only_pages_of_this_machine_can_read_the_keys(self, issuer: Issuer) -> None:
        here = fetch("GET", f"{issuer.url}/jwks", headers={"Origin": "http://localhost:6274"})
        elsewhere = fetch("GET", f"{issuer.url}/jwks", headers={"Origin": "https://elsewhere.example"})
        assert here.headers["access-control-allow-origin"] == "http://localhost:6274"
        assert "access-control-allow-origin" not in elsewhere.headers

    def test_a_preflight_request_is_granted(self, issuer: Issuer) -> None:
        answer = fetch("OPTIONS", f"{issuer.url}/token", headers={"Origin": "http://127.0.0.1:6274"})
        assert answer.status == 204
        assert "POST" in answer.headers["access-control-allow-methods"]

    def test_an_unknown_path_is_not_found(self, issuer: Issuer) -> None:
        assert fetch("GET", f"{issuer.url}/userinfo").status == 404

    def test_an_answer_is_sent_in_one_write(self, issuer: Issuer) -> None:
        host, _, port = issuer.url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(f"GET /jwks HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        assert answer.endswith(b"]}")

    def test_a_failure_of_the_issuer_is_logged_and_not_shown(self, caplog: pytest.LogCaptureFixture) -> None:
        def fail(_: Request) -> Answered:
            raise RuntimeError("what nobody should see")

        server = Server(0, fail)
        server.start()
        answer = fetch("GET", f"http://127.0.0.1:{server.port}/jwks?code=secret")
        server.stop()
        assert (answer.status, answer.json()) == (500, {"error": "server_error"})
        assert "code=secret" not in caplog.records[0].getMessage()

    def test_a_body_of_unknown_length_is_refused_unread(self, issuer: Issuer) -> None:
        assert fetch("POST", f"{issuer.url}/token", headers={"Content-Length": "-1"}).status == 411

    def test_too_many_parameters_are_refused(self, issuer: Issuer) -> None:
        assert post(f"{issuer.url}/token", {str(n): "x" for n in range(51)}).status == 400

    def test_a_body_that_is_too_large_is_refused_unread(self, issuer: Issuer) -> None:
        assert fetch("POST", f"{issuer.url}/token", headers={"Content-Length": "70000"}).status == 413


class TestPage:
    def test_the_page_offers_every_sample_person(self, issuer: Issuer) -> None:
        page = Page(fetch("GET", page_url(issuer)).text)
        assert page.buttons == ["operator", "author", "approver", "second-approver", "reader", ""]

    def test_the_page_states_that_it_is_for_this_laptop_only(self, issuer: Issuer) -> None:
        assert "this laptop only" in fetch("GET", page_url(issuer)).text

    def test_the_page_loads_no_resources_and_cannot_be_framed(self, issuer: Issuer) -> None:
        policy = fetch("GET", page_url(issuer)).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy

    def test_the_page_shows_parameters_as_text(self, issuer: Issuer) -> None:
        html = fetch("GET", page_url(issuer, state='"><script>')).text
        assert "<script>" not in html
        assert Page(html).hidden["state"] == '"><script>'

    def test_a_choice_redirects_with_code_state_and_issuer(self, issuer: Issuer) -> None:
        answer = choose_person(page_url(issuer), "reader")
        assert answer.status == 303
        assert answer.headers["location"].startswith(f"{CALLBACK}?")
        assert set(answer.redirect_parameters()) == {"code", "state", "iss"}
        assert answer.redirect_parameters()["state"] == "a state & more"
        assert answer.redirect_parameters()["iss"] == issuer.url

    def test_cancelling_redirects_with_access_denied(self, issuer: Issuer) -> None:
        assert choose_person(page_url(issuer), "").redirect_parameters()["error"] == "access_denied"

    def test_another_site_cannot_choose_for_a_person(self, issuer: Issuer) -> None:
        form = Page(fetch("GET", page_url(issuer)).text).hidden | {"person": "operator"}
        answer = post(f"{issuer.url}/authorize", form, {"Origin": "https://elsewhere.example"})
        assert answer.status == 403


class TestAuthorization:
    @pytest.mark.parametrize(
        "uri",
        [
            "https://elsewhere.example/callback",
            "http://elsewhere.example/callback",
            "https://127.0.0.1/callback",
            "http://127.0.0.1.elsewhere.example/callback",
            "http://127.0.0.1@elsewhere.example/callback",
            "http://elsewhere.example\\@127.0.0.1/callback",
            "http://127.0.0.1:1/other",
            "http://127.0.0.1:1/callback#fragment",
            "http://127.0.0.1:99999/callback",
            "http://127.0.0.1/callback\r\nSet-Cookie: a=b",
        ],
    )
    def test_a_redirect_to_an_unregistered_address_is_refused_on_the_page(self, issuer: Issuer, uri: str) -> None:
        answer = fetch("GET", page_url(issuer, redirect_uri=uri))
        assert answer.status == 400
        assert "location" not in answer.headers

    def test_an_unknown_client_is_refused_on_the_page(self, issuer: Issuer) -> None:
        answer = fetch("GET", page_url(issuer, client_id="nobody"))
        assert answer.status == 400
        assert "location" not in answer.headers

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"code_challenge": None}, "invalid_request"),
            ({"code_challenge_method": None}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge": "short"}, "invalid_request"),
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"resource": "https://mcp.example/mcp"}, "invalid_target"),
            ({"resource": "http://localhost.elsewhere.example/mcp"}, "invalid_target"),
            ({"resource": None}, "invalid_target"),
        ],
    )
    def test_an_unsafe_or_foreign_request_is_refused_to_the_client(
        self, issuer: Issuer, changes: dict[str, str | None], error: str
    ) -> None:
        answer = fetch("GET", page_url(issuer, **changes))
        assert answer.status == 303
        assert answer.redirect_parameters()["error"] == error
        assert answer.redirect_parameters()["state"] == "a state & more"

    def test_a_changed_form_is_checked_again(self, issuer: Issuer) -> None:
        form = Page(fetch("GET", page_url(issuer)).text).hidden | {"person": "operator"}
        answer = post(f"{issuer.url}/authorize", form | {"resource": "https://mcp.example/mcp"})
        assert answer.redirect_parameters()["error"] == "invalid_target"

    def test_a_parameter_given_twice_is_refused(self, issuer: Issuer) -> None:
        assert fetch("GET", f"{page_url(issuer)}&client_id=agent").status == 400


class TestTokens:
    def test_a_person_gets_an_access_token_of_rfc_9068(self, issuer: Issuer) -> None:
        token = redeem(issuer, code_for(issuer, "operator")).json()["access_token"]
        header = jwt.get_unverified_header(token)
        claims = verify_token(issuer, token)
        assert (header["typ"], header["alg"]) == ("at+jwt", "RS256")
        assert set(claims) == {
            *("iss", "sub", "aud", "iat", "nbf", "exp", "jti", "client_id", "scope", "tenant", "roles", "amr"),
        }
        assert claims["sub"] == "operator"
        assert claims["tenant"] == "default"
        assert claims["roles"] == ["operator"]
        assert "signpost.admin" in str(claims["scope"]).split()
        assert claims["amr"] == ["user"]
        assert claims["client_id"] == "signpost-cli"

    @pytest.mark.parametrize("person", ["author", "approver", "second-approver", "reader"])
    def test_only_the_operator_has_the_admin_scope(self, issuer: Issuer, person: str) -> None:
        token = redeem(issuer, code_for(issuer, person)).json()["access_token"]
        assert "signpost.admin" not in str(verify_token(issuer, token)["scope"])

    @pytest.mark.parametrize("person", ["approver", "second-approver"])
    def test_both_approvers_have_all_roles_of_the_examples(self, issuer: Issuer, person: str) -> None:
        claims = verify_token(issuer, redeem(issuer, code_for(issuer, person)).json()["access_token"])
        assert claims["sub"] == person
        assert claims["roles"] == [person, *ROLES]
        assert claims["scope"] == "workflow.approve"

    def test_the_openid_scope_adds_an_id_token_for_the_client(self, issuer: Issuer) -> None:
        answer = redeem(issuer, code_for(issuer, scope="openid", nonce="once")).json()
        claims = verify_token(issuer, answer["id_token"], audience="signpost-cli")
        assert claims["nonce"] == "once"
        assert "id_token" not in redeem(issuer, code_for(issuer)).json()

    def test_answers_with_tokens_are_not_cached(self, issuer: Issuer) -> None:
        assert redeem(issuer, code_for(issuer)).headers["cache-control"] == "no-store"

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"code_verifier": "x" * 43}, "invalid_grant"),
            ({"code_verifier": ""}, "invalid_grant"),
            ({"redirect_uri": "http://127.0.0.1:49153/callback"}, "invalid_grant"),
            ({"redirect_uri": ""}, "invalid_grant"),
            ({"resource": "http://localhost:8765/mcp/flat"}, "invalid_target"),
            ({"grant_type": "password"}, "unsupported_grant_type"),
        ],
    )
    def test_a_code_is_redeemed_only_with_the_parameters_of_its_request(
        self, issuer: Issuer, changes: dict[str, str], error: str
    ) -> None:
        answer = redeem(issuer, code_for(issuer), **changes)
        assert (answer.status, answer.json()["error"]) == (400, error)

    def test_an_invented_code_is_refused(self, issuer: Issuer) -> None:
        assert redeem(issuer, "made-up").json()["error"] == "invalid_grant"

    def test_a_code_given_to_one_client_is_refused_to_another(self, issuer: Issuer) -> None:
        other = register(issuer, {"redirect_uris": [CALLBACK]}).json()["client_id"]
        assert redeem(issuer, code_for(issuer), client_id=other).json()["error"] == "invalid_grant"

    def test_a_reused_code_is_refused_and_revokes_its_tokens(self, issuer: Issuer) -> None:
        code = code_for(issuer)
        tokens = redeem(issuer, code).json()
        assert redeem(issuer, code).json()["error"] == "invalid_grant"
        assert refresh(issuer, tokens["refresh_token"]).json()["error"] == "invalid_grant"

    def test_a_code_expires_after_a_minute(self, issuer: Issuer, clock: FakeClock) -> None:
        code = code_for(issuer)
        clock.now += 61
        assert redeem(issuer, code).json()["error"] == "invalid_grant"

    def test_a_json_body_is_not_a_token_request(self, issuer: Issuer) -> None:
        answer = fetch("POST", f"{issuer.url}/token", "{}", {"Content-Type": "application/json"})
        assert answer.json()["error"] == "invalid_request"


class TestRefreshing:
    def test_each_refresh_brings_a_new_refresh_token_and_the_same_person(self, issuer: Issuer) -> None:
        first = redeem(issuer, code_for(issuer, "approver")).json()
        second = refresh(issuer, first["refresh_token"]).json()
        assert second["refresh_token"] != first["refresh_token"]
        assert verify_token(issuer, second["access_token"])["sub"] == "approver"
        assert verify_token(issuer, second["access_token"])["aud"] == MCP

    def test_a_spent_refresh_token_is_refused_and_ends_its_family(self, issuer: Issuer) -> None:
        first = redeem(issuer, code_for(issuer)).json()["refresh_token"]
        second = refresh(issuer, first).json()["refresh_token"]
        assert refresh(issuer, first).status == 400
        assert refresh(issuer, second).json()["error"] == "invalid_grant"

    def test_a_refresh_token_belongs_to_its_client(self, issuer: Issuer) -> None:
        other = register(issuer, {"redirect_uris": [CALLBACK]}).json()["client_id"]
        token = redeem(issuer, code_for(issuer)).json()["refresh_token"]
        assert refresh(issuer, token, other).json()["error"] == "invalid_grant"

    def test_a_refresh_token_expires_after_thirty_days(self, issuer: Issuer, clock: FakeClock) -> None:
        token = redeem(issuer, code_for(issuer)).json()["refresh_token"]
        clock.now += 30 * 24 * 3600 + 1
        assert refresh(issuer, token).json()["error"] == "invalid_grant"


class TestMachineClient:
    def test_client_credentials_are_never_human(self, issuer: Issuer) -> None:
        form = {
            "grant_type": "client_credentials",
            "client_id": "agent",
            "client_secret": issuer.agent_secret,
            "resource": MCP,
        }
        answer = post(f"{issuer.url}/token", form).json()
        claims = verify_token(issuer, answer["access_token"])
        assert claims["sub"] == "agent"
        assert "amr" not in claims
        assert "refresh_token" not in answer

    def test_the_machine_client_can_send_its_secret_as_basic_credentials(self, issuer: Issuer) -> None:
        assert request_machine_token(issuer, f"agent:{issuer.agent_secret}").status == 200

    @pytest.mark.parametrize("credentials", ["agent:wrong", "agent:", "agent", "nobody:x", ":"])
    def test_a_wrong_secret_is_refused(self, issuer: Issuer, credentials: str) -> None:
        answer = request_machine_token(issuer, credentials)
        assert (answer.status, answer.json()["error"]) == (401, "invalid_client")
        assert answer.headers["www-authenticate"].startswith("Basic")

    @pytest.mark.parametrize("header", ["Basic !", "Basic", "Bearer YWdlbnQ6eA=="])
    def test_an_authorization_header_of_another_kind_is_refused(self, issuer: Issuer, header: str) -> None:
        form = {"grant_type": "client_credentials", "resource": MCP}
        answer = post(f"{issuer.url}/token", form, {"Authorization": header})
        assert (answer.status, answer.json()["error"]) == (401, "invalid_client")

    def test_a_foreign_resource_is_refused(self, issuer: Issuer) -> None:
        answer = request_machine_token(issuer, f"agent:{issuer.agent_secret}", resource="https://mcp.example/mcp")
        assert answer.json()["error"] == "invalid_target"

    def test_the_public_client_cannot_act_as_a_machine(self, issuer: Issuer) -> None:
        form = {"grant_type": "client_credentials", "client_id": "signpost-cli", "resource": MCP}
        assert post(f"{issuer.url}/token", form).json()["error"] == "unauthorized_client"

    def test_the_machine_cannot_log_in_as_a_person(self, issuer: Issuer) -> None:
        assert fetch("GET", page_url(issuer, client_id="agent")).status == 400


class TestRegistration:
    def test_a_client_that_registers_itself_can_log_people_in(self, issuer: Issuer) -> None:
        answer = register(issuer, {"client_name": "An <agent>", "redirect_uris": ["http://localhost:3118/cb"]})
        client_id = answer.json()["client_id"]
        uri = "http://localhost:4999/cb"
        url = page_url(issuer, client_id=client_id, redirect_uri=uri)
        assert answer.status == 201
        assert answer.json()["token_endpoint_auth_method"] == "none"
        assert "An &lt;agent&gt;" in fetch("GET", url).text
        code = choose_person(url, "author").redirect_parameters()["code"]
        assert redeem(issuer, code, client_id=client_id, redirect_uri=uri).status == 200

    def test_only_the_loopback_redirects_of_a_client_are_registered(self, issuer: Issuer) -> None:
        uris = ["https://editor.example/redirect", "http://127.0.0.1/"]
        assert register(issuer, {"redirect_uris": uris}).json()["redirect_uris"] == ["http://127.0.0.1/"]

    @pytest.mark.parametrize("uris", [["https://editor.example/redirect"], ["editor://callback"], [], "x", [1]])
    def test_a_client_without_a_loopback_redirect_is_refused(self, issuer: Issuer, uris: object) -> None:
        answer = register(issuer, {"redirect_uris": uris})
        assert (answer.status, answer.json()["error"]) == (400, "invalid_redirect_uri")

    @pytest.mark.parametrize("body", ["", "[]", "{", "[" * 60_000])
    def test_metadata_that_is_no_object_is_refused(self, issuer: Issuer, body: str) -> None:
        answer = fetch("POST", f"{issuer.url}/register", body)
        assert (answer.status, answer.json()["error"]) == (400, "invalid_client_metadata")


class TestAcrossRestarts:
    @pytest.fixture
    def started(self, tmp_path: Path) -> Iterator[Callable[[], Issuer]]:
        running: list[Issuer] = []

        def start() -> Issuer:
            for issuer in running:
                issuer.stop()
            running[:] = [Issuer(tmp_path / "issuer", int(running[0].url.split(":")[-1]) if running else 0)]
            running[0].start()
            return running[0]

        yield start
        running[0].stop()

    def test_tokens_clients_and_the_secret_of_the_machine_survive(self, started: Callable[[], Issuer]) -> None:
        first = started()
        client_id = register(first, {"redirect_uris": [CALLBACK]}).json()["client_id"]
        secret = first.agent_secret
        tokens = redeem(first, code_for(first)).json()
        second = started()
        assert verify_token(second, tokens["access_token"])["sub"] == "operator"
        assert second.agent_secret == secret
        assert fetch("GET", page_url(second, client_id=client_id)).status == 200
        assert refresh(second, tokens["refresh_token"]).status == 200

    def test_rotation_keeps_old_tokens_verifiable(self, started: Callable[[], Issuer]) -> None:
        issuer = started()
        old = issuer.access_token("reader", MCP)
        issuer.rotate()
        new = issuer.access_token("reader", MCP)
        assert jwt.get_unverified_header(old)["kid"] != jwt.get_unverified_header(new)["kid"]
        for running in (issuer, started()):
            assert verify_token(running, old)["sub"] == verify_token(running, new)["sub"] == "reader"

    def test_stopping_ends_connections_that_clients_keep_open(self, started: Callable[[], Issuer]) -> None:
        issuer = started()
        connection = HTTPConnection(issuer.url.removeprefix("http://"), timeout=10)
        connection.request("GET", "/jwks")
        connection.getresponse().read()
        kept = connection.sock
        issuer.stop()
        assert kept.recv(1) == b""
        connection.close()

    def test_a_key_of_another_kind_is_named(self, tmp_path: Path) -> None:
        key = Ed25519PrivateKey.generate()
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (tmp_path / "signing-key.pem").write_bytes(pem)
        with pytest.raises(TypeError, match=r"signing-key\.pem holds no RSA key"):
            Issuer(tmp_path, 0)

    def test_secret_files_are_readable_by_their_owner_only(self, tmp_path: Path) -> None:
        home = tmp_path / "issuer"
        with Issuer(home, 0) as issuer:
            issuer.rotate()
            redeem(issuer, code_for(issuer))
            kept = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()}
        assert set(kept) == {
            *("signing-key.pem", "signing-key.previous.pem", "agent-secret", "refresh-tokens.json"),
        }
        assert set(kept.values()) == {0o600}

    def test_refresh_tokens_are_kept_as_digests(self, tmp_path: Path) -> None:
        with Issuer(tmp_path, 0) as issuer:
            token = redeem(issuer, code_for(issuer)).json()["refresh_token"]
        assert token.split(".")[1] not in (tmp_path / "refresh-tokens.json").read_text()


class TestTokensForTests:
    def test_claims_can_be_changed_and_left_out(self, issuer: Issuer) -> None:
        claims = verify_token(issuer, issuer.access_token("author", MCP, tenant="other", amr=None))
        assert (claims["tenant"], "amr" in claims) == ("other", False)

    def test_the_machine_token_is_not_human(self, issuer: Issuer) -> None:
        assert "amr" not in verify_token(issuer, issuer.access_token("agent", MCP))

    def test_any_claims_can_be_signed_with_any_header(self, issuer: Issuer) -> None:
        token = issuer.sign({"sub": "x"}, {"typ": "JWT", "kid": "unknown"})
        assert jwt.get_unverified_header(token) == {"typ": "JWT", "kid": "unknown", "alg": "RS256"}


def register(issuer: Issuer, metadata: object) -> PageAnswer:
    return fetch("POST", f"{issuer.url}/register", json.dumps(metadata), {"Content-Type": "application/json"})


def request_machine_token(issuer: Issuer, credentials: str, resource: str = MCP) -> PageAnswer:
    basic = {"Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}
    return post(f"{issuer.url}/token", {"grant_type": "client_credentials", "resource": resource}, basic)
