"""The notices to subscribers about callable skills that an executor gained, kept or lost, by a load or a placement."""

from collections.abc import Iterable, Sequence

from signpost.calling.lookup import FunctionList
from signpost.calling.skill_names import index_by_skill_name
from signpost.contract import HostedFunction
from signpost.directory.model import LoadNotice
from signpost.records import dataclass


@dataclass(frozen=True, slots=True)
class SkillNames:
    """The names of an executor's callable skills before and after a change of it."""

    before: frozenset[str]
    after: frozenset[str]

    @property
    def notices(self) -> Sequence[LoadNotice]:
        return tuple(self._build_notices())

    def _build_notices(self) -> Iterable[LoadNotice]:
        for name in sorted(self.before | self.after):
            if name not in self.after:
                yield LoadNotice("unload", name)
            else:
                yield LoadNotice("reload" if name in self.before else "load", name)


def find_skill_names(
    previous_ids: frozenset[str],
    hosted: Sequence[HostedFunction],
    own: Sequence[HostedFunction],
    shipped: Sequence[HostedFunction],
) -> SkillNames:
    """Find the names of an executor's skills: before, of its `previous_ids` among the tenant's `own` functions, and
    after, of the functions that it hosts now."""
    kept = [each for each in own if each.function not in previous_ids]
    return SkillNames(
        before=_names_of(own, shipped, previous_ids),
        after=_names_of([*kept, *hosted], shipped, frozenset(each.function for each in hosted)),
    )


def _names_of(own: Sequence[HostedFunction], shipped: Sequence[HostedFunction], ids: frozenset[str]) -> frozenset[str]:
    """Return the skill names of those of the tenant's own functions that have these ids."""
    by_id = {hosted.function: hosted for hosted in (*shipped, *own)}
    found = FunctionList(
        [by_id[function] for function in sorted(by_id)], frozenset(hosted.function for hosted in own), settings={}
    )
    return frozenset(name for name, hosted in index_by_skill_name(found).items() if hosted.function in ids)
