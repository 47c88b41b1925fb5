"""The six sorts of subject of the base task, one file each."""

from collections.abc import Mapping

from routelens.tasks.subjects.creature import CREATURE
from routelens.tasks.subjects.event import EVENT
from routelens.tasks.subjects.organization import ORGANIZATION
from routelens.tasks.subjects.person import PERSON
from routelens.tasks.subjects.place import PLACE
from routelens.tasks.subjects.subject import Subject
from routelens.tasks.subjects.thing import THING

SUBJECTS: Mapping[str, Subject] = {
    "person": PERSON,
    "organization": ORGANIZATION,
    "creature": CREATURE,
    "place": PLACE,
    "thing": THING,
    "event": EVENT,
}

__all__ = ["SUBJECTS", "Subject"]
