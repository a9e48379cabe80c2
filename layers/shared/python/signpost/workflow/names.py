"""A manifest held against its form: names that nobody reads, values that nobody takes, and kinds, connections and
definitions that do not exist."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from signpost.model import PROXY, JsonObject, as_object
from signpost.records import dataclass
from signpost.workflow.expressions import FORM
from signpost.workflow.forms import COMMON, EXTRA, NEEDED, SETTINGS, schema
from signpost.workflow.guards import DEEPEST, Expression, NotUnderstood, guard_of
from signpost.workflow.problems import Problem, or_rather, warning
from signpost.workflow.written import Written, plain

INSTEAD: Mapping[tuple[str, str], str] = {
    ("onTimeout", "executor"): "nothing is run by a timeout itself: give its target an `onEnter`",
    ("onTimeout", "output"): "nothing is kept by a timeout itself: give its target an `onEnter`",
    ("proxy", "import"): "tools are not imported: name those that are wanted under `expose`",
}
LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Spot:
    """Something in a manifest that has a form."""

    called: str
    kind: str
    """The name of its form; `` for one that has none."""
    form: JsonObject
    written: Written
    guards_around: int = 0


def spots(manifest: Written) -> Iterator[Spot]:
    """All there are, each before what is in it."""
    form = schema()
    forms = as_object(form["$defs"])
    waiting = [Spot("the manifest", "", form, manifest)]
    while waiting:
        spot = waiting.pop()
        yield spot
        waiting += reversed([_formed(inner, forms) for inner in _within(spot)])


def _within(spot: Spot) -> Iterator[Spot]:
    known, others = as_object(spot.form.get("properties")), spot.form.get("additionalProperties")
    inside = spot.guards_around + (spot.kind == "guard")
    for name, member in spot.written.members.items():
        form = known.get(name, others)
        if isinstance(form, Mapping):
            yield Spot(name, "", form, member, inside)
    for place, entry in enumerate(spot.written.entries):
        yield Spot(f"{spot.called}[{place}]", "", as_object(spot.form.get("items")), entry, inside)


def _formed(spot: Spot, forms: JsonObject) -> Spot:
    reference = spot.form.get("$ref")
    if not isinstance(reference, str):
        return spot
    kind = reference.rpartition("/")[2]
    return replace(spot, kind=kind, form=as_object(forms[kind]))


def doubts(manifest: Written, kinds: Sequence[str]) -> Iterator[Problem]:
    """With the kinds of executors that there are."""
    of_executors = Executors(manifest, kinds)
    for spot in spots(manifest):
        yield from _unknown(spot)
        if spot.kind == "guard":
            yield from _guard(spot)
        if spot.kind == "executor":
            yield from of_executors.doubts(spot.written)


def _unknown(spot: Spot) -> Iterator[Problem]:
    known = as_object(spot.form.get("properties"))
    if spot.form.get("additionalProperties") is not False:
        return
    for name in spot.written.members:
        if name not in known and not name.startswith(EXTRA):
            instead = INSTEAD.get((spot.called, name))
            what = instead or f"nothing is called {name!r} here{or_rather(name, list(known))}"
            yield warning(spot.written.place_of_name(name), f"{spot.called}: {what}")


def _guard(spot: Spot) -> Iterator[Problem]:
    guard = guard_of(plain(spot.written))
    if spot.guards_around == DEEPEST:
        yield warning(spot.written.place, f"guards are more than {DEEPEST} deep, and this one never passes")
    elif isinstance(guard, NotUnderstood):
        kind = spot.written.get("kind")
        yield warning((kind or spot.written).place, f"{guard.why}: this guard never passes")
    elif isinstance(guard, Expression) and guard.comparison is None:
        yield warning(spot.written.place_of(("expr",)), f"{guard.text!r} is no expression and never passes: {FORM}")


@dataclass(frozen=True, slots=True)
class Executors:
    manifest: Written
    kinds: Sequence[str]

    def doubts(self, executor: Written) -> Iterator[Problem]:
        written_kind = executor.get("kind")
        kind = written_kind.text if written_kind else None
        if written_kind and kind:
            yield from self._of_kind(executor, written_kind, kind)
        elif executor.is_mapping and executor.get("capability") is None:
            yield warning(executor.place, "an executor needs a `kind`, or the name of a `capability`")
        yield from self._connection(executor, kind)
        definition = executor.get("definitionId")
        if definition and definition.text is not None and definition.text not in self._names("workflows"):
            names = list(self._names("workflows"))
            message = f"no workflow {definition.text!r} is in this manifest{or_rather(definition.text, names)}"
            yield warning(definition.place, f"{message}; if none is published by then either, this fails")

    def _of_kind(self, executor: Written, written_kind: Written, kind: str) -> Iterator[Problem]:
        if kind not in self.kinds:
            message = f"there is no executor of the kind {kind!r}{or_rather(kind, self.kinds)}"
            yield warning(written_kind.place, f"{message}; there are {', '.join(self.kinds)}")
        if kind not in SETTINGS:
            return
        known = [*COMMON, *SETTINGS[kind]]
        for name in executor.members:
            if name not in known and not name.startswith(EXTRA):
                message = f"an executor of the kind {kind} has no {name!r}{or_rather(name, known)}"
                yield warning(executor.place_of_name(name), message)
        if executor.get("capability") is None:
            for name in NEEDED.get(kind, ()):
                if executor.get(name) is None:
                    yield warning(written_kind.place, f"an executor of the kind {kind} needs `{name}`")

    def _connection(self, executor: Written, kind: str | None) -> Iterator[Problem]:
        named = executor.get("connection")
        if named is None or named.text is None:
            return
        connections = self._names("connections")
        if named.text not in connections:
            message = f"there is no connection {named.text!r}{or_rather(named.text, list(connections))}"
            yield warning(named.place, message)
            return
        connected = connections[named.text].get("kind")
        if kind in SETTINGS and connected and connected.text != kind:
            yield warning(named.place, f"the connection {named.text!r} is of the kind {connected.content}, not {kind}")

    def _names(self, part: str) -> Mapping[str, Written]:
        found = self.manifest.get(part)
        members: Mapping[str, Written] = found.members if found else {}
        is_made = part == "workflows" and self.manifest.get("proxy") is not None
        return {**members, PROXY: self.manifest} if is_made else members


def misshapen(manifest: Written) -> Iterable[Problem]:
    """What has not the form that editors are told of."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import

    found: Any
    try:
        for found in Draft202012Validator(schema()).iter_errors(plain(manifest)):
            if found.validator != "additionalProperties":
                at = tuple(found.absolute_path)
                yield warning(manifest.place_of(at), f"`{'.'.join(map(str, at))}`: {found.message[:LONGEST_MESSAGE]}")
    except RecursionError:
        return  # so deep that something else has been said of it
