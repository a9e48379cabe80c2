"""What the Python examples of a page import: a test that runs them needs it."""

import ast
import re
from collections.abc import Iterator

from local.affected.definitions import EVERYTHING, Import

_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def imports_of_page(text: str) -> Iterator[Import]:
    """An example that is no whole program, or wrong on purpose, imports nothing."""
    for block in _BLOCK.findall(text):
        try:
            tree = ast.parse(block)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    yield from (Import(alias.name, EVERYTHING) for alias in names)
                case ast.ImportFrom(module=str(module), names=names):
                    yield from (Import(module, alias.name) for alias in names)
                case _:
                    pass
