"""The sorts of subject of the multi_presence task, one file each."""

from routelens.tasks.chronicles.event import EVENT
from routelens.tasks.chronicles.heirloom import HEIRLOOM
from routelens.tasks.chronicles.mender import MENDER
from routelens.tasks.chronicles.performer import PERFORMER
from routelens.tasks.chronicles.society import SOCIETY
from routelens.tasks.chronicles.species import SPECIES
from routelens.tasks.chronicles.town import TOWN
from routelens.tasks.narrative import Setting

CHRONICLES: tuple[Setting, ...] = (MENDER, PERFORMER, TOWN, SOCIETY, HEIRLOOM, EVENT, SPECIES)

__all__ = ["CHRONICLES"]
