"""Rewrites the steps of a workflow document: its transitions and the `onEnter` of its states."""

from collections.abc import Callable
from dataclasses import replace

from signpost.workflow.authoring.source_tree import SourceNode

type Rewrite = Callable[[SourceNode], SourceNode]


def rewrite_steps(document: SourceNode, *, on_enter: Rewrite, transition: Rewrite) -> SourceNode:
    """Return the document with each `onEnter` and each transition rewritten. A part that is no mapping stays."""

    def rewrite_state(state: SourceNode) -> SourceNode:
        entry, transitions = state.get("onEnter"), state.get("transitions")
        return state.with_members(
            onEnter=on_enter(entry) if entry and entry.is_mapping else None,
            transitions=_rewrite_members(transitions, transition) if transitions else None,
        )

    states = document.get("states")
    return document.with_members(states=_rewrite_members(states, rewrite_state) if states else None)


def _rewrite_members(node: SourceNode, rewrite: Rewrite) -> SourceNode:
    if not node.is_mapping:
        return node
    changed = {name: rewrite(member) if member.is_mapping else member for name, member in node.members.items()}
    return replace(node, content=changed)
