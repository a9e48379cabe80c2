"""An executor says a version of itself: that of its toolkits, or one of its own."""

from typing import Any

import pytest

from signpost.directory.manifest import ExecutorManifest, parse_manifest
from signpost.toolkit import DeclarationError, Function, Toolkit, executor
from signpost.toolkit.hosting import version_of
from tests.support.function_host import FunctionHost, encode_reply

PLAIN = Function("plain", lambda: 1)


@pytest.mark.parametrize("version", ["", "1.", ".1", "v1", "1.2-rc.1", "1.2.3.4.5", "1" * 10, "\u0661", 1, 1.2, True])
def test_an_invalid_version_is_refused_at_import(version: Any) -> None:
    with pytest.raises(
        DeclarationError, match=r"yard: version .* must be a text of one to four numbers, such as 1\.2\.0"
    ):
        Toolkit("yard", version=version)
    with pytest.raises(DeclarationError, match="executor: version"):
        executor(PLAIN, version=version)


def test_an_executor_has_the_version_of_its_toolkits() -> None:
    assert version_of((PLAIN,), None) is None
    assert version_of((PLAIN, Toolkit("yard", version="1.2"), Toolkit("shed")), None) == "1.2"
    assert version_of((Toolkit("yard", version="1.2"), Toolkit("shed", version="1.2")), None) == "1.2"


def test_an_executor_of_toolkits_with_different_versions_needs_its_own() -> None:
    both = Toolkit("yard", version="1.2"), Toolkit("shed", version="1.3")
    with pytest.raises(
        DeclarationError, match=r"have different versions \(1\.2, 1\.3\)\. Set one by executor\(…, version=…\)"
    ):
        executor(*both)
    assert version_of(both, "2") == "2"


@pytest.mark.parametrize("version", [None, "0", "1.2.0", "999999999.0.0.1"])
def test_the_version_is_in_the_manifest(version: str | None) -> None:
    hosting = FunctionHost([PLAIN], version=version)
    answer = parse_manifest(encode_reply(hosting.harness.handle({"signpost": 1, "operation": "manifest"}, 1000)))
    assert answer == ExecutorManifest(answer.functions, version)
