"""Blocks of content, and what of them MCP has no form for."""

from datetime import UTC, datetime
from typing import Any

import pytest

from signpost.calling.wire_fields import BLOCKS, is_block
from signpost.model import JsonObject
from signpost.toolkit import Content

WHEN = datetime(2027, 1, 31, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "block"),
    [
        (Content.text("Ahoy."), {"type": "text", "text": "Ahoy."}),
        (Content.image(b"\x00\xff", "image/png"), {"type": "image", "data": "AP8=", "mimeType": "image/png"}),
        (Content.audio(b"\x00\xff", "audio/wav"), {"type": "audio", "data": "AP8=", "mimeType": "audio/wav"}),
        (
            Content.resource("iii://a", text="A", mime_type="text/plain"),
            {"type": "resource", "resource": {"uri": "iii://a", "mimeType": "text/plain", "text": "A"}},
        ),
        (
            Content.resource("iii://a", blob=b"\x00"),
            {"type": "resource", "resource": {"uri": "iii://a", "blob": "AA=="}},
        ),
        (
            Content.link("iii://a", "a", title="A", description="An a.", mime_type="text/plain", size=3),
            {
                "type": "resource_link", "uri": "iii://a", "name": "a", "title": "A", "description": "An a.", "size": 3,
                "mimeType": "text/plain",
            },
        ),
    ],
)  # fmt: skip
def test_each_kind_of_content_is_a_block_of_mcp(content: Content, block: JsonObject) -> None:
    assert content.block == block
    assert is_block(content.block)
    assert content == Content(block)


def test_content_has_a_method_for_every_kind_of_block() -> None:
    methods = {"text": "text", "image": "image", "audio": "audio", "resource": "resource", "resource_link": "link"}
    assert methods.keys() == BLOCKS.keys()
    assert all(hasattr(Content, method) for method in methods.values())


def test_a_block_has_audience_priority_and_last_modified() -> None:
    block = Content.text("a", audience=["assistant", "user"], priority=0.5, last_modified=WHEN).block
    annotations = {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2027-01-31T08:00:00+00:00"}
    assert block == {"type": "text", "text": "a", "annotations": annotations}
    assert Content.text("a", last_modified="2027-01-31T08:00:00Z").block["annotations"] == {
        "lastModified": "2027-01-31T08:00:00+00:00"
    }
    assert Content.image(b"", "image/png", priority=1).block["annotations"] == {"priority": 1}


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"audience": ["everybody"]}, "audience has 'everybody'"),
        ({"audience": "user"}, "audience must be a list"),
        ({"priority": 1.5}, "priority must be a number from 0 to 1"),
        ({"priority": True}, "priority must be a number"),
        ({"last_modified": "soon"}, "soon"),
        ({"last_modified": datetime(2027, 1, 31)}, "last_modified must have a time zone"),  # noqa: DTZ001 - that is the point
    ],
)
def test_invalid_annotations_of_a_block_are_refused(about: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Content.text("a", **about)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Content.text(5), "text must be a text"),  # pyright: ignore[reportArgumentType] - that is what is wrong
        (lambda: Content.image("AP8=", "image/png"), "data must be bytes"),  # pyright: ignore[reportArgumentType] - likewise
        (lambda: Content.image(b"", "png"), "'png' does not"),
        (lambda: Content.resource("iii://a"), "either text or blob"),
        (lambda: Content.resource("iii://a", text="", blob=b""), "either text or blob"),
    ],
)
def test_invalid_content_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"type": "text"},
        {"type": ["text"], "text": "a"},
        {"type": "text", "text": 5},
        {"type": "image", "data": "AP8="},
        {"type": "video", "data": "AP8=", "mimeType": "video/mp4"},
        {"type": "resource", "resource": {"uri": "iii://a"}},
        {"type": "resource", "resource": "iii://a"},
        {"type": "resource_link", "uri": "iii://a"},
    ],
)
def test_an_invalid_block_is_not_recognised_as_one(block: JsonObject) -> None:
    assert not is_block(block)
