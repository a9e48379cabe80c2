"""Finds patterns that take far longer than a text is long: those that repeat a repetition, and those that can divide a
text between two repetitions in many ways.

A pattern becomes an automaton, and the automaton is searched for a loop that can be walked in two ways (exponential
time), or for two loops that read the same text with a way from the first to the second (polynomial time). Either is
slow only if the rest of the pattern may still fail. `Ambiguity in finite automata` by Weber and Seidl proves both
criteria.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from importlib import import_module
from re import error as pattern_error
from typing import Any

from signpost.hazards.model import Hazard
from signpost.records import dataclass
from signpost.schema.limits import LONGEST_PATTERN

# The parser of `re` has no public name; see `schema/limits.py`.
_parser: Any = import_module("re._parser")

MANY = 1000
"""Repetitions that count as unlimited."""
MOST_POSITIONS = 200
"""Positions of an automaton that is searched. No usual pattern has more; a larger one is only checked for loops in
loops."""
MOST_STEPS = 200_000
"""Steps of the search for the loops of one pattern. A search that needs more finds nothing."""
ADVICE = "Limit the repetitions, as in {1,64}, or let neighbours share no character."
_SAMPLES = "".join(map(chr, range(128))) + "\xa0é\u0416\u05d0\u4e2d\u2028\u0660\U0001f600"

type _Reads = Callable[[str], bool]
"""Whether an item of a pattern reads a character."""


def _is_word_character(character: str) -> bool:
    return character.isalnum() or character == "_"


_CATEGORIES: Mapping[str, _Reads] = {
    "CATEGORY_DIGIT": str.isdecimal,
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_WORD": _is_word_character,
}
_LOOKS = ("ASSERT", "ASSERT_NOT", "AT")

type _Positions = frozenset[int]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: whether it accepts the empty text, and the positions at which it may begin and end."""

    is_nullable: bool
    first: _Positions
    last: _Positions


_EMPTY = _Part(is_nullable=True, first=frozenset(), last=frozenset())


@lru_cache(maxsize=512)
def find_pattern_hazard(pattern: str) -> Hazard | None:
    """Return the hazard of a pattern; None if there is none, or if it is no pattern at all."""
    try:
        parsed = _parser.parse(pattern)
    except (pattern_error, RecursionError, OverflowError):
        return None
    if len(pattern) > LONGEST_PATTERN:
        return None  # refused elsewhere
    automaton = _Automaton(pattern)
    whole = automaton.add_sequence(list(parsed))
    ends = frozenset[int]() if _ends_anchored(list(parsed)) else whole.last
    start = automaton.add_start(whole) if not _begins_anchored(list(parsed)) else None
    if len(automaton.characters) > MOST_POSITIONS:
        return None
    slow = automaton.find_slowness(ends, start)
    if slow is None:
        return None
    return Hazard("slow_pattern", f"the pattern {pattern[:200]!r} {slow}. {ADVICE}")


