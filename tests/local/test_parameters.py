"""Template parameters on sam's command line arrive as they were given."""

import json
import subprocess

import pytest

from local.sam import format_override
from local.stack import PROJECT

pytestmark = pytest.mark.cloud  # it needs SAM

VALUES = {
    "Plain": "jwt",
    "Address": "http://127.0.0.1:8767/a?b=c&d=e",
    "List": "a,b",
    "Empty": "",
    "SpacedList": "https://a.example, https://b.example",
    "Quoted": 'say "this" now',
}
PARSE = """
import json, sys
from samcli.cli.types import CfnParameterOverridesType
print(json.dumps(CfnParameterOverridesType().convert(tuple(sys.argv[1:]), None, None)))
"""


def test_sam_reads_every_value_as_it_was_given() -> None:
    words = [format_override(name, value) for name, value in VALUES.items()]
    command = [str(PROJECT / ".tools/sam/bin/python"), "-c", PARSE, *words]
    parsed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(parsed) == VALUES
