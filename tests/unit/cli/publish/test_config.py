"""The configuration file, by the cases of `registry-cases.json` and as a file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from signpost.cli.publish.config import DEFAULTS, ScopeSettings, SkillsConfig, parse_config, read_config

FILE = Path(__file__).parents[3] / "acceptance/registry-cases.json"
CASES = [case for case in json.loads(FILE.read_text()) if case.get("op") == "config.load"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_configuration_matches_its_case(case: dict[str, Any]) -> None:
    warnings: list[str] = []
    document = case["input"]["document"]
    assert asdict(parse_config(document, warnings.append)) == case["expect"]["equals"]
    assert bool(warnings) == (document != {})


def test_a_field_that_is_missing_has_its_own_default(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("scopes:\n  skills: other\nunknown: 1\n")
    assert read_config(file, pytest.fail) == SkillsConfig(ScopeSettings(skills="other"))


@pytest.mark.parametrize(
    "text",
    [
        "scopes: [a]\n",
        "scopes: {skills: 1}\n",
        "state_timeout_ms: true\n",
        "state_timeout_ms: -1\n",
        "- a\n",
        ": :\n",
        "",
    ],
)
def test_a_bad_file_warns_and_all_defaults_apply(tmp_path: Path, text: str) -> None:
    file, warnings = tmp_path / "config.yaml", list[str]()
    file.write_text(text)
    assert read_config(file, warnings.append) == DEFAULTS
    (warning,) = warnings
    assert "defaults are used" in warning


def test_a_missing_file_warns(tmp_path: Path) -> None:
    warnings: list[str] = []
    assert read_config(tmp_path / "none.yaml", warnings.append) == DEFAULTS
    assert "There is no file" in warnings[0]
