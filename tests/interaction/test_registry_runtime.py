"""The door of the registry function on Lambda's own runtime, which encodes answers after the handler returned."""

from pathlib import Path
from textwrap import dedent

from local.account import Account
from local.built import BuiltFunction
from local.json_values import JsonObject
from local.runtime import LambdaRuntime

PROJECT = Path(__file__).resolve().parents[2]
LIBRARIES = PROJECT / ".venv/lib/python3.13/site-packages"

APP = r"""
    from signpost.adapters.alarm import alarm
    from signpost.catalogue.publishing.publish_functions import PublishFunctions
    from signpost.catalogue.publishing.publisher import Publisher
    from signpost.entrypoints.registry_dispatch import RegistryDispatcher
    from signpost.entrypoints.registry_invoke import RegistryHandler
    from signpost.telemetry import Telemetry
    from tests.support.catalogues import build_catalogue_publisher
    from tests.support.registry import PRINCIPAL, CountingTimestamps, MemoryRegistry

    registry = MemoryRegistry()
    registry.host("demo::half", "half a pair: \ud800, a whole one: \U0001f600")
    publisher = Publisher(
        content=registry.content,
        bodies=registry.bodies,
        catalogues=build_catalogue_publisher(registry.content),
        timestamps=CountingTimestamps(),
    )
    door = RegistryHandler(
        functions=RegistryDispatcher(registry.functions, [PublishFunctions(publisher)]),
        identify=lambda event: PRINCIPAL,
        telemetry=Telemetry("registry-on-its-runtime"),
        clock=registry.clock,
        alarm=alarm,
    )

    def handler(event, context):
        return door.handle(event, context.get_remaining_time_in_millis(), context.aws_request_id)
"""


def test_half_a_surrogate_pair_in_an_answer_does_not_end_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(dedent(APP))
    function = BuiltFunction(
        "Registry", tmp_path, (*layers(tmp_path), PROJECT / "layers/shared"), "app.handler", 9, 512, {}
    )
    with LambdaRuntime(function, Account()) as runtime:
        read: JsonObject = {"function_id": "skills::resources-read", "payload": {"uri": "iii://fn/demo/half"}}
        first, second = runtime.invoke(read), runtime.invoke(read)
    assert first.error is None
    assert isinstance(first.payload, dict)
    text = "half a pair: \ufffd, a whole one: \U0001f600"
    assert first.payload["contents"] == [{"uri": "iii://fn/demo/half", "mimeType": "text/markdown", "text": text}]
    assert second.init_ms is None  # it is the same sandbox


def layers(folder: Path) -> list[Path]:
    """The libraries, and this project, in the shape of layers."""
    made: list[Path] = []
    for name, content in (("libraries", LIBRARIES), ("project", PROJECT)):
        (folder / name).mkdir()
        (folder / name / "python").symlink_to(content)
        made.append(folder / name)
    return made
