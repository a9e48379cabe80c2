"""The front door between a client and an emulator that does what the test tells it."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from local.api_gateway import LARGEST_EVENT, LARGEST_RESULT, ApiAddress, ApiGateway
from local.door import Door
from local.wire import BODY_LIMIT
from tests.support.fake_emulator import OK, FakeEmulator, connect, open_door, respond


@pytest.fixture
def emulator() -> Iterator[FakeEmulator]:
    fake = FakeEmulator()
    yield fake
    fake.stop()


@pytest.fixture
def door(emulator: FakeEmulator) -> Iterator[Door]:
    with open_door(emulator) as door:
        yield door


@pytest.fixture
def client(door: Door) -> Iterator[http.client.HTTPConnection]:
    with connect(door) as connection:
        yield connection


def send_request(
    client: http.client.HTTPConnection,
    path: str = "/mcp",
    body: bytes | Iterator[bytes] | None = None,
    headers: dict[str, str] | None = None,
    method: str = "",
) -> tuple[int, bytes]:
    client.request(method or ("POST" if body else "GET"), path, body, headers or {}, encode_chunked=False)
    with client.getresponse() as response:
        return response.status, response.read()


def status_and_message(answer: tuple[int, bytes]) -> tuple[int, str]:
    return answer[0], json.loads(answer[1])["message"]


def send_raw(door: Door, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_a_request_invokes_the_function_of_its_route(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    assert send_request(client, "/mcp?a=b%20c", b"{}", {"X-Mine": "1", "Content-Type": "text/plain"}) == (200, b"ok")
    (event,) = emulator.events
    assert (event["version"], event["routeKey"]) == ("2.0", "$default")
    assert (event["rawPath"], event["rawQueryString"]) == ("/mcp", "a=b%20c")
    assert (event["body"], event["isBase64Encoded"], event["headers"]["x-mine"]) == ("{}", False, "1")


def test_the_door_sets_the_address_of_the_client(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    send_request(client, headers={"X-Forwarded-For": "203.0.113.7"})
    (event,) = emulator.events
    assert event["requestContext"]["http"]["sourceIp"] == event["headers"]["x-forwarded-for"] == "127.0.0.1"


def test_headers_of_an_answer_are_passed_on(client: http.client.HTTPConnection) -> None:
    client.request("GET", "/mcp")
    with client.getresponse() as response:
        assert response.getheader("X-Theirs") == "yes"
        assert response.getheader("Apigw-Requestid")


def test_a_challenge_reaches_the_client_under_another_name(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    emulator.answer = lambda _: respond({"statusCode": 401, "headers": {"WWW-Authenticate": "Bearer"}})
    client.request("GET", "/mcp")
    with client.getresponse() as response:
        assert response.status == 401
        assert response.getheader("WWW-Authenticate") is None
        assert response.getheader("x-amzn-remapped-www-authenticate") == "Bearer"


def test_a_preflight_reaches_the_function(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    granted = {"access-control-allow-origin": "https://page.test"}
    emulator.answer = lambda _: respond({"statusCode": 204, "headers": granted})
    client.request("OPTIONS", "/mcp", headers={"Origin": "https://page.test"})
    with client.getresponse() as response:
        assert response.status == 204
        assert response.getheader("Access-Control-Allow-Origin") == "https://page.test"
    assert emulator.events[0]["requestContext"]["http"]["method"] == "OPTIONS"


def test_a_request_without_a_route_invokes_nothing(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    emulator.route_keys = ["GET /health"]
    assert send_request(client, "/mcp") == (404, b'{"message":"Not Found"}')
    assert send_request(client, "/health", method="POST")[0] == 404
    assert emulator.invocations == []
    assert send_request(client, "/health") == (200, b"ok")


def test_an_answer_to_head_has_a_length_and_no_body(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    client.request("HEAD", "/health")
    with client.getresponse() as response:
        assert (response.status, response.getheader("Content-Length"), response.read()) == (200, "2", b"")
    assert send_request(client) == (200, b"ok")
    assert len(emulator.invocations) == 2


def test_connections_are_kept_on_both_sides(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    send_request(client)
    kept = client.sock
    send_request(client)
    assert client.sock is kept
    assert len(emulator.connections) == 1


def test_a_client_that_requests_close_is_disconnected(door: Door) -> None:
    answer = send_raw(door, b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b"Connection: close\r\n" in answer


def test_pipelined_requests_are_answered_in_order(door: Door) -> None:
    one = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n"
    assert send_raw(door, one + b"\r\n" + one + b"Connection: close\r\n\r\n").count(b"200 OK") == 2


def test_the_ipv6_loopback_address_is_served(door: Door, emulator: FakeEmulator) -> None:
    if door.notes:
        pytest.skip(door.notes[0])
    with connect(door, "::1") as client:
        assert send_request(client) == (200, b"ok")
    assert emulator.events[0]["requestContext"]["http"]["sourceIp"] == "::1"


def test_chunks_become_a_body_of_known_size(emulator: FakeEmulator, door: Door) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
    send_raw(door, head + b"Content-Type: application/json\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    (event,) = emulator.events
    assert (event["body"], event["headers"]["content-length"]) == ("{}", "2")
    assert "transfer-encoding" not in event["headers"]


def test_a_client_that_expects_continue_receives_it(door: Door) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nConnection: close\r\n"
    assert send_raw(door, head + b"Expect: 100-continue\r\n\r\n{}").startswith(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
    )


def test_a_body_over_the_limit_is_refused_while_the_client_still_sends(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    answer = send_request(client, body=b"x" * (BODY_LIMIT + 1))
    assert status_and_message(answer) == (413, "Request Entity Too Large")
    assert emulator.requests == []


def test_an_event_over_the_limit_of_lambda_is_refused(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    text = {"Content-Type": "text/plain"}
    assert send_request(client, body=b"x" * (LARGEST_EVENT - 2000), headers=text)[0] == 200
    # In the event a quotation mark takes two bytes, and three bytes of another type take four.
    for body, headers in ((b'"' * (LARGEST_EVENT // 2), text), (b"x" * (LARGEST_EVENT // 4 * 3), {})):
        answer = send_request(client, body=body, headers=headers)
        assert status_and_message(answer) == (413, "Request Entity Too Large")
    assert len(emulator.invocations) == 1


def test_a_result_over_the_limit_of_lambda_is_an_internal_error(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    emulator.answer = lambda _: respond({**OK, "body": "x" * LARGEST_RESULT})
    assert status_and_message(send_request(client)) == (500, "Internal Server Error")


def test_heads_over_the_limit_are_refused(client: http.client.HTTPConnection) -> None:
    assert status_and_message(send_request(client, headers={"X": "x" * 11_000})) == (
        431,
        "Request Header Fields Too Large",
    )


def test_malformed_requests_are_refused(door: Door) -> None:
    assert send_raw(door, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_late_answer_is_service_unavailable(emulator: FakeEmulator) -> None:
    late = threading.Event()
    emulator.answer = lambda _: respond(OK) if late.wait(10) else None
    with open_door(emulator, timeout=0.5) as door, connect(door) as client:
        assert send_request(client) == (503, b'{"message":"Service Unavailable"}')
        late.set()


def test_without_an_emulator_the_service_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    gateway = ApiGateway(lambda: ApiAddress(address, "api1"))
    door = Door(0, gateway.answer)
    door.start()
    with connect(door) as client:
        assert send_request(client)[0] == 503
    door.stop()


def test_an_api_that_is_not_loaded_yet_is_unavailable_and_then_served(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    emulator.route_keys = []
    assert send_request(client)[0] == 503
    emulator.route_keys = ["$default"]
    assert send_request(client) == (200, b"ok")


def test_a_failed_function_is_an_internal_error_without_its_message(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    told = {"errorMessage": "secret", "errorType": "X"}
    emulator.answer = lambda _: respond(told, fields="X-Amz-Function-Error: Unhandled\r\n")
    assert send_request(client) == (500, b'{"message":"Internal Server Error"}')


def test_a_throttled_function_is_service_unavailable(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    emulator.answer = lambda _: respond({"Reason": "CallerRateLimitExceeded"}, "429 Too Many Requests")
    assert send_request(client) == (503, b'{"message":"Service Unavailable"}')


def test_a_connection_closed_while_idle_is_replaced_unnoticed(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    send_request(client)
    emulator.hang_up()
    assert send_request(client) == (200, b"ok")
    assert len(emulator.invocations) == 2


def test_a_request_on_a_connection_closed_at_its_reuse_is_sent_once_more(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    send_request(client)
    hang_ups = iter([None])
    emulator.answer = lambda _: next(hang_ups, respond(OK))
    assert send_request(client, body=b"{}") == (200, b"ok")
    assert len(emulator.invocations) == 3


def test_nothing_is_sent_again_after_a_byte_of_an_answer(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    send_request(client)
    emulator.answer = lambda _: hang_up_after(emulator, b"HTTP/1.1 20")
    assert send_request(client, body=b"{}")[0] == 503
    assert len(emulator.invocations) == 2


def hang_up_after(emulator: FakeEmulator, beginning: bytes) -> None:
    emulator.connections[-1].sendall(beginning)


def test_the_api_is_looked_up_for_every_request(emulator: FakeEmulator) -> None:
    second = FakeEmulator()
    apis = iter([emulator.api, second.api])
    gateway = ApiGateway(lambda: next(apis))
    door = Door(0, gateway.answer)
    door.start()
    with connect(door) as client:
        send_request(client)
        send_request(client)
    door.stop()
    gateway.close()
    second.stop()
    assert [len(emulator.invocations), len(second.invocations)] == [1, 1]


def test_stopping_the_door_completes_the_current_answer(emulator: FakeEmulator, door: Door) -> None:
    asked, answer_now = threading.Event(), threading.Event()

    def slowly(_: object) -> bytes | None:
        asked.set()
        return respond(OK) if answer_now.wait(10) else None

    emulator.answer = slowly
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)) as client:
        client.request("GET", "/mcp")
        asked.wait(10)
        stopping = threading.Thread(target=door.stop)
        stopping.start()
        answer_now.set()
        with client.getresponse() as response:
            assert response.status == 200
        stopping.join()


def test_a_door_that_was_never_opened_can_be_stopped() -> None:
    Door(0, ApiGateway(lambda: ApiAddress("", "")).answer).stop()
