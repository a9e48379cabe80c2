"""Which parts of a document are links to other documents."""

import pytest

from signpost.content.document_links import find_document_links

LINK = "iii://shop/guide"


@pytest.mark.parametrize(
    "text",
    [
        f"See {LINK}.", f"“{LINK}”", f"{LINK}—the guide", f"{LINK}。", f"«{LINK}»", f"_{LINK}_", f"__{LINK}__",
        f"~~{LINK}~~", f"**{LINK}**", f"_{LINK}_.", f"{LINK}\\", f'[it]({LINK} "title")', f"<{LINK}>", f"({LINK})",
        f"| {LINK}|", f"{LINK}, and more",
        f"**see {LINK}**", f"*see {LINK}*", f"`` ` `` {LINK}",
    ],
)  # fmt: skip
def test_a_link_ends_where_its_sentence_goes_on(text: str) -> None:
    assert list(find_document_links(text)) == [(1, LINK)]


def test_a_name_may_end_with_an_underscore() -> None:
    assert list(find_document_links("See iii://shop/_guide_ and iii://a_.")) == [
        (1, "iii://shop/_guide_"),
        (1, "iii://a_"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "iii://", "iii://shop/{id}", "iii://<name>", "iii://…", "iii://...", "iii://shop/...", "iii://shop/«id»",
        "iii://shop/*", f"`{LINK}`", f"``{LINK}``", f"```\n{LINK}\n```", f"~~~\n{LINK}\n~~~",
        f"> ```\n> {LINK}\n> ```", f"- ```text\n  {LINK}\n  ```", f"10. ```\n    {LINK}\n    ```",
    ],
)  # fmt: skip
def test_a_placeholder_and_code_are_no_links(text: str) -> None:
    assert list(find_document_links(text)) == []


def test_a_link_after_code_is_found_with_its_line() -> None:
    text = f"> ```\n> iii://code\n> ```\n\n- ~~~\n  iii://code\n  ~~~\n\n{LINK}"
    assert list(find_document_links(text)) == [(9, LINK)]
