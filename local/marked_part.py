"""The part of a page that a command writes, between two marker lines."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """The lines of a page between the lines `begin` and `end`."""

    begin: str
    end: str

    def replaced(self, page: str, text: str) -> str:
        """Return the page with this text between the marks. Raise ValueError if the page does not have each once."""
        new_page, count = self._lines.subn(lambda _: text, page)
        if count != 1:
            raise ValueError(
                f"The page must have the lines {self.begin} and {self.end} once each, around the generated part."
            )
        return new_page

    def removed(self, page: str) -> str:
        """Return the page without the part; the page itself if it does not have the part."""
        return self._lines.sub("", page)

    @property
    def _lines(self) -> re.Pattern[str]:
        return re.compile(f"(?<={re.escape(self.begin)}\n).*?(?={re.escape(self.end)})", re.DOTALL)
