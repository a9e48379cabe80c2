"""The schedules' part of a publication: the next schedules, their problems, and their differences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from signpost.catalogue.publishing.diff import UNTOUCHED, Difference, compare_members
from signpost.catalogue.publishing.request import PublishProblem
from signpost.catalogue.publishing.sent_definitions import SentCatalogue
from signpost.catalogue.schedules import read_schedule
from signpost.catalogue.snapshot import CatalogueSnapshot
from signpost.content.api.errors import quote_text
from signpost.model import PROXY_WORKFLOW, CatalogueItem, JsonObject, Principal, as_object
from signpost.spelling import build_suggestion
from signpost.workflow.schedules import (
    MOST_SCHEDULES,
    PUBLISHER,
    SINCE,
    Schedule,
    authored_members,
    find_input_problem,
)


def build_next_schedules(
    sent: SentCatalogue, before: CatalogueSnapshot, publisher: Principal, now: str, *, prune: bool
) -> JsonObject:
    """Return the schedules after a publication. An unchanged one keeps its time and its publisher."""
    if sent.schedules is None:
        return before.schedules
    recorded: JsonObject = {SINCE: now, PUBLISHER: publisher.subject}
    unchanged = set(compare_sent_schedules(sent.schedules, before, prune=False).same)
    new: JsonObject = {
        name: before.schedules[name] if name in unchanged else {**as_object(raw), **recorded}
        for name, raw in sent.schedules.items()
    }
    return new if prune else {**before.schedules, **new}


def compare_sent_schedules(sent: JsonObject | None, before: CatalogueSnapshot, *, prune: bool) -> Difference:
    if sent is None:
        return UNTOUCHED
    authored: JsonObject = {name: authored_members(raw) for name, raw in before.schedules.items()}
    return compare_members(authored, sent, prune=prune)


def find_schedule_problems(
    sent: SentCatalogue, before: CatalogueSnapshot, after: CatalogueSnapshot, publisher: Principal
) -> Sequence[PublishProblem]:
    """Find the schedules that could not start their workflow, and those that ask for more than their publisher has."""
    if sent.schedules is None and sent.workflows is None and sent.capabilities is None:
        return ()
    if len(after.schedules) > MOST_SCHEDULES:
        message = f"A tenant has {MOST_SCHEDULES} schedules at most; this publication makes {len(after.schedules)}."
        return [PublishProblem("schedule", "schedules", message)]
    items = {item.id: item for item in after.items if item.kind == "workflow"}
    capabilities = {item.id: item for item in after.items if item.kind == "capability"}
    found: list[PublishProblem] = []
    for name, raw in after.schedules.items():
        schedule = read_schedule(name, raw)
        if schedule is not None:
            messages = [*_target_problems(schedule, items, capabilities)]
            if before.schedules.get(name) != raw:
                messages += _rights_problems(schedule, publisher)
            found += (PublishProblem("schedule", name, message) for message in messages)
    return found


def _target_problems(
    schedule: Schedule, workflows: Mapping[str, CatalogueItem], capabilities: Mapping[str, CatalogueItem]
) -> Iterator[str]:
    if schedule.workflow == PROXY_WORKFLOW and capabilities:
        name = as_object(schedule.input).get("capability")
        if not isinstance(name, str) or name not in capabilities:
            suggestion = build_suggestion(str(name), capabilities, quote_text)
            yield f"`input.capability` must be one of the published capabilities.{suggestion}"
    elif (item := workflows.get(schedule.workflow)) is None:
        yield _unknown_workflow(schedule.workflow, workflows, capabilities)
    elif item.input_schema and (problem := find_input_problem(item.input_schema, schedule.input or {})):
        yield f"{quote_text(schedule.workflow)} could not be started: {problem}."


def _unknown_workflow(name: str, workflows: Mapping[str, object], capabilities: Mapping[str, object]) -> str:
    if name in capabilities:
        return f"{quote_text(name)} is a capability: start {PROXY_WORKFLOW} with it as `capability` of the input."
    return describe_missing_workflow(name, workflows)


def describe_missing_workflow(name: str, workflows: Iterable[str]) -> str:
    """Return the message for a name that no workflow has after a publication."""
    suggestion = build_suggestion(name, workflows, quote_text)
    return f"There is no workflow {quote_text(name)} after this publication.{suggestion}"


def _rights_problems(schedule: Schedule, publisher: Principal) -> Iterator[str]:
    """A schedule has no right that its publisher does not have, or a publication could give away any right."""
    lacking = {
        "role": [role for role in schedule.roles if role not in publisher.roles],
        "permission": [name for name in schedule.permissions if name not in publisher.permissions],
    }
    for noun, names in lacking.items():
        for name in names:
            yield (
                f"Its publisher ({publisher.subject}) does not have the {noun} {quote_text(name)}, so the schedule "
                "cannot have it. Remove it, or publish with a credential that has it."
            )


def switch_schedule(snapshot: CatalogueSnapshot, name: str, now: str, *, enabled: bool) -> CatalogueSnapshot:
    """Switch a schedule on or off. Occasions that passed while it was off are not made up for. One that is on already
    stays as it is: an occasion that is due is not lost, and a rate keeps its rhythm."""
    if enabled != (name in snapshot.schedules_off):
        return snapshot
    if not enabled:
        return replace(snapshot, schedules_off=sorted({*snapshot.schedules_off, name}))
    renewed: JsonObject = {**as_object(snapshot.schedules[name]), SINCE: now}
    on_again = {**snapshot.schedules, name: renewed}
    return replace(snapshot, schedules=on_again, schedules_off=sorted({*snapshot.schedules_off} - {name}))
