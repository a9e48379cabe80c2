"""Routes, events and answers of an HTTP API."""

import base64
import json
from typing import Any

import pytest

from local.http_api import ApiRequest, Route, build_event, find_route, read_result
from local.wire import Answer, Fields, Head

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:gateway"
NOW = 1_760_000_000.25


def event_of(
    path: str = "/mcp", fields: Fields = (), body: bytes = b"", *, method: str = "POST", key: str = "$default"
) -> Any:
    head = Head(method, path, 1, (("Host", "localhost:8765"), *fields))
    request = ApiRequest(head, body, "127.0.0.1", "api1", "request-1")
    return json.loads(json.dumps(build_event(Route(key, FUNCTION), request, NOW)))


def answer_of(**result: Any) -> Answer:
    return read_result(json.dumps(result).encode())


def key_of_taken_route(method: str, path: str, *keys: str) -> str | None:
    route = find_route([Route(key, FUNCTION) for key in keys], method, path)
    return route.key if route else None


KEYS = ("GET /items", "ANY /items", "ANY /items/{id}", "ANY /items/{rest+}", "GET /items/all")


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "/items", "GET /items"),
        ("POST", "/items", "ANY /items"),
        ("OPTIONS", "/items", "ANY /items"),
        ("GET", "/items/all", "GET /items/all"),
        ("GET", "/items/7", "ANY /items/{id}"),
        ("GET", "/items/7/parts/1", "ANY /items/{rest+}"),
        ("GET", "//items", "GET /items"),
        ("GET", "/items/", None),
        ("GET", "/Items", None),
        ("GET", "/", None),
        ("GET", "/other", None),
    ],
)
def test_the_most_specific_route_takes_a_request(method: str, path: str, key: str | None) -> None:
    assert key_of_taken_route(method, path, *KEYS) == key
    assert key_of_taken_route(method, path, *KEYS, "$default") == (key or "$default")


def test_variables_of_a_route_are_in_the_event() -> None:
    assert event_of("/items/7/a%20b", key="ANY /items/{id}/{rest+}")["pathParameters"] == {"id": "7", "rest": "a b"}
    assert "pathParameters" not in event_of("/items")


def test_an_event_describes_its_request() -> None:
    event = event_of(fields=(("User-Agent", "agent/1"),))
    assert event["version"] == "2.0"
    assert event["requestContext"] == {
        "accountId": "000000000000",
        "apiId": "api1",
        "domainName": "localhost:8765",
        "domainPrefix": "localhost:8765",
        "http": {
            "method": "POST",
            "path": "/mcp",
            "protocol": "HTTP/1.1",
            "sourceIp": "127.0.0.1",
            "userAgent": "agent/1",
        },
        "requestId": "request-1",
        "routeKey": "$default",
        "stage": "$default",
        "time": "09/Oct/2025:08:53:20 +0000",
        "timeEpoch": 1_760_000_000_250,
    }


def test_values_of_one_header_are_joined_by_commas_and_names_are_lower_case() -> None:
    event = event_of(fields=(("Accept", "text/html"), ("ACCEPT", "*/*"), ("X-One", "1")))
    assert (event["headers"]["accept"], event["headers"]["x-one"]) == ("text/html,*/*", "1")


def test_cookies_are_a_list_and_no_header() -> None:
    event = event_of(fields=(("Cookie", "a=1; b=2"), ("cookie", "c=3")))
    assert event["cookies"] == ["a=1", "b=2", "c=3"]
    assert "cookie" not in event["headers"]
    assert "cookies" not in event_of()


def test_headers_of_one_connection_do_not_reach_the_function() -> None:
    event = event_of(fields=(("Connection", "keep-alive, x-hop"), ("X-Hop", "1"), ("TE", "trailers"), ("X-End", "1")))
    assert not {"connection", "x-hop", "te"} & set(event["headers"])
    assert event["headers"]["x-end"] == "1"


def test_values_of_one_query_parameter_are_joined_by_commas() -> None:
    event = event_of("/mcp?a=1&a=b%2Cc&empty=&plus=x+y")
    assert event["rawQueryString"] == "a=1&a=b%2Cc&empty=&plus=x+y"
    assert event["queryStringParameters"] == {"a": "1,b,c", "empty": "", "plus": "x y"}


def test_a_request_without_a_query_has_no_parameters() -> None:
    event = event_of()
    assert event["rawQueryString"] == ""
    assert "queryStringParameters" not in event


