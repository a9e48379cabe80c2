"""The output of `sam build`, as the values with which Lambda would be configured."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from local.intrinsics import Scope, TemplateError, parameter_values, parse_template, resolve, resolve_text, section
from local.json_values import Json, JsonObject

_FUNCTION = "AWS::Serverless::Function"
_LAYER = "AWS::Serverless::LayerVersion"
_DEFAULTS: JsonObject = {"Timeout": 3, "MemorySize": 128}
"""Lambda's own defaults, for properties that a template does not have."""


@dataclass(frozen=True, slots=True)
class BuiltFunction:
    logical_id: str
    code: Path
    layers: tuple[Path, ...]
    handler: str
    timeout: float
    memory: int
    environment: Mapping[str, str]

    @property
    def search_path(self) -> tuple[Path, ...]:
        """The folders in which Lambda looks for modules before it looks into its own runtime."""
        return (self.code, *(layer / "python" for layer in self.layers))


@dataclass(frozen=True, slots=True)
class BuiltTemplate:
    """A template, with the folder to which its paths are relative."""

    folder: Path
    document: JsonObject

    @classmethod
    def read(cls, path: Path) -> Self:
        if not path.is_file():
            raise TemplateError(f"there is no {path.name} in {path.parent.name}; run sam build, which writes it")
        return cls(path.parent, parse_template(path.read_text("utf-8")))

    def functions(self) -> dict[str, Path]:
        """Return the code folder of every function, by logical id."""
        scope = Scope({}, {}, {})
        return {
            logical_id: self.folder / resolve_text(self._properties(logical_id).get("CodeUri"), scope)
            for logical_id in self._resources_of(_FUNCTION)
        }

    def function(self, logical_id: str, parameters: Mapping[str, str], names: Mapping[str, str]) -> BuiltFunction:
        """Return one function with these parameter overrides.

        `names` has the values of pseudo parameters, resources and their attributes.
        """
        if logical_id not in self._resources_of(_FUNCTION):
            raise TemplateError(f"the template has no function {logical_id}")
        scope = Scope(parameter_values(self.document, parameters), section(self.document, "Conditions"), names)
        properties = _DEFAULTS | section(self.document, "Globals", "Function") | self._properties(logical_id)
        return BuiltFunction(
            logical_id=logical_id,
            code=self.folder / resolve_text(properties.get("CodeUri"), scope),
            layers=self._layers(logical_id, scope),
            handler=resolve_text(properties.get("Handler"), scope),
            timeout=float(resolve_text(properties["Timeout"], scope)),
            memory=int(resolve_text(properties["MemorySize"], scope)),
            environment=self._environment(logical_id, scope),
        )

    def logical_ids(self) -> tuple[str, ...]:
        return tuple(section(self.document, "Resources"))

    def _resources_of(self, kind: str) -> list[str]:
        return [name for name in self.logical_ids() if section(self.document, "Resources", name)["Type"] == kind]

    def _properties(self, logical_id: str) -> JsonObject:
        return section(self.document, "Resources", logical_id, "Properties")

    def _environment(self, logical_id: str, scope: Scope) -> dict[str, str]:
        variables = section(self.document, "Globals", "Function", "Environment", "Variables") | section(
            self._properties(logical_id), "Environment", "Variables"
        )
        return {
            name: resolve_text(value, scope) for name, value in variables.items() if resolve(value, scope) is not None
        }

    def _layers(self, logical_id: str, scope: Scope) -> tuple[Path, ...]:
        folders = {name: str(self.folder / self._content_of(name)) for name in self._resources_of(_LAYER)}
        by_folder = replace(scope, names={**scope.names, **folders})
        listed = [
            *_list(section(self.document, "Globals", "Function").get("Layers")),
            *_list(self._properties(logical_id).get("Layers")),
        ]
        return tuple(Path(resolve_text(layer, by_folder)) for layer in listed)

    def _content_of(self, layer: str) -> str:
        return resolve_text(self._properties(layer).get("ContentUri"), Scope({}, {}, {}))


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
