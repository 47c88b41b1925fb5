"""The relations of the hops task, and how a walk along them is asked for."""

from routelens.tasks.relations.people import PEOPLE
from routelens.tasks.relations.places import PLACES
from routelens.tasks.relations.relation import Asked, Relation
from routelens.tasks.relations.wording import PHRASINGS, capital, word

RELATIONS = (*PEOPLE, *PLACES)

__all__ = ["PHRASINGS", "RELATIONS", "Asked", "Relation", "capital", "word"]
