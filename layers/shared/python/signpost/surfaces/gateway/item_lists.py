"""Lists the items that a principal finds, from the lists that all surfaces share, and keeps them until one of these
lists or the rules change."""

from signpost.caches import JoinedCache
from signpost.calling.function_listing import FunctionListing, ListKey
from signpost.catalogue.callable_skills import CallableSkill, CallableSkills
from signpost.catalogue.catalogue_access import CatalogueAccess
from signpost.content.api.functions import addressable_skills
from signpost.content.cache import ContentView
from signpost.content.documents import Skills
from signpost.content.prompts import Prompts
from signpost.model import Call, Principal
from signpost.surfaces.documents import SlashCommands, caller_of
from signpost.surfaces.gateway.found_items import FoundItems, StartableItems
from signpost.surfaces.toolkit_components import ToolkitComponents

REMEMBERED = 64
"""The lists that are kept, one for each tenant and each set of rules and met conditions of a principal of it. A list of
thousands of items with its search index is large."""


class ItemLists:
    """Lists the items that principals find."""

    def __init__(
        self,
        *,
        catalogue: CatalogueAccess,
        listing: FunctionListing,
        callable_skills: CallableSkills,
        content: ContentView,
        documents: Skills,
        prompts: Prompts,
        components: ToolkitComponents,
    ) -> None:
        self._catalogue = catalogue
        self._listing = listing
        self._callable_skills = callable_skills
        self._content = content
        self._documents = documents
        self._slash_commands = SlashCommands(prompts)
        self._components = components
        self._startable = JoinedCache[ListKey, StartableItems](REMEMBERED)
        self._found = JoinedCache[ListKey, FoundItems](REMEMBERED)

    def startable(self, principal: Principal) -> StartableItems:
        catalogue, skills = self._catalogue.load(principal), self._callable_skills.allowed(principal)
        return self._startable.get(self._key(principal), (catalogue, skills), lambda: StartableItems(catalogue, skills))

    def everything(self, call: Call) -> FoundItems:
        """List the items of all kinds, without instances of templates: only a call of a function could list those."""
        principal, startable = call.principal, self.startable(call.principal)
        components = self._components.index(call)
        content = self._content.skills(principal.tenant), self._content.prompts(principal.tenant)

        def build() -> FoundItems:
            return FoundItems(
                startable=startable,
                documents=addressable_skills(self._documents.list_readable(caller_of(call))),
                prompts=[*self._slash_commands.prompts(call), *self._components.prompts(call)],
                resources=components.listed_resources,
                templates=components.listed_templates,
            )

        return self._found.get(self._key(principal), (startable, components, *content), build)

    def find_hidden_skill(self, principal: Principal, name: str) -> CallableSkill | None:
        """Find a skill that lists leave out, by its name, unless a published capability has the name. Reports a
        denial."""
        if name in self._catalogue.load(principal).capability_ids:
            return None
        return self._callable_skills.find(principal, name)

    def report_missing(self, principal: Principal, name: str) -> None:
        """Report a denial if policy denies the published item of this name."""
        self._catalogue.report_missing(principal, name)

    def _key(self, principal: Principal) -> ListKey:
        return self._listing.of(principal).key
