"""The parts of `make sam-local` that need no container: its page, its variables, its relay, its advice."""

import io
import os
import re
import shutil
import socket
import subprocess
import threading
from functools import partial
from pathlib import Path

import pytest

from local.built import BuiltTemplate
from local.errors import CloudError
from local.intrinsics import parse_template
from local.invoke import cases_of
from local.progress import Progress
from local.project import Project
from local.sam_local.network import PortRelay, call_in_network, listen
from local.sam_local.page import PAGE, Page
from local.sam_local.podman import explain_refusal, has_image, missing_packages, remove
from local.sam_local.variables import deployed_variables

PROJECT = Project()
TEMPLATE = """
Parameters:
  Mode: {Type: String, Default: none}
Conditions:
  HasMode: !Not [!Equals [!Ref Mode, none]]
Resources:
  Table: {Type: AWS::DynamoDB::Table}
  Keys: {Type: AWS::SecretsManager::Secret}
  EchoFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: code
      Handler: app.handler
      Environment:
        Variables:
          MODE: !Ref Mode
          TABLE: !Ref Table
          KEYS: !GetAtt Keys.Id
          ADDRESS: !If [HasMode, !Ref Mode, !Sub "https://${Table}.example"]
          FIXED: always
"""


@pytest.fixture
def template(tmp_path: Path) -> BuiltTemplate:
    return BuiltTemplate(tmp_path, parse_template(TEMPLATE))


def write_page(root: Path, text: str) -> None:
    (root / "docs").mkdir()
    (root / PAGE).write_text(text)


def test_the_page_shows_the_command_of_its_case() -> None:
    page = Page.read(PROJECT.root)
    (case,) = (case for case in cases_of("gateway", PROJECT.root) if case.name == "tools-list")
    event = str(case.file().relative_to(PROJECT.root))
    assert page.invoke_case("GatewayFunction", event, case.parameters()) == page.invoke


def test_every_case_has_the_options_of_the_page() -> None:
    page = Page.read(PROJECT.root)
    command = page.invoke_case("RegistryFunction", "events/registry/a case.json", {"AllowedOrigins": "a, b"})
    assert command == (
        "sam local invoke RegistryFunction --event 'events/registry/a case.json' "
        """--env-vars "$ENV_VARS" --parameter-overrides Architecture=$ARCHITECTURE 'AllowedOrigins="a, b"'"""
    )


def test_the_api_of_the_page_has_parameters_of_cases() -> None:
    page = Page.read(PROJECT.root)
    assert page.port == 3000
    same = [case for case in cases_of("gateway", PROJECT.root) if case.parameters() == page.api_parameters()]
    assert len(same) >= 10, page.start_api


@pytest.mark.parametrize(
    "second", ["", "sam local invoke BFunction --event b.json --env-vars x Architecture=$ARCHITECTURE"]
)
def test_a_page_without_a_command_or_with_two_of_a_kind_is_refused(tmp_path: Path, second: str) -> None:
    first = second and "sam local invoke AFunction --event a.json --env-vars x Architecture=$ARCHITECTURE"
    write_page(tmp_path, f"```\n{first}\n{second}\n```\n")
    with pytest.raises(CloudError, match=f"found {2 if second else 0}"):
        Page.read(tmp_path)


def test_the_file_has_the_variables_that_name_resources_and_the_endpoint(template: BuiltTemplate) -> None:
    deployed = {"MODE": "jwt", "TABLE": "t-1", "KEYS": "arn:k", "ADDRESS": "https://t-1.example", "FIXED": "always"}
    assert deployed_variables({"EchoFunction": deployed}, template, "http://10.88.0.1:5") == {
        "EchoFunction": {
            "TABLE": "t-1",
            "KEYS": "arn:k",
            "AWS_ENDPOINT_URL": "http://10.88.0.1:5",
        }
    }


