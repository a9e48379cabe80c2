"""Reads a module into its definitions, which are its functions, classes and values at the top level, with the names,
texts, modules and fixtures that each of them refers to."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

BODY = ""
"""The name of the definition that stands for the statements of a module that define no name; they run at its import."""
EVERYTHING = "*"
"""Stands for all names of a module, in the place of a name."""
_PURE = frozenset({"contextlib", "dataclasses", "functools", "pytest", "st", "typing"})
"""Libraries with decorators that do not register the function or class with another definition of the project."""
_FIXTURES_BY_NAME = frozenset({"getfixturevalue", "usefixtures"})
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.?")


@dataclass(frozen=True, slots=True)
class Import:
    """The target of an imported name: a module, or a name in a module."""

    module: str
    name: str | None = None


@dataclass(slots=True)
class Definition:
    name: str
    digest: str = ""
    """The syntax tree as text. It does not change with the layout or the comments."""
    references: set[tuple[str, str | None]] = field(default_factory=set[tuple[str, str | None]])
    """Names, each with the attribute that is read from it, if any."""
    texts: set[str] = field(default_factory=set[str])
    imports: set[str] = field(default_factory=set[str])
    """Modules that the definition imports when it runs."""
    requests: set[str] = field(default_factory=set[str])
    """The fixtures that a test or a fixture requests."""
    handles_paths: bool = False
    """Whether it divides, as paths are joined. A single word in it may then be the name of a file or a folder."""
    marks: set[str] = field(default_factory=set[str])
    """The names of its pytest marks."""
    is_test: bool = False
    is_fixture: bool = False
    is_automatic: bool = False
    """Whether it is a fixture with autouse, which applies to every test in its module or below its conftest file."""


@dataclass(slots=True)
class Module:
    path: str
    name: str
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    imports: dict[str, set[Import]] = field(default_factory=dict[str, set[Import]])

    @property
    def is_lazy(self) -> bool:
        """Whether the module imports some of its names at their first use."""
        return "__getattr__" in self.definitions

    def define(self, name: str) -> Definition:
        return self.definitions.setdefault(name, Definition(name))


def read_module(path: str, name: str, source: str) -> Module:
    """Read the definitions and imports of a module. Raises SyntaxError."""
    module = Module(path, name)
    body = module.define(BODY)
    statements = [statement for statement in ast.parse(source).body if not _is_skipped(statement)]
    for statement in statements:
        for definition in _definitions_of(module, statement):
            _read(module, definition, statement)
        if _is_registered(statement):
            body.references.update((name, None) for name in _bound_names(statement))
    if module.is_lazy:
        # The imports under TYPE_CHECKING are those that the module makes at first use.
        _bind_imports(module, Definition(BODY), ast.parse(source))
    return module


def dotted_names(text: str) -> Iterator[str]:
    """Find the dotted names in a text, such as `module.name`. A name with a dot at its end is the start of a name that
    the program completes at run time."""
    return (name for name in _DOTTED.findall(text) if "." in name)


def _is_skipped(statement: ast.stmt) -> bool:
    """Return whether the statement has no effect at import: a text, or a block for type checkers or for the command."""
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _definitions_of(module: Module, statement: ast.stmt) -> list[Definition]:
    """Return the definitions of a statement. A statement that defines no name belongs to the body of the module."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [module.define(BODY)]
    return [module.define(name) for name in _bound_names(statement)] or [module.define(BODY)]


def _bound_names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.TypeAlias(name=ast.Name(id=name)) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
            return names if all(isinstance(target, ast.Name | ast.Tuple) for target in targets) else []
        case _:
            return []


def _is_registered(statement: ast.stmt) -> bool:
    """Return whether a decorator may register the definition with another one, as `@KIT.tool` does."""
    return any(_may_register(decorator) for decorator in _decorators(statement))


def _may_register(decorator: ast.expr) -> bool:
    decorator = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(decorator, ast.Attribute) and ast.unparse(decorator).split(".", maxsplit=1)[0] not in _PURE


