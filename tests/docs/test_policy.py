"""docs/policy.md says what the code does."""

import re
from pathlib import Path

from signpost.adapters.source_files import read_values
from signpost.model import as_object
from signpost.policy.rules_format import KINDS, find_faults
from tests.support.guest_gateway import GuestGateway

PAGE = (Path(__file__).resolve().parents[2] / "docs/policy.md").read_text()


def test_the_documented_rules_can_be_published(tmp_path: Path) -> None:
    (written,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "manifest.yaml"
    path.write_text(written)
    policies = as_object(as_object(read_values(path))["policies"])
    assert list(find_faults(policies)) == []
    world = GuestGateway(with_vault=True, policies=policies)
    assert "skill:vault.open" in world.list_names("tools/list", "tools", "/mcp/flat")


def test_the_page_names_every_kind_of_rule_with_its_members() -> None:
    table = PAGE.partition("| kind |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE)
    assert {kind: tuple(re.findall(r"`(\w+)`", has)) for kind, has in rows} == KINDS
