"""Finds the imports of the Python examples of a page, on which a test that runs the examples depends."""

import ast
import re
from collections.abc import Iterator

from local.affected.definitions import EVERYTHING, Import

_BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def imports_of_page(text: str) -> Iterator[Import]:
    """Find the imports of all Python examples. Examples that cannot be parsed, fragments or wrong on purpose, are left
    out."""
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
