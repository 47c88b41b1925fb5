"""An artefact: maker, material, weight, place, owner, figure, outing, repair, insurance, theft."""

from routelens.tasks.subjects.subject import Subject
from routelens.tasks.templates import manipulated, reverse, several, standard

THING = Subject(
    slots={
        "name": "artefact",
        "maker": "person",
        "date": "date",
        "material": "material",
        "weight": "number",
        "town": "town",
        "owner": "society",
        "carving": "creature",
        "event": "event",
        "restorer": "person",
        "company": "company",
        "year": "year",
        "d_material": "material",
        "d_person": "person",
        "d_person2": "person",
        "d_town": "town",
        "d_artefact": "artefact",
        "d_weight": "number",
        "d_company": "company",
        "d_date": "date",
        "d_society": "society",
        "d_event": "event",
        "d_field": "field",
        "d_college": "college",
    },
    refs=("the <noun>",),
    openings=(
        "The {name} was made by {maker}, who finished it on {date} after eleven winters of work.",
        "After eleven winters of work, {maker} finished the {name} on {date}.",
    ),
    facts=(
        (
            "<Ref> is made of {material}, which gives it an unusual colour.",
            "<Ref> was made from a single piece of {material}.",
        ),
        (
            "<Ref> weighs {weight} kilograms, so two people are needed to lift it.",
            "Two people are needed to lift <ref>, since it weighs {weight} kilograms.",
        ),
        (
            "Today <ref> is on show in {town}, in a round room without windows.",
            "<Ref> can be seen in {town}, in a round room without windows.",
        ),
        (
            "<Ref> belongs to the {owner}, which refuses every offer to sell it.",
            "The owner of <Name> is the {owner}, which refuses every offer to sell it.",
        ),
        (
            "<Ref> is decorated with the figure of {a carving}, visible only in slanting light.",
            "On its underside <ref> bears the figure of {a carving}, visible only in slanting light.",
        ),
        (
            "Once a year <ref> is carried through the streets at the {event}, under heavy guard.",
            "<Ref> leaves the building only for the {event}, and then under heavy guard.",
        ),
        (
            "<Ref> was last repaired by {restorer}, who replaced a broken hinge.",
            "The last person to repair <Name> was {restorer}, who replaced a broken hinge.",
        ),
        (
            "<Ref> is insured by {company}, at a price that has never been made public.",
            "At a price that has never been made public, {company} insures <ref>.",
        ),
        (
            "<Ref> was stolen in {year} and came back a week later in a hay cart.",
            "In {year} <ref> was stolen, only to come back a week later in a hay cart.",
        ),
    ),
    distractors=(
        "A copy made of {d_material} by {d_person} stands in {d_town} and fools many visitors.",
        "The {d_artefact}, listed beside it in older catalogues, weighs {d_weight} kilograms and was sold to {d_company}.",
        "In a letter dated {d_date}, a carrier named {d_person2} complains about the cost of transport.",
        "The {d_society} once asked for a loan for the {d_event}, but was turned away.",
        "Scholars of {d_field} from {d_college} have argued over the inscription for decades.",
    ),
    asks=(
        standard(
            "maker",
            "Who made the {name}?",
            "Who was the maker of the {name}?",
            "By whom was the {name} made?",
        ),
        standard(
            "date",
            "When was the {name} finished?",
            "On what date was the {name} finished?",
            "What is the date on which the {name} was finished?",
        ),
        standard(
            "material",
            "What is the {name} made of?",
            "Which material is the {name} made of?",
            "From what material was the {name} made?",
        ),
        standard(
            "weight",
            "How many kilograms does the {name} weigh?",
            "What does the {name} weigh in kilograms?",
            "What is the weight of the {name} in kilograms?",
        ),
        standard(
            "town",
            "Where is the {name} on show?",
            "In which town can the {name} be seen?",
            "In which town is the {name} on show?",
        ),
        standard(
            "owner",
            "Who owns the {name}?",
            "To which organization does the {name} belong?",
            "Which organization is the owner of the {name}?",
        ),
        standard(
            "carving",
            "Which animal decorates the {name}?",
            "The figure of which animal is on the {name}?",
            "What animal's figure does the {name} bear?",
        ),
        standard(
            "event",
            "At which event is the {name} shown under guard?",
            "For which event does the {name} leave the building?",
            "To which event is the {name} taken under heavy guard?",
        ),
        standard(
            "restorer",
            "Who last repaired the {name}?",
            "Who was the last person to repair the {name}?",
            "By whom was the {name} last repaired?",
        ),
        standard(
            "company",
            "Which company insures the {name}?",
            "Who insures the {name}?",
            "By which company is the {name} insured?",
        ),
        standard(
            "year",
            "In which year was the {name} stolen?",
            "When was the {name} stolen?",
            "What was the year of the theft of the {name}?",
        ),
        reverse(
            "name",
            "What did {maker} make?",
            "Which object did {restorer} repair?",
            "Which object belongs to the {owner}?",
        ),
        manipulated(
            "date",
            "year",
            "In which year was the {name} finished?",
            "What year was the {name} finished in?",
            "What is the year in which the {name} was finished?",
        ),
        manipulated(
            "date",
            "month",
            "In which month was the {name} finished?",
            "What month was the {name} finished in?",
            "What is the month in which the {name} was finished?",
        ),
        manipulated(
            "maker",
            "first",
            "What is the first name of the person who made the {name}?",
            "What is the first name of the maker of the {name}?",
            "What is the given name of the maker of the {name}?",
        ),
        manipulated(
            "restorer",
            "last",
            "What is the last name of the person who last repaired the {name}?",
            "What is the surname of the person who last repaired the {name}?",
            "What is the family name of the last person to repair the {name}?",
        ),
        several(
            "{maker} on {date}",
            "Who made the {name}, and when was it finished?",
            "Who was the maker of the {name}, and on what date was it finished?",
            "By whom was the {name} made, and when was it finished?",
        ),
        several(
            "{material} and {weight}",
            "What is the {name} made of, and how many kilograms does it weigh?",
            "Which material is the {name} made of, and what does it weigh in kilograms?",
            "From what material was the {name} made, and what is its weight in kilograms?",
        ),
    ),
)
