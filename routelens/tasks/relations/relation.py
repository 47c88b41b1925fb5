"""What a relation of the hops task is: what it may link, how a link is stated, and how it is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A relation in one direction: from an entity of the class ``known`` to one of the class ``found``.

    ``nouns`` and ``asks`` name and ask for what is found by what is known (``{x}``); ``role`` is what it is to it.
    """

    known: str
    found: str
    nouns: tuple[str, ...]
    asks: tuple[str, ...]
    role: str


@dataclass(frozen=True)
class Relation:
    """One kind of link between an entity of the class ``source`` and one of the class ``target``.

    ``statements`` say it of ``{s}``, the subject, and ``{o}``, the object. It is asked for forward (subject known)
    and in reverse (object known).
    """

    name: str
    source: str
    target: str
    statements: tuple[str, ...]
    nouns: tuple[str, ...]
    asks: tuple[str, ...]
    role: str
    reverse_nouns: tuple[str, ...]
    reverse_asks: tuple[str, ...]
    reverse_role: str

    def asked(self, *, backwards: bool) -> Asked:
        """The words of one direction."""
        if backwards:
            words = (self.reverse_nouns, self.reverse_asks, self.reverse_role)
            return Asked(self.target, self.source, *words)
        return Asked(self.source, self.target, self.nouns, self.asks, self.role)
