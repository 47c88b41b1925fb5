"""Items that cannot stand in one file: two with one id, or one passage id for two contexts."""

from routelens.types import Item


class Seen:
    """Finds ids used twice and passage ids used for two contexts."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.passages: dict[str, tuple[str, str]] = {}

    def clashes(self, item: Item, where: str) -> list[str]:
        """What clashes with the items before; ``where`` names this one's place for those to come."""
        messages = []
        first = self.ids.setdefault(item.id, where)
        if first != where:
            messages.append(
                f"id {item.id!r} was used in {first}; give each row its own "
                "(without one, equal context, question and answer make equal ids)."
            )
        context, first = self.passages.setdefault(item.passage_id, (item.context, where))
        if context != item.context:
            messages.append(
                f"passage_id {item.passage_id!r} belongs to another context in {first}; "
                "items of one passage share its text."
            )
        return messages
