"""Capabilities: what is declared once and named in many places; and what is put there instead of the name."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass
from signpost.workflow.problems import Problem, error, or_rather
from signpost.workflow.written import NOWHERE, Place, Written, written

OWN_WINS = ("title", "description", "inputSchema", "executor", "reliability")
TOGETHER = ("tags", "aliases", "examples", "guards")
"""Lists to which what is nearer adds. Of guards all have to pass, those of the capability first."""
OF_TRANSITIONS = ("inputSchema", "executor", "reliability", "guards")
OF_ENTERING = ("executor", "reliability", "guards")


@dataclass(slots=True)
class Capabilities:
    declared: Mapping[str, Written]
    problems: list[Problem] = field(default_factory=list[Problem])
    _whole: dict[str, Written] = field(default_factory=dict[str, Written])

    def check(self) -> None:
        """Also those that nothing names."""
        for name, capability in self.declared.items():
            self._known(name)
            wraps, named = capability.get("wraps"), _reference_in(capability.get("executor"))
            if wraps and named:
                self._say(named, f"{name!r} wraps {wraps.text!r} and names {named.text!r}: keep one of them")

    def wrapping(self, name: Written, own: Written) -> Written:
        """What wraps a capability: all that it has, with what is its own on top or beside it."""
        below = self._named(name)
        return _over(below, own, (*OWN_WINS, *TOGETHER)) if below else own

    def inlined(self, holder: Written, taken: Sequence[str]) -> Written:
        """What holds an executor, with the capability in its place if the executor is the name of one."""
        reference = _reference_in(holder.get("executor"))
        if reference:
            self._check_own(holder.get("executor"), reference)
        below = self._named(reference) if reference else None
        if reference and not below:
            holder = holder.having(executor=_nothing(reference.place))
        return self._with_fallbacks(_over(below, holder, taken) if below else holder)

    def _check_own(self, executor: Written | None, reference: Written) -> None:
        """What is given with a reference says single settings, and names nothing else."""
        own = executor.get("executor") if executor else None
        if own and (other := _reference_in(own)):
            self._say(other, f"this executor names {reference.text!r} already: keep one of the two capabilities")

    def _with_fallbacks(self, holder: Written) -> Written:
        """Fallbacks may name capabilities too. Nobody gets past a guard because an executor stands in for another, so
        the guards of all of them count from the start."""
        reliability = holder.get("reliability")
        fallback = reliability.get("fallback") if reliability else None
        candidates = fallback.get("executors") if fallback else None
        if not reliability or not fallback or not candidates or not any(map(_reference_in, candidates.entries)):
            return holder
        guards: list[Written] = []
        executors = [self._candidate(one, guards) for one in candidates.entries]
        listed = Written(executors, candidates.place)
        guarded = _joined(Written(guards, holder.place), holder.get("guards")) if guards else holder.get("guards")
        return holder.having(reliability=reliability.having(fallback=fallback.having(executors=listed)), guards=guarded)

    def _candidate(self, executor: Written, guards: list[Written]) -> Written:
        reference = _reference_in(executor)
        if reference is None:
            return executor
        named = self._named(reference)
        if named is None:
            return _nothing(reference.place)
        if found := named.get("guards"):
            guards += found.entries if isinstance(found.content, list) else [found]
        return _executor(named.get("executor"), executor)

    def _named(self, reference: Written) -> Written | None:
        """None, and said, if there is none of this name."""
        name = reference.text
        if name is None:
            self._say(reference, "a capability is named by a text")
        elif name not in self.declared:
            self._say(reference, f"there is no capability {name!r}{or_rather(name, list(self.declared))}")
        else:
            return self._known(name)
        return None

    def _known(self, name: str) -> Written:
        """With everything that it wraps, from the innermost to itself."""
        for one in reversed(self._chain(name)):
            own = self.declared[one]
            wraps = _wrapped_by(own)
            below = self._whole.get(wraps.text) if wraps and wraps.text else None
            self._whole[one] = _over(below, own, (*OWN_WINS, *TOGETHER)) if below else _with_executor(own)
        return self._whole[name]

    def _chain(self, name: str) -> Sequence[str]:
        """It, and what it wraps, as far as that is there, not known yet and not in a cycle."""
        chain: list[str] = []
        while name not in self._whole:
            chain.append(name)
            wraps = _wrapped_by(self.declared[name])
            if wraps is None:
                break
            if wraps.text is None or wraps.text not in self.declared:
                self._named(wraps)
                break
            if wraps.text in chain:
                circle = " → ".join((*chain[chain.index(wraps.text) :], wraps.text))
                self._say(wraps, f"the capabilities wrap each other in a cycle: {circle}")
                break
            name = wraps.text
        return chain

    def _say(self, at: Written, message: str) -> None:
        self.problems.append(error(at.place, message))


def _wrapped_by(capability: Written) -> Written | None:
    return capability.get("wraps") or _reference_in(capability.get("executor"))


def _reference_in(executor: Written | None) -> Written | None:
    return executor.get("capability") if executor else None


def _over(below: Written, own: Written, taken: Sequence[str]) -> Written:
    members = dict(own.without("wraps", "capability").members)
    for name in taken:
        found, mine = below.get(name), own.get(name)
        if found is None:
            continue
        if name in TOGETHER:
            members[name] = _joined(found, mine)
        elif name == "executor":
            members[name] = _executor(found, mine)
        elif mine is None:
            members[name] = found
    return Written(members, own.place, {**below.names, **own.names})


def _joined(below: Written, own: Written | None) -> Written:
    if own is None:
        return below
    first, then = (one.entries if isinstance(one.content, list) else [one] for one in (below, own))
    seen = [entry.text for entry in first if entry.text]
    return Written([*first, *(entry for entry in then if entry.text not in seen)], own.place)


def _executor(below: Written | None, own: Written | None) -> Written:
    """An executor that is given with a reference is the one that is meant; single settings count above those of the
    capability."""
    if own is None:
        return below or _nothing()
    if _reference_in(own) is None:
        return own
    mine = own.get("executor") or own.without("capability")
    if "kind" in mine.members or below is None:
        return mine if mine.members else _nothing(own.place)
    return Written({**below.members, **mine.members}, below.place, {**below.names, **mine.names})


def _with_executor(capability: Written) -> Written:
    """It does nothing if nothing says what it does, or what it wraps is not there."""
    executor = capability.get("executor")
    return (
        capability
        if executor and not _reference_in(executor)
        else capability.having(executor=_nothing(capability.place))
    )


def _nothing(place: Place = NOWHERE) -> Written:
    return written({"kind": "noop"}, place)