def _decorators(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.decorator_list
        case _:
            return []


def _read(module: Module, definition: Definition, statement: ast.stmt) -> None:
    _bind_imports(module, definition, statement)
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    definition.digest += ast.dump(statement)
    comments = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Expr)}
    owners = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    types = {id(node) for expression in _type_expressions(statement) for node in ast.walk(expression)}
    for node in ast.walk(statement):
        if id(node) in types:
            continue
        definition.handles_paths |= isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        if id(node) not in owners or not isinstance(node, ast.Name):
            _read_node(definition, node, is_comment=id(node) in comments)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        _read_pytest_role(definition, statement)


def _type_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Find the expressions that are only types. Annotations of a registered function are left out: its decorator may
    read them."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Subscript(slice=expression)):
                yield expression
            case ast.arg(annotation=ast.expr() as expression) if not _is_registered(statement):
                yield expression
            case ast.FunctionDef(returns=ast.expr() as expression) if not _is_registered(statement):
                yield expression
            case _:
                pass


def _read_node(definition: Definition, node: ast.AST, *, is_comment: bool) -> None:
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="pytest"), attr="mark"), attr=mark):
            definition.marks.add(mark)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            definition.references.add((name, attribute))
        case ast.Name(id=name):
            definition.references.add((name, None))
        case ast.Constant(value=str(text)) if not is_comment:
            definition.texts.add(text)
        case ast.Call(func=ast.Attribute(attr=attribute), args=arguments) if attribute in _FIXTURES_BY_NAME:
            definition.requests.update(_texts_of(arguments))
        case _:
            pass


def _texts_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _read_pytest_role(definition: Definition, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    is_class = isinstance(statement, ast.ClassDef)
    definition.is_test = statement.name.startswith("Test" if is_class else "test")
    fixtures = [
        decorator
        for node in ast.walk(statement)
        for decorator in _decorators(node)
        if re.match(r"(pytest\.)?fixture\b", ast.unparse(decorator))
    ]
    definition.is_fixture = bool(fixtures) and not is_class
    definition.is_automatic = definition.is_fixture and any(
        "autouse=True" in ast.unparse(fixture) for fixture in fixtures
    )
    if definition.is_test or definition.is_fixture:
        for node in ast.walk(statement):
            if isinstance(node, ast.arguments):
                definition.requests.update(_parameter_names(node))


def _parameter_names(parameters: ast.arguments) -> Iterator[str]:
    return (parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs))


def _bind_imports(module: Module, definition: Definition, statement: ast.AST) -> None:
    """Record the imports of a statement, with the late ones inside functions."""
    for node in ast.walk(statement):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    definition.imports.add(alias.name)
                    bound = alias.asname or alias.name.split(".", maxsplit=1)[0]
                    is_dotted = alias.asname is None and "." in alias.name  # used as `a.b.name`
                    module.imports.setdefault(bound, set()).add(Import(alias.name, EVERYTHING if is_dotted else None))
            case ast.ImportFrom(names=names):
                source = _source_module(module, node)
                definition.imports.add(source)
                for alias in names:
                    definition.imports.add(f"{source}.{alias.name}")  # in case the name is a module
                    module.imports.setdefault(alias.asname or alias.name, set()).add(Import(source, alias.name))
            case _:
                pass


def _source_module(module: Module, node: ast.ImportFrom) -> str:
    """Return the absolute name of the module that is imported from."""
    if not node.level:
        return node.module or ""
    is_package = module.path.endswith("/__init__.py")
    parts = module.name.split(".")
    package = parts[: len(parts) - node.level + is_package]
    return ".".join([*package, *([node.module] if node.module else [])])


def changed_names(before: Module | None, after: Module | None) -> set[str]:
    """Return the names of a module that are new, removed, or bound to something else than before."""
    old, new = _bindings(before), _bindings(after)
    return {name for name in set(old) | set(new) if old.get(name) != new.get(name)}


def importable_names(module: Module | None) -> AbstractSet[str]:
    """Return the names that can be imported from a module."""
    return _bindings(module).keys()


def _bindings(module: Module | None) -> Mapping[str, object]:
    """Return the digest or the import targets of each name; of a name that is both, the digest."""
    if module is None:
        return {}
    imported = {name: frozenset(targets) for name, targets in module.imports.items()}
    return {**imported, **{name: definition.digest for name, definition in module.definitions.items()}}
