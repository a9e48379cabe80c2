"""The form of function ids that toolkits accept."""

import re

FUNCTION_ID = re.compile(r"[a-z0-9_-]+(?:::[a-z0-9_-]+)*")


def is_function_id(text: str) -> bool:
    return FUNCTION_ID.fullmatch(text) is not None
