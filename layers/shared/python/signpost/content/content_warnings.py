"""Finds the warnings about documents, their files and prompts. Import this module on first use: only publications need
it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from signpost.content.agent_skills.files import SKILL_FILE, is_text, mime_type_of
from signpost.content.agent_skills.skill_md import front_matter_in
from signpost.content.markdown import MARKDOWN, title_of
from signpost.content.model import StoredPrompt
from signpost.hazards.characters import find_hidden_characters
from signpost.hazards.model import EntryKind, Hazard, PublicationWarning, warn_about
from signpost.hazards.names import find_label_hazards, find_look_alikes, find_name_hazards
from signpost.hazards.texts import find_text_hazards
from signpost.model import Json


def find_document_warnings(skill_id: str, body: str) -> Sequence[PublicationWarning]:
    found = list(find_text_hazards(body))
    codes = {hazard.code for hazard in found}
    # A front matter may write a character as an escape, which only shows when it is parsed.
    fields = front_matter_in(body.removeprefix("\ufeff"))
    texts = list(_texts_in(fields[0])) if fields else []
    found += (Hazard(hazard.code, f"in the front matter: {hazard.message}", 1) for text in texts
              for hazard in find_text_hazards(text) if hazard.code not in codes)  # fmt: skip
    found += (Hazard(hazard.code, f"the title: {hazard.message}") for hazard in find_name_hazards(title_of(body) or "")
              if hazard.code not in codes)  # fmt: skip
    return list(dict.fromkeys(warn_about("skill", skill_id, found)))


def find_file_warnings(path: str, body: bytes) -> Sequence[PublicationWarning]:
    """Find the warnings about a file beside a SKILL.md: its name, and its text if it is one."""
    hazards = [Hazard(hazard.code, f"its name: {hazard.message}") for hazard in find_name_hazards(path)]
    mime_type = mime_type_of(path, body)
    if is_text(mime_type):
        text = body.decode(errors="replace")
        hazards += find_text_hazards(text) if mime_type == MARKDOWN else find_hidden_characters(text)
    return list(warn_about("file", path, hazards))


def find_file_name_warnings(paths: Iterable[str]) -> Iterator[PublicationWarning]:
    """Find the files of one skill whose names look like another one's, such as that of its SKILL.md."""
    for path, hazard in find_look_alikes(paths, [SKILL_FILE], label="another file"):
        yield from warn_about("file", path, [hazard])


def find_prompt_warnings(prompt: StoredPrompt) -> Sequence[PublicationWarning]:
    hazards = [Hazard(hazard.code, f"the description: {hazard.message}")
               for hazard in find_text_hazards(prompt.description)]  # fmt: skip
    names = [argument.name for argument in prompt.arguments]
    hazards += (Hazard(hazard.code, f"the argument {name!a}: {hazard.message}")
                for name, hazard in find_label_hazards(names, "another argument"))  # fmt: skip
    for argument in prompt.arguments:
        hazards += (Hazard(hazard.code, f"the description of the argument {argument.name!a}: {hazard.message}")
                    for hazard in find_text_hazards(argument.description or ""))  # fmt: skip
    return list(warn_about("prompt", prompt.name, hazards))


def find_name_warnings(kind: EntryKind, names: Iterable[str], others: Iterable[str]) -> Iterator[PublicationWarning]:
    """Find the names of entries that look like the name of another one of them, or of an entry that exists already."""
    for name, hazard in find_look_alikes(names, others, label=f"another {kind}"):
        yield from warn_about(kind, name, [hazard])


def _texts_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, member in value.items():
            yield name
            yield from _texts_in(member)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts_in(entry)
