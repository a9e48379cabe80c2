"""Exposures: capabilities that can be called without a workflow of their own. All of them are transitions of one state
of the workflow `proxy_default`, which leads back to itself."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from signpost.model import JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.capabilities import OWN_WINS, TOGETHER, Capabilities
from signpost.workflow.links import NO_ARGUMENTS
from signpost.workflow.problems import Problem, error
from signpost.workflow.written import Written, plain, written

READY = "ready"
RESULT = "lastResult"
FIXED: JsonObject = {"title": "Capabilities", "initialState": READY}
OF_EXPOSURES = (*OWN_WINS, *TOGETHER)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,199}")


def compiled(exposures: Written, capabilities: Capabilities) -> tuple[Written, Sequence[Problem]]:
    """The document of `proxy_default`."""
    compiling = _Compiling(capabilities)
    for exposure in exposures.entries:
        compiling.take(exposure)
    return _document(exposures, compiling.transitions), compiling.problems


def is_compiled(document: Written) -> bool:
    """Whether it is one that was made here, so that resolving what is resolved changes nothing."""
    fields = as_object(plain(document))
    transitions = transitions_in(fields)
    is_of_them = fields == document_of(transitions)
    return is_of_them and all(_NAME.fullmatch(name) and one.get("target") == READY for name, one in transitions.items())


def transitions_in(document: JsonObject) -> Mapping[str, JsonObject]:
    """By the name of the capability."""
    ready = as_object(as_object(document.get("states")).get(READY))
    return {name: as_object(one) for name, one in as_object(ready.get("transitions")).items()}


def document_of(transitions: Mapping[str, JsonObject]) -> JsonObject:
    """Made anew of transitions that were compiled here, maybe at different times."""
    return {**FIXED, "states": {READY: {"transitions": transitions}}}


def _document(exposures: Written, transitions: Mapping[str, Written]) -> Written:
    document = written({**FIXED, "states": {READY: {}}}, exposures.place)
    places = {name: one.place for name, one in transitions.items()}
    ready = Written({"transitions": Written(transitions, exposures.place, places)}, exposures.place)
    return document.having(states=document.members["states"].having(**{READY: ready}))


@dataclass(slots=True)
class _Compiling:
    capabilities: Capabilities
    transitions: dict[str, Written] = field(default_factory=dict[str, Written])
    problems: list[Problem] = field(default_factory=list[Problem])

    def take(self, exposure: Written) -> None:
        if not exposure.is_mapping:
            self.problems.append(error(exposure.place, "an exposure is a mapping with a `name` or a `capability`"))
            return
        name = exposure.get("as") or exposure.get("name") or exposure.get("capability")
        if name is None or name.text is None or not _NAME.fullmatch(name.text):
            what = "an exposure needs a `name` (or `capability`, and `as` for another name)"
            place = name.place if name else exposure.place
            self.problems.append(error(place, f"{what} of at most 200 letters, digits and _.-, with a letter first"))
        elif name.text in self.transitions:
            self.problems.append(error(name.place, f"{name.text!r} is exposed already: give one of them another `as`"))
        else:
            self.transitions[name.text] = self._transition(exposure)

    def _transition(self, exposure: Written) -> Written:
        capability = exposure.get("capability")
        whole = self.capabilities.wrapping(capability, exposure) if capability else exposure
        whole = self.capabilities.inlined(whole, OF_EXPOSURES)
        place = whole.place
        taken = {name: member for name in OF_EXPOSURES if (member := whole.get(name))}
        fixed = {
            "target": written(READY, place),
            "output": written({RESULT: "$"}, place),
        }
        filled = {"inputSchema": written(NO_ARGUMENTS, place), "executor": written({"kind": "noop"}, place)}
        return Written({**filled, **taken, **fixed}, place, whole.names)
