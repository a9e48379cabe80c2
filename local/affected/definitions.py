"""Reads a module into its definitions: the functions, classes and values that stand at its top level, and what each of
them refers to."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

BODY = ""
"""The name of what a module does when it is imported, beside defining names."""
EVERYTHING = "*"
"""In the place of a name: all names of a module."""
_PURE = frozenset({"contextlib", "dataclasses", "functools", "pytest", "st", "typing"})
"""Libraries whose decorators register nothing with another definition of the project."""
_FIXTURES_BY_NAME = frozenset({"getfixturevalue", "usefixtures"})
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.?")


@dataclass(frozen=True, slots=True)
class Import:
    """What a name is bound to: a module, or a name in a module."""

    module: str
    name: str | None = None


@dataclass(slots=True)
class Definition:
    name: str
    digest: str = ""
    """Changes with what the definition says, and not with its layout or its comments."""
    refers: set[tuple[str, str | None]] = field(default_factory=set[tuple[str, str | None]])
    """Names, each with the attribute that is read of it."""
    texts: set[str] = field(default_factory=set[str])
    imports: set[str] = field(default_factory=set[str])
    """Modules that are imported when it runs."""
    requests: set[str] = field(default_factory=set[str])
    """Fixtures it asks for, if it is a test or a fixture."""
    handles_paths: bool = False
    """Whether a word in it may be the name of a file or a folder."""
    marks: set[str] = field(default_factory=set[str])
    """Of pytest."""
    is_test: bool = False
    is_fixture: bool = False
    is_automatic: bool = False
    """Whether it is a fixture of every test around it."""


@dataclass(slots=True)
class Module:
    path: str
    name: str
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    imports: dict[str, set[Import]] = field(default_factory=dict[str, set[Import]])

    @property
    def is_lazy(self) -> bool:
        """Whether it imports some of its names at their first use."""
        return "__getattr__" in self.definitions

    def define(self, name: str) -> Definition:
        return self.definitions.setdefault(name, Definition(name))


def read_module(path: str, name: str, source: str) -> Module:
    """Raises SyntaxError."""
    module = Module(path, name)
    body = module.define(BODY)
    statements = [one for one in ast.parse(source).body if not _is_skipped(one)]
    for statement in statements:
        for defined in _definitions_of(module, statement):
            _read(module, defined, statement)
        if _acts(statement):
            body.refers.update((name, None) for name in _names_bound(statement))
    if module.is_lazy:
        # What a type checker is shown is what the module imports at first use.
        _bind_imports(module, Definition(BODY), ast.parse(source))
    return module


def dotted_names(text: str) -> Iterator[str]:
    """The dotted names in a text, as `module.name`; one that ends in a dot is the start of a name made at run time."""
    return (found for found in _DOTTED.findall(text) if "." in found)


def _is_skipped(statement: ast.stmt) -> bool:
    """Whether an import of the module leaves the statement out: texts, and what is for type checkers or a command."""
    if isinstance(statement, ast.If):
        return ast.unparse(statement.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _definitions_of(module: Module, statement: ast.stmt) -> list[Definition]:
    """A statement that defines no name belongs to the body of the module."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [module.define(BODY)]
    return [module.define(name) for name in _names_bound(statement)] or [module.define(BODY)]


def _names_bound(statement: ast.stmt) -> list[str]:
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


def _acts(statement: ast.stmt) -> bool:
    """Whether a decorator may hand the definition to another one, as `@KIT.tool` does."""
    return any(_registers(decorator) for decorator in _decorators(statement))


def _registers(decorator: ast.expr) -> bool:
    decorator = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(decorator, ast.Attribute) and ast.unparse(decorator).split(".", maxsplit=1)[0] not in _PURE


