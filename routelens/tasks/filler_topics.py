"""What the filler has to say: for each topic, clauses and conditions in the habitual present, and the frames all topics share.

``[a|b|c]`` stands for one of its alternatives. A clause can follow a lead, a condition or a frame, and can take a tail or be
joined to another clause of its topic. All of it is about nobody in particular: no names, numbers or dates, and no word of the
closed classes from which values are drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """The clauses of one topic, and the conditions ("when the wind turns") that can open them."""

    clauses: tuple[str, ...]
    conditions: tuple[str, ...]


LEADS = (
    "on most days",
    "as a rule",
    "in a [good|bad] year",
    "now and then",
    "at this time of year",
    "more often than not",
    "for much of the year",
    "on [quiet|busy] days",
    "in most years",
    "these days",
    "in this part of the country",
    "from time to time",
)
FRAMES = (
    "most people agree that",
    "it is often said that",
    "anyone who looks closely can see that",
    "it is easy to forget that",
    "visitors soon notice that",
    "people are reminded now and then that",
    "the older people like to point out that",
    "it comes as no surprise that",
    "it is hardly news that",
    "newcomers are always told that",
)
TAILS = (
    "which suits nearly everybody",
    "although hardly anybody talks about it",
    "whatever the weather",
    "as it has always been",
    "and few people give it much thought",
    "or so the older people say",
    "just as it should be",
    "and nobody would have it any other way",
    "at least until the weather changes",
    "as far as anybody can tell",
    "and it has been like that for years",
    "as anybody can see",
)
JOINTS = (", and ", ", while ", ", and all the same ", "; meanwhile ", ", and at other times ")

TOPICS: Mapping[str, Topic] = {
    "weather on a coast": Topic(
        (
            "the wind comes in from the sea and shakes the windows",
            "[low|grey|heavy] clouds gather over the water and stay there",
            "the fog lifts slowly and the walls stay [wet|damp]",
            "the rain falls sideways and finds every gap in the roof",
            "a thin line of light lies along the edge of the sea",
            "the waves throw [stones|sand] across the path behind the beach",
            "the air smells of the sea and of wet wood",
            "a warm breeze dries the [washing|paths] behind the houses",
            "the tide carries driftwood up to the [steps|wall] below the houses",
            "the light changes so fast that the colours never stay the same",
            "people close their shutters and wait for the wind to drop",
            "[children|visitors] walk along the beach to look at the high waves",
            "a cold mist hangs between the houses and the shore",
            "the wind bends the small trees along the shore",
        ),
        (
            "when the wind turns",
            "if the clouds stay low",
            "when the sea is calm",
            "while the tide is high",
            "in the cold months",
            "after the rain",
        ),
    ),
    "gardening": Topic(
        (
            "the beds are dug over and left to rest",
            "weeds come back wherever the soil is bare",
            "the [young|small] plants are kept under glass until the nights are warm",
            "a thick layer of compost keeps the soil [damp|warm]",
            "apple trees are cut back hard and seem none the worse for it",
            "the cabbages need more [water|room] than anybody expects",
            "the tools are cleaned and hung in the shed",
            "good soil takes many years and a great deal of patience",
            "flowers grow best where the stones hold the heat",
            "fruit ripens on the sunny side of the wall",
            "the paths between the beds are kept narrow to save room",
            "a late frost can ruin the work of many weeks",
            "seeds are sown in straight rows and covered with fine soil",
        ),
        (
            "when the soil is dry",
            "if the nights are cold",
            "as soon as the frost is over",
            "in a small garden",
            "in the warm months",
            "when the beds are ready",
        ),
    ),
    "bread": Topic(
        (
            "the dough is mixed late and left to rise in a warm place",
            "a hot oven makes the crust hard and dark",
            "the loaves cool on a rack near the open [door|window]",
            "the smell of the oven fills the whole house",
            "good flour matters more than any clever method",
            "a wet dough gives an open crumb and a thin crust",
            "the starter is fed with flour and water and kept in a cool place",
            "dark bread keeps for many days in a dry place",
            "the [rolls|small loaves] are taken out long before the large ones",
            "the baking stone stays warm for a long time",
            "too much yeast can ruin the taste of the crumb",
            "old bread is dried and used to thicken a soup",
            "the crust cracks while the loaf is cooling",
        ),
        (
            "when the kitchen is cold",
            "on baking days",
            "as soon as the oven is hot",
            "while the loaves are cooling",
            "after a cold night",
            "when the bread is out of the oven",
        ),
    ),
    "repairing roads": Topic(
        (
            "the frost opens cracks and the rain makes them wider",
            "the [crew|workers] put out signs long before the work begins",
            "traffic is led along a narrow lane on the other side",
            "the holes are filled with gravel and rolled flat",
            "heavy traffic wears the surface out sooner than rain does",
            "the drains are cleared so that water can run off the road",
            "a new surface makes a good deal of noise until it has settled",
            "the stones along the edges are lifted out and set straight again",
            "the work is done at night so that few people have to wait",
            "a small patch holds for a while before it breaks again",
            "people complain about the dust and then about the noise",
            "new pipes are laid in the trench before it is closed",
            "the lines are painted again and take a long time to dry",
        ),
        (
            "in the warm months",
            "in wet weather",
            "in dry weather",
            "while the road is closed",
            "in the cold months",
            "as long as the drains are clear",
        ),
    ),
    "a stream through the seasons": Topic(
        (
            "the stream runs high and brown after the thaw",
            "the water drops so low that the stones lie [dry|bare]",
            "thin ice forms along the edges and breaks again in the sun",
            "the flood carries branches as far as the old mill",
            "the banks are cut away a little more with every flood",
            "the pools below the bridge stay cool and deep",
            "mist rises from the water and drifts between the trees",
            "the sound of the water can be heard from the [path|lane]",
            "flowers open along the banks below the trees",
            "the flood paints a line of mud on the walls of the mill",
            "people cross on flat stones where the water is shallow",
            "the old trees hold the banks together",
            "the shade of the trees keeps the water cold",
            "the stream runs along both sides of the mill",
        ),
        (
            "when the water is low",
            "if the thaw comes early",
            "as soon as the ice breaks",
            "while the flood lasts",
            "after a cold night",
            "when the mud has settled",
        ),
    ),
    "libraries": Topic(
        (
            "the reading room is [warm|quiet] and smells of old books",
            "most of the books are borrowed again and again",
            "people read the newspapers near the tall window",
            "the shelves below the stairs hold more than the rooms above",
            "[students|visitors] look for a table where nobody is talking",
            "children sit on the floor and turn the pages slowly",
            "a book in the wrong place is as good as lost",
            "the notes in the margins are sometimes better than the book",
            "the people at the desk know where to look before anybody has asked",
            "late books come back with old lists between their pages",
            "the old lists are kept although nobody needs them",
            "the lamps on the tables give a warm light",
            "large books have to be opened with both hands",
        ),
        (
            "when the rooms are full",
            "in the quiet hours",
            "as soon as the doors are open",
            "while people are reading",
            "when it rains",
            "when the books are back on the shelf",
        ),
    ),
    "sheep": Topic(
        (
            "the flock spends the warm part of the year on high ground",
            "the lambs stay close to the ewes for many weeks",
            "the sheep follow the same narrow paths along the slope",
            "the fleece is rolled up and stacked in the shed",
            "a gap in the wall is found by the sheep sooner or later",
            "the ewes are brought to the farm before the lambs are born",
            "hay is carried up to the flock by hand",
            "the old walls give the animals some shelter from the wind",
            "the flock moves slowly and stops wherever it likes",
            "the sheep know the sound of the feed and come running",
            "[thick|heavy] fleeces keep out the rain for a long time",
            "neighbours help each other on the days of the shearing",
            "people count the flock before they go home",
            "the walls are mended before the flock comes home",
        ),
        (
            "when the ground is frozen",
            "in wet weather",
            "as soon as the lambs can walk",
            "while the flock is away",
            "before the shearing begins",
            "after the shearing",
        ),
    ),
    "sailing": Topic(
        (
            "the crew raise the sail as soon as the boat is free of the quay",
            "the hull is cleaned and painted before the boat goes back into the water",
            "a light wind makes for a slow and quiet trip",
            "the lines have to be coiled so that nobody trips over them",
            "the shallow water near the shore is marked with poles",
            "a torn sail can be [sewn|mended] on deck in calm weather",
            "the tide decides when the boats can leave the harbour",
            "the waves make the deck wet and cold",
            "most of the boats in the harbour are older than their owners",
            "the wind is steadier outside the harbour than near the shore",
            "a good crew work together without many words",
            "the sails are dried and folded before they are put away",
            "the mast creaks and the water runs along the hull",
            "small boats turn more quickly and suit the narrow channel",
        ),
        (
            "when the wind is fresh",
            "if the sea is rough",
            "as soon as the tide turns",
            "before a long trip",
            "in calm weather",
            "as long as the wind holds",
        ),
    ),
}
