"""The part of a page that a command writes: the lines between two marks."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarkedPart:
    begin: str
    end: str

    def replaced(self, page: str, text: str) -> str:
        """The page with this text between the marks. Raises ValueError if the page does not have them once."""
        found, count = self._lines.subn(lambda _: text, page)
        if count != 1:
            raise ValueError(
                f"The page needs the lines {self.begin} and {self.end} once, with what is written between."
            )
        return found

    def removed(self, page: str) -> str:
        """The page without the part; the page itself if it has none."""
        return self._lines.sub("", page)

    @property
    def _lines(self) -> re.Pattern[str]:
        return re.compile(f"(?<={re.escape(self.begin)}\n).*?(?={re.escape(self.end)})", re.DOTALL)
