"""Where the parts of this repository lie."""

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
    def tried_functions(self) -> set[str]:
        return _folders(self.root / "events")

    def logical_ids(self) -> dict[str, str]:
        """Folder name to logical id; only the source says it, in a build every folder is named by its id."""
        source = BuiltTemplate.read(self.root / "template.yaml")
        return {folder.name: logical_id for logical_id, folder in source.functions().items()}

    def built(self) -> BuiltTemplate:
        return BuiltTemplate.read(self.build / "template.yaml")

    def built_function(self, name: str, parameters: dict[str, str], account: Account) -> BuiltFunction:
        """One function as it would be in an account where nothing else of the stack is known."""
        built = self.built()
        return built.function(self.logical_ids()[name], parameters, stand_ins(built, account))


def stand_ins(template: BuiltTemplate, account: Account) -> dict[str, str]:
    """As in `sam local invoke`, a resource that nobody gave a value for is called by its logical id."""
    return {name: name for name in template.logical_ids()} | account.pseudo_parameters(_STACK)


def _folders(parent: Path) -> set[str]:
    return {entry.name for entry in parent.iterdir() if entry.is_dir()} if parent.is_dir() else set()
