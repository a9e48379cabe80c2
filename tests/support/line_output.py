"""Output of numbers that a reader of a run needs, whether or not the test passes."""

from collections.abc import Callable

type ShowLine = Callable[[str], None]
