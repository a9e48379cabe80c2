"""The manifests of workflows in examples/."""

from collections.abc import Mapping
from pathlib import Path

from local.emulator import PROJECT

EXAMPLES: Mapping[str, Path] = {
    path.parent.name: path.parent for path in sorted(PROJECT.glob("examples/*/manifest.yaml"))
}
ROLES = ("release_manager", "manager", "finance", "editor", "system_owner", "board", "change_manager")
"""The roles of people in the examples. A test compares them with the manifests."""
