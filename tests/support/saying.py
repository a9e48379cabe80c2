"""Numbers that a reader of a run wants to see, whether or not the test passes."""

from collections.abc import Callable

type Say = Callable[[str], None]
