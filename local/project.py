"""The functions, events, template and build of this repository."""

from dataclasses import dataclass
from pathlib import Path

from local.account import Account
from local.built import BuiltFunction, BuiltTemplate

_STACK = "signpost"
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Project:
    root: Path = _ROOT
    build: Path = _ROOT / ".aws-sam" / "build"

    @property
    def functions(self) -> set[str]:
        return _folders(self.root / "functions")

    @property
    def functions_with_events(self) -> set[str]:
        return _folders(self.root / "events")

    def logical_ids(self) -> dict[str, str]:
        """Return the logical id of each function by its folder name.

        They come from the source template, since a build names every folder by its logical id.
        """
        source = BuiltTemplate.read(self.root / "template.yaml")
        return {folder.name: logical_id for logical_id, folder in source.functions().items()}

    def built_template(self) -> BuiltTemplate:
        return BuiltTemplate.read(self.build / "template.yaml")

    def built_function(self, name: str, parameters: dict[str, str], account: Account) -> BuiltFunction:
        """Return one function, with placeholders for the names of all other resources of the stack."""
        template = self.built_template()
        return template.function(self.logical_ids()[name], parameters, placeholder_names(template, account))


def placeholder_names(template: BuiltTemplate, account: Account) -> dict[str, str]:
    """Return a name for each resource, which is its logical id as in `sam local invoke`, and the pseudo parameters."""
    return {name: name for name in template.logical_ids()} | account.pseudo_parameters(_STACK)


def _folders(parent: Path) -> set[str]:
    return {entry.name for entry in parent.iterdir() if entry.is_dir()} if parent.is_dir() else set()
