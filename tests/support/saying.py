"""Output of numbers that a reader of a run needs, whether or not the test passes."""

from collections.abc import Callable

type Say = Callable[[str], None]
