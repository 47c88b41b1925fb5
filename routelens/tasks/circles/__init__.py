"""The sorts of subject of the multi_entity task, one file each."""

from routelens.tasks.circles.events import EVENTS
from routelens.tasks.circles.firms import FIRMS
from routelens.tasks.circles.heirlooms import HEIRLOOMS
from routelens.tasks.circles.people import PEOPLE
from routelens.tasks.circles.species import SPECIES
from routelens.tasks.circles.towns import TOWNS
from routelens.tasks.narrative import Setting

CIRCLES: tuple[Setting, ...] = (PEOPLE, FIRMS, TOWNS, SPECIES, EVENTS, HEIRLOOMS)

__all__ = ["CIRCLES"]
