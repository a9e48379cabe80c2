"""Generates random catalogues: what a tenant publishes, hosts and denies, of every kind that clients find."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from signpost.contract import Component, HostedFunction
from signpost.model import PromptArgument

GUEST_ROLE = "guest"
_SCHEMAS: Sequence[Any] = (
    None,
    {"type": "object"},
    {"type": "object", "properties": {"tree": {"enum": ["oak", "elm"]}}, "required": ["tree"]},
    {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 9}, "note": {"type": "string"}},
        "required": ["n"],
        "additionalProperties": False,
    },
)
_WORDS = ("oak", "elm", "fir", "ash", "yew", "bay")
_STATES: Mapping[str, Any] = {"open": {"transitions": {"go": {"target": "shut"}}}, "shut": {"terminal": True}}


@dataclass(frozen=True, slots=True)
class RandomCatalogue:
    """What a tenant has."""

    hosted: Sequence[HostedFunction]
    documents: Mapping[str, str]
    prompts: Mapping[str, Sequence[PromptArgument]]
    """Registered slash commands, with their arguments."""
    manifest: Mapping[str, Any]


def generate_catalogue(random: Random) -> RandomCatalogue:
    documents = {f"yard/{name}": f"# About {name}\n\nWhat a {name} is.\n" for name in _some(random, _WORDS)}
    skills = [_skill(random, name) for name in _some(random, _WORDS, least=2)]
    components = [*_prompts(random), *_resources(random)]
    registered = {f"ask-{name}": _arguments(random) for name in _some(random, _WORDS)}
    manifest = _manifest(random)
    named = [
        *(f"skill:{skill.name}" for skill in skills),
        *(f"iii://{document}" for document in documents),
        *(f"workflow:{name}" for name in manifest["workflows"]),
        *registered,
        *(str(component.function) for component in components),
    ]
    denied = _some(random, named)
    policies = {"no": {"kind": "deny", "who": [f"role:{GUEST_ROLE}"], "what": denied}} if denied else {}
    return RandomCatalogue([*skills, *components], documents, registered, {**manifest, "policies": policies})


def _some(random: Random, names: Sequence[str], least: int = 0) -> Sequence[str]:
    return random.sample(names, random.randint(least, len(names)))


def _skill(random: Random, name: str) -> HostedFunction:
    """Declare a skill. Its document may be one that the tenant does not have."""
    return HostedFunction(
        f"yard::{name}",
        name=random.choice([name, f"yard.{name}"]),
        description=f"Fells the {name}.",
        input_schema=random.choice(_SCHEMAS),
        hidden=random.random() < 0.2,
        doc=f"yard/{name}" if random.random() < 0.6 else None,
    )


def _prompts(random: Random) -> Sequence[HostedFunction]:
    return [
        HostedFunction(
            f"yard::tell_{name}", name=f"tell_{name}", component=Component("prompt", arguments=_arguments(random))
        )
        for name in _some(random, _WORDS[:3])
    ]


def _resources(random: Random) -> Sequence[HostedFunction]:
    return [
        HostedFunction(
            f"yard::show_{name}",
            name=f"show_{name}",
            component=random.choice(
                [Component("resource", uri=f"yard://{name}"), Component("template", uri=f"yard://{name}/{{n}}")]
            ),
        )
        for name in _some(random, _WORDS[:3])
    ]


def _arguments(random: Random) -> Sequence[PromptArgument]:
    return tuple(
        PromptArgument(name, "A tree.", required=random.random() < 0.5) for name in _some(random, ("tree", "size"))
    )


def _manifest(random: Random) -> Mapping[str, Any]:
    workflows = {f"plant_{name}": _workflow(random) for name in _some(random, _WORDS, least=1)}
    enabled = [name for name, document in workflows.items() if document["enabled"]]
    exposed = [_exposure(random, name) for name in _some(random, _WORDS)]
    return {
        "workflows": workflows,
        **({"proxy": {"expose": exposed}} if exposed else {}),
        "schedules": {
            f"at-{number}": {"workflow": name, "cron": "0 * * * *", "input": {"tree": "oak", "n": 3}}
            for number, name in enumerate(_some(random, enabled))
        },
    }


def _workflow(random: Random) -> Mapping[str, Any]:
    schema = random.choice(_SCHEMAS[:3])
    timeout = {"timeoutMs": 60_000, "onTimeout": {"target": "shut"}} if random.random() < 0.5 else {}
    return {
        "initialState": "open",
        "enabled": random.random() < 0.8,
        "states": {**_STATES, "open": {**_STATES["open"], **timeout}},
        **({"inputSchema": schema} if schema is not None else {}),
    }


def _exposure(random: Random, name: str) -> Mapping[str, Any]:
    schema = random.choice(_SCHEMAS)
    return {
        "name": random.choice([name, f"wood.{name}"]),
        "executor": {"kind": "noop"},
        **({"inputSchema": schema} if schema is not None else {}),
    }