def _decorators(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.decorator_list
        case _:
            return []


def _read(module: Module, defined: Definition, statement: ast.stmt) -> None:
    _bind_imports(module, defined, statement)
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return
    defined.digest += ast.dump(statement)
    comments = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Expr)}
    owners = {id(node.value) for node in ast.walk(statement) if isinstance(node, ast.Attribute)}
    types = {id(node) for kind in _types_in(statement) for node in ast.walk(kind)}
    for node in ast.walk(statement):
        if id(node) in types:
            continue
        defined.handles_paths |= isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        if id(node) not in owners or not isinstance(node, ast.Name):
            _read_node(defined, node, is_comment=id(node) in comments)
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        _read_purpose(defined, statement)


def _types_in(statement: ast.stmt) -> Iterator[ast.expr]:
    """Expressions that only say of which type something is. A decorator that registers a function may read them."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Subscript(slice=kind)):
                yield kind
            case ast.arg(annotation=ast.expr() as kind) if not _acts(statement):
                yield kind
            case ast.FunctionDef(returns=ast.expr() as kind) if not _acts(statement):
                yield kind
            case _:
                pass


def _read_node(defined: Definition, node: ast.AST, *, is_comment: bool) -> None:
    match node:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="pytest"), attr="mark"), attr=mark):
            defined.marks.add(mark)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            defined.refers.add((name, attribute))
        case ast.Name(id=name):
            defined.refers.add((name, None))
        case ast.Constant(value=str(text)) if not is_comment:
            defined.texts.add(text)
        case ast.Call(func=ast.Attribute(attr=attribute), args=arguments) if attribute in _FIXTURES_BY_NAME:
            defined.requests.update(_texts_of(arguments))
        case _:
            pass


def _texts_of(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _read_purpose(defined: Definition, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    is_class = isinstance(statement, ast.ClassDef)
    defined.is_test = statement.name.startswith("Test" if is_class else "test")
    fixtures = [
        decorator
        for node in ast.walk(statement)
        for decorator in _decorators(node)
        if re.match(r"(pytest\.)?fixture\b", ast.unparse(decorator))
    ]
    defined.is_fixture = bool(fixtures) and not is_class
    defined.is_automatic = defined.is_fixture and any("autouse=True" in ast.unparse(one) for one in fixtures)
    if defined.is_test or defined.is_fixture:
        for node in ast.walk(statement):
            if isinstance(node, ast.arguments):
                defined.requests.update(one.arg for one in (*node.posonlyargs, *node.args, *node.kwonlyargs))


def _bind_imports(module: Module, defined: Definition, statement: ast.AST) -> None:
    """Of late imports too, those inside of functions."""
    for node in ast.walk(statement):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    defined.imports.add(alias.name)
                    bound = alias.asname or alias.name.split(".", maxsplit=1)[0]
                    whole = alias.asname is None and "." in alias.name  # read as `a.b.name`
                    module.imports.setdefault(bound, set()).add(Import(alias.name, EVERYTHING if whole else None))
            case ast.ImportFrom(names=names):
                source = _imported_from(module, node)
                defined.imports.add(source)
                for alias in names:
                    defined.imports.add(f"{source}.{alias.name}")  # if it is a module itself
                    module.imports.setdefault(alias.asname or alias.name, set()).add(Import(source, alias.name))
            case _:
                pass


def _imported_from(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    is_package = module.path.endswith("/__init__.py")
    parts = module.name.split(".")
    around = parts[: len(parts) - node.level + is_package]
    return ".".join([*around, *([node.module] if node.module else [])])


def changed_names(before: Module | None, after: Module | None) -> set[str]:
    """The names of a module that are new, gone, or stand for something else than before."""
    old, new = _meanings(before), _meanings(after)
    return {name for name in set(old) | set(new) if old.get(name) != new.get(name)}


def names_of(module: Module | None) -> AbstractSet[str]:
    """What can be imported from a module."""
    return _meanings(module).keys()


def _meanings(module: Module | None) -> Mapping[str, object]:
    if module is None:
        return {}
    imported = {name: frozenset(targets) for name, targets in module.imports.items()}
    return {**imported, **{name: definition.digest for name, definition in module.definitions.items()}}
