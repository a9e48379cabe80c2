"""The texts that say what is to be looked at again, and the keys under which it is found."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signpost.adapters import keys
from signpost.workflow.wakes import (
    DUE_SHARDS,
    Wake,
    WakeMessage,
    due_shard_of,
    due_shards,
    message_of,
    wakes_of,
    wakes_text,
)

IDS = st.from_regex(r"wf_[A-Za-z0-9]{1,64}", fullmatch=True)
TENANTS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,31}", fullmatch=True)
TIMES = st.floats(min_value=0, max_value=4e9)


@given(st.lists(st.builds(Wake, workflow_id=IDS, at=TIMES), max_size=5))
def test_wakes_are_read_as_they_were_written(wakes: list[Wake]) -> None:
    assert wakes_of(wakes_text(wakes)) == wakes


def test_the_text_of_wakes_is_what_the_next_release_reads() -> None:
    text = '[{"workflowId":"wf_a","at":0.0},{"workflowId":"wf_b","at":1800000000.5}]'
    assert wakes_text([Wake("wf_a"), Wake("wf_b", 1_800_000_000.5)]) == text
    assert wakes_of(text) == [Wake("wf_a", 0), Wake("wf_b", 1_800_000_000.5)]


@given(st.builds(WakeMessage, tenant=TENANTS, workflow_id=IDS))
def test_a_message_is_read_as_it_was_written_and_so_is_the_key_of_its_instance(message: WakeMessage) -> None:
    assert message_of(message.text) == message
    assert WakeMessage(*keys.instance_of(keys.workflow(message.tenant, message.workflow_id))) == message


@pytest.mark.parametrize(
    "pk", [keys.open_requests_of("acme"), keys.definition("acme", "0f")["pk"]["S"], "deployment#wf#a#b"]
)
def test_no_other_partition_is_taken_for_an_instance(pk: str) -> None:
    with pytest.raises(ValueError, match=r"no partition of an instance|values to unpack"):
        keys.instance_of(pk)


def test_an_instance_has_one_shard_and_instances_are_spread_over_all_shards() -> None:
    assert due_shard_of("wf_0") == "due#4"
    found = Counter(due_shard_of(f"wf_{number}") for number in range(800))
    assert set(found) == set(due_shards())
    assert len(due_shards()) == DUE_SHARDS == 8
    assert min(found.values()) > 50
