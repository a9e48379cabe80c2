"""Content, schemas and requests for input that both the functions for the conformance suite and the provider for tests
of the protocol answer with."""

import base64
import struct
import zlib

from signpost.model import JsonObject

TENANT = "fixtures"
"""The tenant that sees the fixtures, so that they cannot be mistaken for the content of a deployment."""
STATIC_TEXT = "test://static-text"
STATIC_BINARY = "test://static-binary"
TEMPLATE = "test://template/{id}/data"
BINARY = b"not a picture"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _build_red_pixel() -> bytes:
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixel = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixel) + _chunk(b"IEND", b"")


def _build_silence() -> bytes:
    data = bytes(8)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    wave = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(wave)) + wave


RED_PIXEL, SILENCE = _build_red_pixel(), _build_silence()
"""A picture as PNG, and a sound as WAV."""
IMAGE: JsonObject = {"type": "image", "data": base64.b64encode(RED_PIXEL).decode(), "mimeType": "image/png"}
AUDIO: JsonObject = {"type": "audio", "data": base64.b64encode(SILENCE).decode(), "mimeType": "audio/wav"}


def build_text(words: str) -> JsonObject:
    return {"type": "text", "text": words}


def build_embedded_resource(uri: str, mime_type: str, words: str) -> JsonObject:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


def build_question(message: str, name: str, kind: str = "string") -> JsonObject:
    """Return an elicitation of one value."""
    schema: JsonObject = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def build_sampling(words: str, longest: int) -> JsonObject:
    message: JsonObject = {"role": "user", "content": build_text(words)}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": longest}}


ROOTS: JsonObject = {"method": "roots/list", "params": {}}


MIRRORED_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "limit": {"type": "integer"}},
}
RICH_SCHEMA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
