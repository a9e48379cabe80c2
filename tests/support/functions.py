"""The functions of a deployed stack, for tests that invoke them, change their environment, or disable their event
sources."""

import json
import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from botocore.config import Config

from local.stack import client_settings
from tests.support.laptop import Laptop, Stack

INVOCATION_TIMEOUT = 180
"""More than most functions may take, since a busy machine takes half a minute to start several sandboxes at once."""


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of a stack, each by its name in the template without `Function`."""

    lambdas: Any
    """A Lambda client. It is shared because making a client takes longer than its calls."""
    outputs: Mapping[str, str]

    def find_name(self, function: str) -> str:
        return self.outputs[f"{function}FunctionName"]

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:
        """Invoke a function and return its answer; None if it failed or died."""
        answer = self.lambdas.invoke(FunctionName=self.find_name(function), Payload=json.dumps(event).encode())
        text = answer["Payload"].read()
        if "FunctionError" not in answer:
            return json.loads(text)
        logging.getLogger(__name__).warning("%s failed: %s", function, text.decode())
        return None

    def configure(self, function: str, **variables: str | None) -> None:
        """Set variables of its environment, which restarts it. Does nothing if they have these values already."""
        before = self.lambdas.get_function_configuration(FunctionName=self.find_name(function))["Environment"][
            "Variables"
        ]
        after = {name: value for name, value in {**before, **variables}.items() if value is not None}
        if after != before:
            self.lambdas.update_function_configuration(
                FunctionName=self.find_name(function), Environment={"Variables": after}
            )

    def configure_event_source(self, function: str, **settings: Any) -> None:
        """Change settings of its event source."""
        mappings = self.lambdas.list_event_source_mappings(FunctionName=self.find_name(function))
        (source,) = mappings["EventSourceMappings"]
        self.lambdas.update_event_source_mapping(UUID=source["UUID"], **settings)

    @contextmanager
    def disable_event_sources(self, *functions: str) -> Generator[None]:
        """Disable the event sources of these functions in the block, so that only the test invokes them."""
        for function in functions:
            self.configure_event_source(function, Enabled=False)
        try:
            yield
        finally:
            for function in functions:
                self.configure_event_source(function, Enabled=True)


def connect_functions(laptop: Laptop, stack: Stack) -> Functions:
    session, config = client_settings(laptop.emulator)
    patient = config.merge(Config(read_timeout=INVOCATION_TIMEOUT))
    lambdas = session.client("lambda", endpoint_url=laptop.emulator.url, config=patient)
    return Functions(lambdas, stack.deployed.outputs)
