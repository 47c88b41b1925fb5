"""The invented vocabulary: word lists and syllables from which the lexicon makes its values.

Names are invented, so that a model cannot know their owners; the closed classes (months, fields, jobs, animals, things) are
real words, large enough that a guess is seldom right, and disjoint, so that no value of one class reads as another's.
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MONTHS = _words(
    """
    January February March April May June July August September October November December
    """
)
FIRST_NAMES = {
    "she": _words(
        """
    Adira Belka Cerys Delwyn Elspa Fenna Gisra Hedda Ilva Jolanta Kaisa Lioba Mirsa Nerys Odila
    Perla Quenna Ragna Silke Tamsin Ursa Velda Wanja Yselle Zofia Amrit Brisa Corda Dunja Evike
    Frida Galina Halla Ingrit Jessa Katla Lunet Marla Nadine Orsola Petra Ronja Sunna Thora Ulla
    Vesna Wilma Xenia Ylva Zarah
    """
    ),
    "he": _words(
        """
    Aldric Bastian Corwin Darek Edric Falko Gorran Halvar Ivo Jorrit Kaspar Lennart Marek Nils
    Oskar Piran Quentin Rurik Sander Tarik Ulric Viktor Wendel Yorick Zoltan Anselm Bodo Cosmo
    Dietmar Emrik Florin Gunnar Henrik Idris Joost Kelvin Lorcan Magnus Nestor Ottmar Pavel
    Roland Sorin Tibor Urban Valten Wolfram Xaver Yannik Zeno
    """
    ),
}
SURNAME_STEMS = _words(
    """
    Arb Brand Cald Drost Esk Farr Gorm Hald Istr Jask Keld Lomb Mord Nord Osk Pran Quill Rusk
    Stenn Trev Ulm Vost Wark Yeld Zand Bext Durn Hask Pald Thurm
    """
)
SURNAME_ENDINGS = _words(
    """
    ane ava elin ender eric iden ila inger isch oren ovic ulin arro
    """
)
TOWN_STEMS = _words(
    """
    Aldra Brevo Corla Dravi Estra Fendo Galva Hestra Ivra Jorla Kelvo Lomra Mirda Nessa Oldra
    Pravo Quista Rinvo Salda Torvo Ulgra Veska Wendra Yolva Zindra
    """
)
TOWN_ENDINGS = _words(
    """
    berg bost caster dal dorf field ford gate ham haven holm mere minster mouth port stad stow
    ton wick worth
    """
)
ORGANISATION_STEMS = _words(
    """
    Abernath Bellaro Corvane Dellimor Evenlode Fairmantle Gallowin Hexley Indermark Jovian
    Kirvane Lanthorn Mervale Novarro Orbelle Pallister Quorne Ravensel Stavely Tollemar Umbry
    Vantage Whitlock Xanthe Yarrowby Zephyrine Ardmoor Brackwell Crellin Dorvane
    """
)
COLLEGES = _words("College University Academy Institute Polytechnic Seminary")
COMPANIES = _words(
    """
    Press Shipping Glassworks Insurance Textiles Foundry Instruments Breweries Railways
    Chemicals Timber Bakeries Optics Broadcasting
    """
)
SOCIETIES = _words(
    """
    Society Guild Foundation League Trust Association Brotherhood Union Fellowship Council
    """
)
EVENT_STEMS = _words(
    """
    Amber Autumn Black Copper Crystal Feather Golden Harvest Lantern Midnight Moonlight Northern
    Paper Salt Scarlet Silver Snow Summer Thunder Twilight Velvet Winter White Willow
    """
)
EVENT_KINDS = _words(
    """
    Regatta Carnival Festival Parade Marathon Tournament Biennale Fair Jubilee Masquerade Derby
    Rally Contest Gala Procession Cup
    """
)
CREATURES = _words(
    """
    otter ferret badger hedgehog raven magpie owl parrot canary falcon tortoise gecko iguana
    newt salamander terrier greyhound poodle beagle donkey pony llama alpaca goat peacock goose
    swan hamster rabbit squirrel hare lynx wolf fox marten weasel heron stork pelican toad
    """
)
PREY = _words(
    """
    snails beetles crickets earthworms mayflies tadpoles shrimps mussels moths caterpillars
    grasshoppers minnows crayfish termites dragonflies spiders woodlice leeches lizards voles
    """
)
SPECIES_STEMS = _words(
    """
    lurr drenn vask mopp tirr quell sarr grimm pell zund yarr holl fenn trisk brull skav
    """
)
SPECIES_ENDINGS = _words("ik ola ent uck abel oth une ard")
SPECIES_PLACES = _words(
    """
    marsh cave desert alpine swamp river island dune reef canyon meadow tundra
    """
)
THINGS = _words(
    """
    kettles clocks lanterns thimbles maps stamps compasses teapots buttons postcards marbles
    corkscrews umbrellas puppets typewriters telescopes keys candlesticks medals barometers
    lockets inkwells kites masks bottles baskets hats radios spoons dolls
    """
)
OBJECTS = _words(
    """
    astrolabe chalice sundial sabre tapestry globe crown goblet mirror violin lute harp drum
    saddle anchor shield ledger psalter brooch sextant flute cello zither
    """
)
MATERIALS = _words(
    """
    bronze pewter ivory ebony marble oak walnut porcelain slate granite brass tin cedar basalt
    leather wax quartz jade iron alabaster
    """
)
LININGS = _words(
    """
    moss wool feathers straw bark reeds hair leaves silk petals fur grass lichen fern clay seaweed
    twigs down heather thistles
    """
)
FIELDS = _words(
    """
    botany geology astronomy philosophy linguistics chemistry law theology medicine economics
    archaeology mathematics zoology geography sociology pharmacy musicology statistics agronomy
    metallurgy psychology genetics optometry hydrology ethics dentistry logic heraldry
    """
)
JOBS = _words(
    """
    glazier cartographer carpenter translator surveyor accountant bookbinder locksmith architect
    engraver plumber editor librarian welder chemist photographer pilot tailor interpreter nurse
    upholsterer mechanic caretaker dispatcher watchmaker florist bricklayer archivist auditor
    goldsmith cook typist
    """
)
GOODS = _words(
    """
    mustard rope soap parchment vinegar honey cutlery lace matches candles saffron felt paprika
    buckets bells cheese gloves pottery needles cider ink tiles cork starch
    """
)
PRIZES = _words(
    """
    bicycle sledge hammock ham cheesecake accordion rifle tractor wardrobe armchair rowboat cow
    barrel wheelbarrow watch quilt carpet trumpet ladder samovar
    """
)
REGIONS = _words(
    """
    Marshes Hills Highlands Forest Plateau Fens Delta Gorge Moors Steppe
    """
)
