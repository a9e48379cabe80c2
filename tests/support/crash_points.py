"""Crash points in one process: the moments before and after each call of a port, at which a test interferes."""

from collections.abc import Callable
from typing import Any

NEVER = 10_000


class ProcessKilled(BaseException):
    """Ends the process in which it is raised, as a kill of the kernel does: no `except Exception` stops it."""


class CrashPoints:
    """Numbers the crash points of one process and calls `interfere` at number `at`.

    After `kill` every further call of a port raises `Killed`, so that no cleanup of a dead process has an effect
    outside.
    """

    def __init__(self, at: int = NEVER, interfere: Callable[[], object] | None = None) -> None:
        self.passed_points: list[str] = []
        self._at = at
        self._interfere = interfere or self.kill
        self._is_dead = False

    @property
    def was_reached(self) -> bool:
        return len(self.passed_points) > self._at

    def kill(self) -> None:
        self._is_dead = True
        raise ProcessKilled

    def wrap_port(self, port: object) -> Any:
        """Return the same port with a crash point before and after each call."""
        return _Port(port, self)

    def call[Answer](self, name: str, act: Callable[[], Answer]) -> Answer:
        self._reach(f"before {name}")
        answer = act()
        self._reach(f"after {name}")
        return answer

    def _reach(self, name: str) -> None:
        if self._is_dead:
            raise ProcessKilled
        self.passed_points.append(name)
        if len(self.passed_points) - 1 == self._at:
            self._interfere()


class _Port:
    def __init__(self, port: object, points: CrashPoints) -> None:
        self._port = port
        self._points = points

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        def call(*positional: Any, **named: Any) -> Any:
            return self._points.call(name, lambda: method(*positional, **named))

        return call
