"""Overviews by topic: their URIs, their templates, and the completion of the templates' variables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from signpost.calling.uri_templates import UriTemplate, parse_uri_template
from signpost.mcp.messages import encode
from signpost.mcp.tool_names import spell_links
from signpost.model import Call, Completion, Json, JsonObject, Resource, ResourceTemplate, as_object
from signpost.policy.policy_items import resource_item
from signpost.records import dataclass
from signpost.surfaces.overview.resources import SCHEME

if TYPE_CHECKING:
    from signpost.policy.access import AccessLookup
    from signpost.policy.policy_items import PolicyItem

JSON = "application/json"
TOPIC = "topic"
"""The variable of the template whose instances are the whole overviews."""


class Overview(Protocol):
    """Reads the resources of one topic. A value that the caller may not see is None, like one that does not exist."""

    def read_all(self, call: Call) -> JsonObject | None: ...

    def read_one(self, name: str, call: Call) -> JsonObject | None: ...

    def list_names(self, call: Call) -> Sequence[str]:
        """Returns the names that complete the variable of the template."""
        ...


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    title: str
    says: str
    load: Callable[[], Overview]
    """Returns the overview of the topic, always the same object. Lists of templates do not call it."""
    variable: str = ""
    """The variable of the template for one entry; empty if there is none."""

    @property
    def uri(self) -> str:
        return f"{SCHEME}{self.name}"

    @property
    def pattern(self) -> str:
        return f"{self.uri}/{{{self.variable}}}"


class Overviews:
    """Reads overviews for callers. Rules apply to their URIs as to those of other resources."""

    def __init__(self, topics: Sequence[Topic], accesses: "AccessLookup") -> None:
        self._topics = topics
        self._accesses = accesses
        self._whole = parse_uri_template(f"{SCHEME}{{{TOPIC}}}")
        self._one: Mapping[str, UriTemplate] = {
            topic.name: parse_uri_template(topic.pattern) for topic in topics if topic.variable
        }

    def list_resources(self, call: Call) -> Sequence[Resource]:
        return self._accesses.of(call.principal).filter(
            [
                Resource(topic.uri, topic.name, title=topic.title, description=topic.says, mime_type=JSON)
                for topic in self._topics
            ],
            lambda resource: _item_of(resource.uri),
        )

    def list_templates(self, call: Call) -> Sequence[ResourceTemplate]:
        return self._accesses.of(call.principal).filter(
            list(self._templates()), lambda template: _item_of(template.uri_template)
        )

    def read(self, uri: str, call: Call) -> Sequence[JsonObject] | None:
        for topic in self._topics:
            value = self._read_topic(topic, uri, call)
            if value is not None:
                return [{"uri": uri, "mimeType": JSON, "text": encode(spell_links(value, call.spell_tool))}]
        return None

    def complete(self, pattern: str, argument: str, value: str, call: Call) -> Completion | None:
        found = self._names_of(pattern, argument, call)
        if found is None:
            return None
        template, names = found
        access = self._accesses.of(call.principal)
        fitting = [
            name
            for name in names
            if name.startswith(value) and access.allows(_item_of(str(template.expand({argument: name}))))
        ]
        return Completion(fitting, len(fitting))

    def _templates(self) -> Iterator[ResourceTemplate]:
        names = ", ".join(f"`{topic.name}`" for topic in self._topics)
        yield ResourceTemplate(
            self._whole.text,
            "overview",
            title="Overview of this server",
            description=f"The overview of a topic: {names}.",
            mime_type=JSON,
        )
        for topic in self._topics:
            if topic.variable:
                yield ResourceTemplate(
                    topic.pattern,
                    topic.name,
                    title=topic.title,
                    description=f"{topic.says} One by its {topic.variable}. {topic.uri} shows all.",
                    mime_type=JSON,
                )

    def _read_topic(self, topic: Topic, uri: str, call: Call) -> JsonObject | None:
        is_whole = uri == topic.uri
        template = self._one.get(topic.name)
        variables = None if is_whole or template is None else template.values_in(uri)
        if not (is_whole or variables) or not self._accesses.of(call.principal).admits(_item_of(uri)):
            return None
        overview = topic.load()
        if variables:
            return overview.read_one(variables[topic.variable], call)
        whole = overview.read_all(call)
        return whole if whole is None or template is None else self._drop_denied(whole, topic, template, call)

    def _drop_denied(self, whole: JsonObject, topic: Topic, template: UriTemplate, call: Call) -> JsonObject:
        """Leave out the entries that the caller could not read one by one."""
        access = self._accesses.of(call.principal)

        def is_allowed(entry: Json) -> bool:
            name = as_object(entry).get(topic.variable)
            return not isinstance(name, str) or access.allows(_item_of(str(template.expand({topic.variable: name}))))

        if access.is_open:
            return whole
        return {
            member: list(filter(is_allowed, value)) if isinstance(value, list | tuple) else value
            for member, value in whole.items()
        }

    def _names_of(self, pattern: str, argument: str, call: Call) -> tuple[UriTemplate, Sequence[str]] | None:
        """Return the template of this pattern and the values of its variable; None if there is no such template."""
        if (pattern, argument) == (self._whole.text, TOPIC):
            return self._whole, [topic.name for topic in self._topics]
        for topic in self._topics:
            if topic.variable and (pattern, argument) == (topic.pattern, topic.variable):
                return self._one[topic.name], topic.load().list_names(call)
        return None


def _item_of(uri: str) -> "PolicyItem":
    return resource_item(uri, ())
