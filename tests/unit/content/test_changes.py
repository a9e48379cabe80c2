"""The kinds of content changes: every class of changes has its row, every type of events its form."""

from typing import Any, get_args

import pytest

from signpost.content.api.specs import TRIGGERS
from signpost.content.changes import EVENTS, KINDS, event_of, is_registration, name_of, parse_change, text_of
from signpost.content.documents import build_skill
from signpost.content.model import (
    CatalogueChange,
    Change,
    PolicyChange,
    PromptChange,
    SkillChange,
    StoredPrompt,
    Subscription,
    SubscriptionChange,
    WorkflowChange,
)
from signpost.content.subscriptions import TRIGGER_TYPES
from signpost.model import PromptArgument

NOW = "2026-11-18T12:00:00.000Z"
HOOK = Subscription("webhook", "skills::on-change", "https://hooks.test/größe", NOW, {"any": [1, None]})
REGISTRATIONS: list[Change] = [
    SkillChange("a/b", build_skill("a/b", "---\nname: b\ndescription: Text.\n---\n# Title\n\n## Part\n", NOW)),
    PromptChange("ask", StoredPrompt("ask", "Asks.", "mail::ask", (PromptArgument("who", "", required=True),), NOW)),
    SubscriptionChange(HOOK.name, HOOK),
    WorkflowChange("deploy", "0f" * 32),
    PolicyChange("no-mail", "f0" * 32),
    CatalogueChange(None, "0" * 64),
    CatalogueChange("1" * 64, "2" * 64, "3" * 64),
]
UNREGISTRATIONS: list[Change] = [
    SkillChange("a/b", None),
    PromptChange("ask", None),
    SubscriptionChange(HOOK.name, None),
    WorkflowChange("deploy", None),
    PolicyChange("no-mail", None),
]


def test_every_class_of_changes_is_a_kind_with_a_tag_of_its_own() -> None:
    assert set(KINDS) == set(get_args(Change.__value__)) == {type(change) for change in REGISTRATIONS}
    assert len({kind.tag for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("change", [*REGISTRATIONS, *UNREGISTRATIONS], ids=lambda change: type(change).__name__)
def test_a_change_comes_back_from_its_text(change: Change) -> None:
    assert parse_change(*name_of(change), text_of(change)) == change
    assert is_registration(change) == (change in REGISTRATIONS)


def test_every_type_of_events_has_its_form_and_every_kind_that_is_told_its_type() -> None:
    assert set(EVENTS) == set(TRIGGER_TYPES)
    for change in (*REGISTRATIONS, *UNREGISTRATIONS):
        form, event = KINDS[type(change)].event, event_of("acme", 7, change)
        assert (event is None) == (form is None)
        if event is not None and form is not None:
            tag, name = name_of(change)
            assert (event.type, event.key, event.sequence, event.tenant) == (tag, name, 7, "acme")
            assert event.op == ("register" if is_registration(change) else "unregister")
            assert (event.digest is None) == (not form.has_digest or not is_registration(change))


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda trigger: trigger.id)
def test_a_trigger_promises_the_members_that_its_event_has(trigger: Any) -> None:
    form = EVENTS[trigger.id]
    assert set(trigger.payload["required"]) == {"op", form.key}
    assert set(trigger.payload["properties"]) == {"op", form.key, *(("digest",) if form.has_digest else ())}