def test_the_file_has_the_secrets_and_tables_of_every_function_but_no_parameter() -> None:
    template = BuiltTemplate.read(PROJECT.root / "template.yaml")
    every = {name: f"deployed {name}" for name in re.findall(r"^ +([A-Z_]+): ", TEMPLATE_TEXT, re.MULTILINE)}
    file = deployed_variables(dict.fromkeys(template.functions(), every), template, "http://127.0.0.1:9")
    assert sorted(file) == sorted(template.functions())
    for function, variables in file.items():
        assert isinstance(variables, dict)
        assert variables["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9", function
        assert not {"AUTH_MODE", "OIDC_ISSUER", "ALLOWED_ORIGINS", "PUBLIC_URL"} & set(variables), function
    assert file["ExecutorCoreFunction"] == {
        "EXECUTOR_KEY_SECRET_ARN": "deployed EXECUTOR_KEY_SECRET_ARN",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }


TEMPLATE_TEXT = (PROJECT.root / "template.yaml").read_text()


def test_the_relay_copies_both_ways_until_both_have_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        echo = threading.Thread(target=answer_once, args=(server,), daemon=True)
        echo.start()
        listener = listen("127.0.0.1", process=None)
        with PortRelay(listener, server.getsockname()[1]), socket.create_connection(listener.getsockname()) as client:
            client.sendall(b"x" * 200_000)
            client.shutdown(socket.SHUT_WR)
            assert receive_all(client) == b"x" * 200_000 + b"!"
        echo.join(5)


def test_the_relay_listens_on_one_address_only() -> None:
    """Another process may have the port of one of the listeners at the other address, but not of all."""
    listeners = [listen("127.0.0.2", process=None) for _ in range(5)]
    try:
        assert {listener.getsockname()[0] for listener in listeners} == {"127.0.0.2"}
        assert any(is_free("127.0.0.1", listener.getsockname()[1]) for listener in listeners)
    finally:
        for listener in listeners:
            listener.close()


def is_free(address: str, port: int) -> bool:
    try:
        socket.create_server((address, port)).close()
    except OSError:
        return False
    return True


def test_the_relay_closes_a_connection_whose_target_does_not_listen() -> None:
    listener = listen("127.0.0.1", process=None)
    with PortRelay(listener, 9), socket.create_connection(listener.getsockname()) as client:
        assert receive_all(client) == b""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None,
    reason="only root can make a network namespace, by unshare and ip",
)
def test_a_client_in_another_network_reaches_a_port_of_this_one() -> None:
    """The address of the bridge is made after the relay listens on it."""
    script = (
        "echo isolated && read -r _ && ip link set lo up && ip address add 10.88.0.1 dev lo && echo made && read -r _"
    )
    command = ["unshare", "--net", "sh", "-c", script]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        try:
            assert other.stdin is not None
            assert other.stdout is not None
            assert other.stdout.readline() == "isolated\n"
            listener = listen("10.88.0.1", process=other.pid, is_made_later=True)
            print("make it", file=other.stdin, flush=True)
            assert other.stdout.readline() == "made\n"
            threading.Thread(target=answer_once, args=(server,), daemon=True).start()
            with PortRelay(listener, server.getsockname()[1]):
                connect = partial(socket.create_connection, listener.getsockname(), 5)
                with call_in_network(other.pid, connect) as client:
                    client.sendall(b"hello")
                    client.shutdown(socket.SHUT_WR)
                    assert receive_all(client) == b"hello!"
        finally:
            other.kill()


def answer_once(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection:
        connection.sendall(receive_all(connection) + b"!")


def receive_all(connection: socket.socket) -> bytes:
    connection.settimeout(30)
    received = b""
    while data := connection.recv(65536):
        received += data
    return received


def test_missing_programs_are_named_by_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert {"podman", "runc", "iptables", "mmdebstrap", "iproute2", "util-linux"} <= set(missing_packages())


def test_the_image_is_deleted_on_request(tmp_path: Path) -> None:
    out = io.StringIO()
    state = tmp_path / "state"
    (state / "graph").mkdir(parents=True)
    remove(Progress(out), state)
    assert not state.exists()
    remove(Progress(out), state)
    assert out.getvalue() == f"Deleted {state}.\n{state} does not exist, so there is nothing to delete.\n"


def test_no_image_is_found_where_none_was_made(tmp_path: Path) -> None:
    assert not has_image(tmp_path / "state")


BOTH = "Podman lacks Debian packages. Install them: sudo apt-get install --yes --no-install-recommends netavark podman"


@pytest.mark.parametrize(
    ("missing", "is_root", "has_apt", "advice"),
    [
        ([], True, False, None),
        (["podman"], True, True, None),
        ([], False, True, "No Docker engine answers. Podman needs root: start Docker, or run this command as root."),
        (
            ["netavark", "podman"],
            False,
            True,
            f"No Docker engine answers. Podman needs root: start Docker, or run this command as root. {BOTH}",
        ),
        (
            ["podman"],
            True,
            False,
            f"No Docker engine answers. {BOTH.replace('netavark ', '')}",
        ),
    ],
)
def test_the_advice_names_what_podman_lacks(
    missing: list[str], is_root: bool, has_apt: bool, advice: str | None
) -> None:
    assert explain_refusal(missing, is_root=is_root, has_apt=has_apt) == advice
