"""The front door between a client and an emulator that does what the test tells it."""

import contextlib
import http.client
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import BinaryIO

import pytest

from local.door import Door
from local.wire import BODY_LIMIT

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Theirs: yes\r\n\r\nok"


class FakeEmulator:
    """Answers each request with what `answer` returns; None hangs up instead."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.connections: list[socket.socket] = []
        self.answer: Callable[[bytes], bytes | None] = lambda _: OK
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def target(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/_aws/execute-api/api1/$default"

    def hang_up(self) -> None:
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def stop(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self.hang_up()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
            while request := read_request(stream):
                self.requests.append(request)
                answer = self.answer(self.requests[-1])
                if answer is None:
                    return
                connection.sendall(answer)


@pytest.fixture
def emulator() -> Iterator[FakeEmulator]:
    fake = FakeEmulator()
    yield fake
    fake.stop()


@pytest.fixture
def door(emulator: FakeEmulator) -> Iterator[Door]:
    door = Door(0, lambda: emulator.target, upstream_timeout=5)
    door.start()
    yield door
    door.stop()


@pytest.fixture
def client(door: Door) -> Iterator[http.client.HTTPConnection]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)) as connection:
        yield connection


def send_request(
    client: http.client.HTTPConnection,
    path: str = "/mcp",
    body: bytes | Iterator[bytes] | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    client.request("POST" if body else "GET", path, body, headers or {}, encode_chunked=False)
    with client.getresponse() as response:
        return response.status, response.read()


def read_request(stream: BinaryIO) -> bytes:
    lines = list(itertools.takewhile(lambda line: line not in (b"\r\n", b""), iter(stream.readline, None)))
    fields = dict(line.strip().lower().split(b": ", 1) for line in lines[1:])
    head = b"".join(lines)
    return head + b"\r\n" + stream.read(int(fields.get(b"content-length", b"0"))) if head else b""


def status_and_message(answer: tuple[int, bytes]) -> tuple[int, str]:
    return answer[0], json.loads(answer[1])["message"]


def send_raw(door: Door, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_a_request_reaches_the_api_in_its_path_form(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    assert send_request(client, "/mcp?a=b%20c", b"{}", {"X-Mine": "1"}) == (200, b"ok")
    request = emulator.requests[0]
    assert request.startswith(b"POST /_aws/execute-api/api1/$default/mcp?a=b%20c HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n{}")
    assert b"X-Mine: 1\r\n" in request


def test_the_door_sets_the_address_of_the_client(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    send_request(client, headers={"X-Forwarded-For": "203.0.113.7"})
    assert b"X-Forwarded-For: 127.0.0.1\r\n" in emulator.requests[0]
    assert b"203.0.113.7" not in emulator.requests[0]


def test_the_emulator_receives_its_own_host_name(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    send_request(client)
    assert emulator.requests[0].count(b"Host: ") == 1
    assert emulator.target.split("/")[2].encode() in emulator.requests[0]


def test_headers_of_an_answer_are_passed_on(client: http.client.HTTPConnection) -> None:
    client.request("GET", "/mcp")
    with client.getresponse() as response:
        assert response.getheader("X-Theirs") == "yes"


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
    with contextlib.closing(http.client.HTTPConnection("::1", door.port, timeout=10)) as client:
        assert send_request(client) == (200, b"ok")
    assert b"X-Forwarded-For: ::1\r\n" in emulator.requests[0]


def test_chunks_become_a_body_of_known_size(emulator: FakeEmulator, door: Door) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    send_raw(door, head + b"2\r\n{}\r\n0\r\n\r\n")
    assert b"Content-Length: 2\r\n" in emulator.requests[0]
    assert b"chunked" not in emulator.requests[0]
    assert emulator.requests[0].endswith(b"{}")


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


def test_a_body_at_the_limit_passes(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    assert send_request(client, body=b"x" * BODY_LIMIT)[0] == 200
    assert emulator.requests[0].endswith(b"x" * 1000)


def test_heads_over_the_limit_are_refused(client: http.client.HTTPConnection) -> None:
    assert status_and_message(send_request(client, headers={"X": "x" * 11_000})) == (
        431,
        "Request Header Fields Too Large",
    )


def test_malformed_requests_are_refused(door: Door) -> None:
    assert send_raw(door, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_late_answer_is_service_unavailable(emulator: FakeEmulator) -> None:
    late = threading.Event()
    emulator.answer = lambda _: OK if late.wait(10) else None
    door = Door(0, lambda: emulator.target, upstream_timeout=0.05)
    door.start()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)) as client:
        assert status_and_message(send_request(client)) == (503, "Service Unavailable")
    late.set()
    door.stop()


def test_without_an_emulator_the_service_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    door = Door(0, lambda: f"http://{address}/api", upstream_timeout=5)
    door.start()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)) as client:
        assert send_request(client)[0] == 503
    door.stop()


def test_a_crash_is_answered_as_by_api_gateway(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    told = b'{"errorMessage": "secret", "errorType": "X"}'
    emulator.answer = lambda _: b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: %d\r\n\r\n%s" % (len(told), told)
    assert status_and_message(send_request(client)) == (500, "Internal Server Error")


def test_another_502_passes_as_it_is(emulator: FakeEmulator, client: http.client.HTTPConnection) -> None:
    emulator.answer = lambda _: b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno"
    assert send_request(client) == (502, b"no")


def test_a_connection_closed_while_idle_is_replaced_unnoticed(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    send_request(client)
    emulator.hang_up()
    assert send_request(client) == (200, b"ok")
    assert len(emulator.requests) == 2


def test_a_request_on_a_connection_closed_at_its_reuse_is_sent_once_more(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    send_request(client)
    hang_ups = iter([None])
    emulator.answer = lambda _: next(hang_ups, OK)
    assert send_request(client, body=b"{}") == (200, b"ok")
    assert len(emulator.requests) == 3


def test_nothing_is_sent_again_after_a_byte_of_an_answer(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    send_request(client)
    emulator.answer = lambda _: hang_up_after(emulator, b"HTTP/1.1 20")
    assert send_request(client, body=b"{}")[0] == 503
    assert len(emulator.requests) == 2


def test_nothing_is_sent_again_on_a_connection_that_was_fresh(
    emulator: FakeEmulator, client: http.client.HTTPConnection
) -> None:
    emulator.answer = lambda _: None
    assert send_request(client, body=b"{}")[0] == 503
    assert len(emulator.requests) == 1


def hang_up_after(emulator: FakeEmulator, beginning: bytes) -> None:
    emulator.connections[-1].sendall(beginning)


def test_the_target_is_looked_up_for_every_request(emulator: FakeEmulator) -> None:
    targets = iter([emulator.target, emulator.target.replace("api1", "api2")])
    door = Door(0, lambda: next(targets), upstream_timeout=5)
    door.start()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)) as client:
        send_request(client)
        send_request(client)
    door.stop()
    assert [b"/api1/" in emulator.requests[0], b"/api2/" in emulator.requests[1]] == [True, True]


def test_stopping_the_door_completes_the_current_answer(emulator: FakeEmulator, door: Door) -> None:
    asked, answer_now = threading.Event(), threading.Event()

    def slowly(_: bytes) -> bytes | None:
        asked.set()
        return OK if answer_now.wait(10) else None

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
    Door(0, lambda: "").stop()
