"""Capabilities: members that are declared once and referred to by name. Here they replace the references."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.records import dataclass
from signpost.workflow.authoring.problems import Problem, error, suggestion_for
from signpost.workflow.authoring.source_tree import NOWHERE, SourceNode, SourcePlace, build_source_node

OVERRIDING_MEMBERS = ("title", "description", "inputSchema", "executor", "reliability")
COMBINED_MEMBERS = ("tags", "aliases", "examples", "guards")
"""Lists that are joined: the entries of the capability, then those of its wrapper or of the transition that refers to
it. All guards have to pass, those of the capability first."""
TRANSITION_MEMBERS = ("inputSchema", "executor", "reliability", "guards")
ON_ENTER_MEMBERS = ("executor", "reliability", "guards")


@dataclass(slots=True)
class CapabilityResolver:
    """Resolves references to the declared capabilities, and collects the problems with them."""

    declared: Mapping[str, SourceNode]
    problems: list[Problem] = field(default_factory=list[Problem])
    _resolved: dict[str, SourceNode] = field(default_factory=dict[str, SourceNode])

    def check(self) -> None:
        """Resolve all capabilities, so that problems of unused ones are reported too."""
        for name, capability in self.declared.items():
            self._resolve(name)
            wraps, reference = capability.get("wraps"), _reference_in(capability.get("executor"))
            if wraps and reference:
                self._add_problem(
                    reference, f"{name!r} wraps {wraps.text!r}, but its executor refers to {reference.text!r}: keep one"
                )

    def resolve_wrapper(self, name: SourceNode, wrapper: SourceNode) -> SourceNode:
        """Return the wrapper with all members of the capability, which its own members override or extend."""
        capability = self._find(name)
        return (
            _merge_capability(capability, wrapper, (*OVERRIDING_MEMBERS, *COMBINED_MEMBERS)) if capability else wrapper
        )

    def inline(self, holder: SourceNode, inherited_members: Sequence[str]) -> SourceNode:
        """Return the holder of an executor, with the members of the capability in place of a reference to it."""
        reference = _reference_in(holder.get("executor"))
        if reference:
            self._check_own_executor(holder.get("executor"), reference)
        capability = self._find(reference) if reference else None
        if reference and not capability:
            holder = holder.with_members(executor=_noop_executor(reference.place))
        return self._inline_fallbacks(
            _merge_capability(capability, holder, inherited_members) if capability else holder
        )

    def _check_own_executor(self, executor: SourceNode | None, reference: SourceNode) -> None:
        """Check that the executor beside a reference has single settings only, and no reference of its own."""
        own = executor.get("executor") if executor else None
        if own and (other := _reference_in(own)):
            self._add_problem(
                other, f"this executor already refers to {reference.text!r}: keep one of the two capabilities"
            )

    def _inline_fallbacks(self, holder: SourceNode) -> SourceNode:
        """Replace references to capabilities in the fallback executors.

        The guards of all these capabilities are checked from the start, so that no caller passes a guard because one
        executor stands in for another.
        """
        reliability = holder.get("reliability")
        fallback = reliability.get("fallback") if reliability else None
        candidates = fallback.get("executors") if fallback else None
        if not reliability or not fallback or not candidates or not any(map(_reference_in, candidates.entries)):
            return holder
        guards: list[SourceNode] = []
        executors = [self._inline_fallback(candidate, guards) for candidate in candidates.entries]
        inlined = SourceNode(executors, candidates.place)
        merged_guards = (
            _merge_lists(SourceNode(guards, holder.place), holder.get("guards")) if guards else holder.get("guards")
        )
        return holder.with_members(
            reliability=reliability.with_members(fallback=fallback.with_members(executors=inlined)),
            guards=merged_guards,
        )

    def _inline_fallback(self, executor: SourceNode, guards: list[SourceNode]) -> SourceNode:
        reference = _reference_in(executor)
        if reference is None:
            return executor
        capability = self._find(reference)
        if capability is None:
            return _noop_executor(reference.place)
        if own_guards := capability.get("guards"):
            guards += own_guards.entries if isinstance(own_guards.content, list) else [own_guards]
        return _merge_executor(capability.get("executor"), executor)

    def _find(self, reference: SourceNode) -> SourceNode | None:
        """Return the resolved capability that a reference names; report a problem and return None if there is none."""
        name = reference.text
        if name is None:
            self._add_problem(reference, "the name of a capability must be a text")
        elif name not in self.declared:
            self._add_problem(reference, f"there is no capability {name!r}{suggestion_for(name, list(self.declared))}")
        else:
            return self._resolve(name)
        return None

    def _resolve(self, name: str) -> SourceNode:
        """Merge a capability with all that it wraps, beginning at the innermost one."""
        for wrapper_name in reversed(self._wrap_chain(name)):
            wrapper = self.declared[wrapper_name]
            wrapped_name = _wrapped_name_of(wrapper)
            wrapped = self._resolved.get(wrapped_name.text) if wrapped_name and wrapped_name.text else None
            self._resolved[wrapper_name] = (
                _merge_capability(wrapped, wrapper, (*OVERRIDING_MEMBERS, *COMBINED_MEMBERS))
                if wrapped
                else _fill_executor(wrapper)
            )
        return self._resolved[name]

    def _wrap_chain(self, name: str) -> Sequence[str]:
        """List the name and the names that it wraps in turn, up to one that is resolved, missing or part of a cycle."""
        chain: list[str] = []
        while name not in self._resolved:
            chain.append(name)
            wraps = _wrapped_name_of(self.declared[name])
            if wraps is None:
                break
            if wraps.text is None or wraps.text not in self.declared:
                self._find(wraps)
                break
            if wraps.text in chain:
                cycle = " → ".join((*chain[chain.index(wraps.text) :], wraps.text))
                self._add_problem(wraps, f"the capabilities wrap each other in a cycle: {cycle}")
                break
            name = wraps.text
        return chain

    def _add_problem(self, node: SourceNode, message: str) -> None:
        self.problems.append(error(node.place, message))


def _wrapped_name_of(capability: SourceNode) -> SourceNode | None:
    return capability.get("wraps") or _reference_in(capability.get("executor"))


def _reference_in(executor: SourceNode | None) -> SourceNode | None:
    return executor.get("capability") if executor else None


def _merge_capability(capability: SourceNode, holder: SourceNode, inherited_members: Sequence[str]) -> SourceNode:
    members = dict(holder.without("wraps", "capability").members)
    for name in inherited_members:
        inherited, own = capability.get(name), holder.get(name)
        if inherited is None:
            continue
        if name in COMBINED_MEMBERS:
            members[name] = _merge_lists(inherited, own)
        elif name == "executor":
            members[name] = _merge_executor(inherited, own)
        elif own is None:
            members[name] = inherited
    return SourceNode(members, holder.place, {**capability.name_places, **holder.name_places})


def _merge_lists(inherited: SourceNode, own: SourceNode | None) -> SourceNode:
    if own is None:
        return inherited
    first, second = (node.entries if isinstance(node.content, list) else [node] for node in (inherited, own))
    seen = [entry.text for entry in first if entry.text]
    return SourceNode([*first, *(entry for entry in second if entry.text not in seen)], own.place)


def _merge_executor(inherited: SourceNode | None, own: SourceNode | None) -> SourceNode:
    """Merge the executor of a capability with the executor of its holder.

    An executor without a reference, or with a kind beside it, replaces that of the capability. Single settings beside
    a reference override those of the capability.
    """
    if own is None:
        return inherited or _noop_executor()
    if _reference_in(own) is None:
        return own
    overrides = own.get("executor") or own.without("capability")
    if "kind" in overrides.members or inherited is None:
        return overrides if overrides.members else _noop_executor(own.place)
    return SourceNode(
        {**inherited.members, **overrides.members}, inherited.place, {**inherited.name_places, **overrides.name_places}
    )


def _fill_executor(capability: SourceNode) -> SourceNode:
    """Add an executor that does nothing to a capability without one, or with a reference that cannot be resolved."""
    executor = capability.get("executor")
    return (
        capability
        if executor and not _reference_in(executor)
        else capability.with_members(executor=_noop_executor(capability.place))
    )


def _noop_executor(place: SourcePlace = NOWHERE) -> SourceNode:
    return build_source_node({"kind": "noop"}, place)