@dataclass(slots=True)
class _Automaton:
    """The positions of a pattern, each with the sample characters that it reads and the positions that may follow."""

    pattern: str
    characters: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    follows: list[set[int]] = field(default_factory=list[set[int]])
    repeated: set[int] = field(default_factory=set[int])
    """The positions from which two repetitions, one inside the other, lead on to the same position."""
    steps_left: int = MOST_STEPS

    def add_sequence(self, items: Sequence[tuple[Any, Any]]) -> _Part:
        whole = _EMPTY
        for operation, argument in items:
            whole = self._join(whole, self._add_item(str(operation), argument))
        return whole

    def add_start(self, whole: _Part) -> int:
        """Add a position for the text before a match: a search tries the pattern at every character of a text."""
        start = self._add_position(frozenset(self._samples()))
        self._link([start], {start, *whole.first})
        return start

    def _add_item(self, operation: str, argument: Any) -> _Part:
        if operation in _LOOKS:
            return _EMPTY
        if operation == "SUBPATTERN":
            return self.add_sequence(list(argument[3]))
        if operation == "ATOMIC_GROUP":
            return self.add_sequence(list(argument))
        if operation == "BRANCH":
            return _join_branches([self.add_sequence(list(branch)) for branch in argument[1]])
        if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._add_repeat(*argument)
        position = self._add_position(frozenset(filter(_reader_of(operation, argument), self._samples())))
        return _Part(is_nullable=False, first=frozenset((position,)), last=frozenset((position,)))

    def _add_repeat(self, least: int, most: Any, items: Any) -> _Part:
        part = self.add_sequence(list(items))
        if int(most) > MANY:
            self.repeated.update(position for position in part.last if self.follows[position] & part.first)
            self._link(part.last, part.first)
        return _Part(is_nullable=part.is_nullable or least == 0, first=part.first, last=part.last)

    def _join(self, left: _Part, right: _Part) -> _Part:
        self._link(left.last, right.first)
        return _Part(
            is_nullable=left.is_nullable and right.is_nullable,
            first=left.first | right.first if left.is_nullable else left.first,
            last=left.last | right.last if right.is_nullable else right.last,
        )

    def _link(self, before: Iterable[int], after: Iterable[int]) -> None:
        following = set(after)
        for position in before:
            self.follows[position] |= following

    def _add_position(self, characters: frozenset[str]) -> int:
        self.characters.append(characters)
        self.follows.append(set())
        return len(self.characters) - 1

    def _samples(self) -> str:
        return _SAMPLES + self.pattern

    def find_slowness(self, ends: _Positions, start: int | None) -> str | None:
        looping = [position for position in range(len(self.follows)) if self._reaches(position, position)]
        waiting = [position for position in looping if position not in ends]
        if any(position in self.repeated or self._has_two_loops(position) for position in waiting if position != start):
            return "repeats a repetition: a short text can take it practically for ever"
        for later in waiting:
            for earlier in looping:
                if earlier != later and self._reads_alike(earlier, later):
                    return _describe_division(is_search=earlier == start)
        return None

    def _reaches(self, source: int, target: int) -> bool:
        return target in self._reachable(source, lambda position: self.follows[position])

    def _has_two_loops(self, position: int) -> bool:
        """Check whether one text leads from a position back to it in two ways."""
        pairs = self._reachable((position, position), self._next_pairs)
        apart = [pair for pair in pairs if pair[0] != pair[1]]
        return any((position, position) in self._reachable(pair, self._next_pairs) for pair in apart[:50])

    def _next_pairs(self, pair: tuple[int, int]) -> Iterator[tuple[int, int]]:
        for left in self.follows[pair[0]]:
            for right in self.follows[pair[1]]:
                if self.characters[left] & self.characters[right]:
                    yield left, right

    def _reads_alike(self, earlier: int, later: int) -> bool:
        """Check whether one text leads from the earlier position back to it, on to the later one, and from the later
        one back to it."""
        if not self._reaches(earlier, later):
            return False
        return (earlier, later, later) in self._reachable((earlier, earlier, later), self._next_triples)

    def _next_triples(self, triple: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
        for left, middle in self._next_pairs((triple[0], triple[1])):
            shared = self.characters[left] & self.characters[middle]
            for right in self.follows[triple[2]]:
                if shared & self.characters[right]:
                    yield left, middle, right

    def _reachable[Node](self, source: Node, next_nodes: Callable[[Node], Iterable[Node]]) -> set[Node]:
        """Return the nodes that one step or more leads to."""
        found: set[Node] = set()
        waiting = [source]
        while waiting and self.steps_left > 0:
            for node in next_nodes(waiting.pop()):
                self.steps_left -= 1
                if node not in found:
                    found.add(node)
                    waiting.append(node)
        return found


def _describe_division(*, is_search: bool) -> str:
    if is_search:
        return "begins with a repetition and not with `^`, so that it is tried again at each character of a text"
    return "can divide a text between two repetitions in many ways, so that a long text takes it very long"


def _join_branches(parts: Sequence[_Part]) -> _Part:
    return _Part(
        is_nullable=any(part.is_nullable for part in parts),
        first=frozenset[int]().union(*(part.first for part in parts)),
        last=frozenset[int]().union(*(part.last for part in parts)),
    )


def _reader_of(operation: str, argument: Any) -> _Reads:
    """Return the condition of the characters that an item reads. An unknown item reads every character."""
    readers: Mapping[str, Callable[[], _Reads]] = {
        "LITERAL": lambda: _reader_of_range(argument, argument),
        "NOT_LITERAL": lambda: _negate(_reader_of_range(argument, argument)),
        "ANY": lambda: _negate(_reader_of_range(ord("\n"), ord("\n"))),
        "IN": lambda: _reader_of_set(argument),
        "RANGE": lambda: _reader_of_range(*argument),
        "CATEGORY": lambda: _reader_of_category(str(argument)),
    }
    return readers[operation]() if operation in readers else _read_any


def _read_any(_character: str) -> bool:
    return True


def _negate(reads: _Reads) -> _Reads:
    def reads_others(character: str) -> bool:
        return not reads(character)

    return reads_others


def _reader_of_range(first: int, last: int) -> _Reads:
    def reads_range(character: str) -> bool:
        return first <= ord(character) <= last

    return reads_range


def _reader_of_set(items: Sequence[tuple[Any, Any]]) -> _Reads:
    readers = [_reader_of(str(operation), argument) for operation, argument in items if str(operation) != "NEGATE"]

    def reads_one(character: str) -> bool:
        return any(reads(character) for reads in readers)

    return _negate(reads_one) if len(readers) < len(items) else reads_one


def _reader_of_category(category: str) -> _Reads:
    reads = _CATEGORIES.get(category.replace("_NOT_", "_"), _read_any)
    return _negate(reads) if "_NOT_" in category else reads


def _begins_anchored(items: Sequence[tuple[Any, Any]]) -> bool:
    return bool(items) and _is_anchor(items[0], ("AT_BEGINNING", "AT_BEGINNING_STRING"))


def _ends_anchored(items: Sequence[tuple[Any, Any]]) -> bool:
    return bool(items) and _is_anchor(items[-1], ("AT_END", "AT_END_STRING"))


def _is_anchor(item: tuple[Any, Any], names: Sequence[str]) -> bool:
    operation, argument = str(item[0]), item[1]
    if operation == "SUBPATTERN" and len(argument[3]):
        return _is_anchor(argument[3][0 if "AT_BEGINNING" in names else -1], names)
    return operation == "AT" and str(argument) in names