@pytest.mark.parametrize(
    ("path", "raw"),
    [("/a%20b", "/a b"), ("/caf%C3%A9", "/café"), ("/a%252Fb", "/a%252Fb"), ("/mcp/", "/mcp/"), ("//mcp", "//mcp")],
)
def test_a_path_is_decoded_but_for_percent_signs(path: str, raw: str) -> None:
    event = event_of(path)
    assert event["rawPath"] == event["requestContext"]["http"]["path"] == raw


@pytest.mark.parametrize(
    ("content_type", "is_text"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("text/plain", True),
        ("application/xml", True),
        ("application/javascript", True),
        ("application/x-www-form-urlencoded", False),
        ("application/octet-stream", False),
        ("application/vnd.api+json", False),
        ("multipart/form-data; boundary=x", False),
        (None, False),
    ],
)
def test_only_bodies_of_text_types_come_as_text(content_type: str | None, is_text: bool) -> None:
    fields = (("Content-Type", content_type),) if content_type else ()
    event = event_of(fields=fields, body=b"{}")
    assert event["isBase64Encoded"] is not is_text
    assert event["body"] == ("{}" if is_text else "e30=")


@pytest.mark.parametrize("body", [b"\xff", b'{"a": "\xc3("}', b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_come_in_base64_whatever_their_type(body: bytes) -> None:
    event = event_of(fields=(("Content-Type", "application/json"),), body=body)
    assert (event["isBase64Encoded"], base64.b64decode(event["body"])) == (True, body)


def test_a_request_without_a_body_has_none_in_its_event() -> None:
    event = event_of(method="GET")
    assert "body" not in event
    assert event["isBase64Encoded"] is False
    assert event["headers"]["content-length"] == "0"


def test_an_answer_has_the_status_headers_and_body_of_the_result() -> None:
    answer = answer_of(statusCode=201, headers={"Content-Type": "text/css", "X-Number": 7}, body="é")
    assert (answer.status, answer.reason, answer.body) == (201, "Created", "é".encode())
    assert answer.fields == (("content-type", "text/css"), ("x-number", "7"))


def test_a_body_in_base64_is_decoded() -> None:
    assert answer_of(statusCode=200, body="/w==", isBase64Encoded=True).body == b"\xff"


def test_each_cookie_of_a_result_is_a_header() -> None:
    answer = answer_of(statusCode=200, cookies=["a=1", "b=2"])
    assert [value for name, value in answer.fields if name == "set-cookie"] == ["a=1", "b=2"]


@pytest.mark.parametrize(
    "name", ["WWW-Authenticate", "www-authenticate", "Server", "Date", "Content-Length", "Connection"]
)
def test_some_headers_of_a_result_get_another_name(name: str) -> None:
    fields = dict(answer_of(statusCode=401, headers={name: "x"}).fields)
    assert fields[f"x-amzn-remapped-{name.lower()}"] == "x"
    assert name.lower() not in fields


def test_headers_of_one_connection_do_not_leave_a_result() -> None:
    fields = dict(answer_of(statusCode=200, headers={"Transfer-Encoding": "chunked", "Upgrade": "h2c"}).fields)
    assert set(fields) == {"content-type"}


def test_a_result_without_a_status_is_the_body() -> None:
    answer = answer_of(message="hello")
    assert (answer.status, json.loads(answer.body)) == (200, {"message": "hello"})
    assert answer.fields == (("Content-Type", "application/json"),)
    assert read_result(b'"text"').body == b"text"


@pytest.mark.parametrize(
    "result",
    [
        {"statusCode": "abc"},
        {"statusCode": 200.5},
        {"statusCode": True},
        {"statusCode": 999},
        {"statusCode": 200, "headers": ["a"]},
        {"statusCode": 200, "headers": {"X": "a\r\nY: b"}},
        {"statusCode": 200, "headers": {"X Y": "a"}},
        {"statusCode": 200, "body": {"a": 1}},
        {"statusCode": 200, "body": "%%%", "isBase64Encoded": True},
        {"statusCode": 200, "cookies": "a=1"},
    ],
)
def test_a_result_that_is_no_answer_is_an_internal_error(result: dict[str, Any]) -> None:
    answer = answer_of(**result)
    assert (answer.status, json.loads(answer.body)) == (500, {"message": "Internal Server Error"})


def test_a_result_that_is_no_json_is_an_internal_error() -> None:
    assert read_result(b"oops").status == 500
