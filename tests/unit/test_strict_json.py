"""JSON that every reader understands alike."""

import pytest

from signpost import strict_json


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e400", "[-1e999]", "{", ""])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json.parse(text)
    with pytest.raises(ValueError, match=r"."):
        strict_json.parse_bytes(text.encode())


@pytest.mark.parametrize("data", [b'"\xff"', rb'"\ud800"', rb'{"\uDFFF": 1}', rb'["\udc00\ud800"]'])
def test_text_that_utf_8_cannot_encode_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json.parse_bytes(data)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert strict_json.parse_bytes(rb'"\ud83d\ude00"') == "\N{GRINNING FACE}"
    assert strict_json.parse_bytes(rb'"\\ud800"') == r"\ud800"


def test_a_repeated_key_is_refused_where_keys_are_unique() -> None:
    assert strict_json.parse_bytes(b'{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="repeated key"):
        strict_json.parse_bytes(b'[{"a": 1, "a": 2}]', unique_keys=True)


def test_values_with_half_of_a_surrogate_pair_are_found() -> None:
    assert strict_json.has_encodable_text({"a": ["\N{GRINNING FACE}"]})
    assert not strict_json.has_encodable_text({"a": ["\ud800"]})
    assert not strict_json.has_encodable_text({"\udfff": 1})
    assert (strict_json.byte_length("aé\ud800"), strict_json.is_encodable("aé")) == (6, True)
