"""Text to tokens, each with the characters it stands for, and ready-made ids checked.

Text that a user supplies never turns into control tokens; a continuation gets no blank that the tokenizer would put
before a text of its own; offsets are made to mean the same for every kind of tokenizer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from routelens.types import Span

TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>", "<|end|>")
ANCHORS = ("\n", "|", ".", "a")

Part = tuple[str, bool]
"""Text, and whether a user supplied it."""


@dataclass(frozen=True)
class Encoded:
    """Tokens of a text, each with the characters it stands for."""

    ids: tuple[int, ...]
    offsets: tuple[Span, ...]
    text: str


def encode_text(tokenizer: Any, text: str) -> tuple[int, ...]:
    """A whole prompt's tokens, control tokens recognised, with one BOS in front where the tokenizer puts one."""
    need_offsets(tokenizer)
    return with_bos(tokenizer, encode(tokenizer, [(text, False)], start=True)).ids


def as_ids(tokenizer: Any, token_ids: Any) -> tuple[int, ...]:
    """Ready-made token ids as a tuple, unchanged: from a list, a 1-D or one-row tensor, or a tokenizer's output.

    Raises:
        ValueError: More than one row, no ids, or a doubled BOS (which moves every position and feeds a second sink).
    """
    ids = token_ids["input_ids"] if hasattr(token_ids, "keys") else token_ids
    ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if len(ids) == 1 and isinstance(ids[0], list | tuple):
        ids = ids[0]
    if not ids or any(isinstance(one, list | tuple | str) for one in ids):
        raise ValueError(
            f"as_ids: token ids are one non-empty row of integers; got {str(token_ids)[:80]}. "
            "Pass one sequence at a time."
        )
    bos = _own_bos(tokenizer)
    if bos is not None and list(ids[:2]) == [bos, bos]:
        raise ValueError(
            f"as_ids: a prompt has one BOS, at position 0; got two (id {bos}). A chat template that "
            "writes BOS as text was tokenised with add_special_tokens=True: pass False."
        )
    return tuple(int(one) for one in ids)


def stop_ids(tokenizer: Any, generation_config: Any = None) -> frozenset[int]:
    """Ids that end an answer: EOS of tokenizer and generation config, and the end-of-turn tokens it knows."""
    if isinstance(generation_config, dict):
        configured = generation_config.get("eos_token_id")
    else:
        configured = getattr(generation_config, "eos_token_id", None)
    found = [tokenizer.eos_token_id]
    found += list(configured) if isinstance(configured, list | tuple) else [configured]
    added = tokenizer.get_added_vocab()
    found += [added.get(name) for name in TURN_ENDS]
    return frozenset(int(one) for one in found if one is not None)


def encode(tokenizer: Any, parts: Sequence[Part], *, start: bool) -> Encoded:
    """Tokens of the joined parts; ``start`` says whether the text opens the prompt.

    SentencePiece-like tokenizers put a blank in front of whatever they are given. A continuation must not have it, so
    it is tokenised behind an anchor, whose tokens are cut off again.
    """
    text = "".join(part for part, _ in parts)
    if not text:
        return Encoded((), (), "")
    if start or not _marks_start(tokenizer):
        return Encoded(*_tokenise(tokenizer, parts), text)
    for anchor in ANCHORS:
        ids, offsets = _tokenise(tokenizer, [(anchor, False), *parts])
        cut = sum(begin < len(anchor) for begin, _ in offsets)
        if all(end <= len(anchor) for _, end in offsets[:cut]):
            shifted = tuple(
                (begin - len(anchor), end - len(anchor)) for begin, end in offsets[cut:]
            )
            return Encoded(ids[cut:], shifted, text)
    raise ValueError(
        f"build_prompt: no token boundary could be made in front of {text[:40]!r}: this tokenizer "
        "joins it with whatever comes before. Begin question_template with other text."
    )


def _tokenise(tokenizer: Any, parts: Sequence[Part]) -> tuple[tuple[int, ...], tuple[Span, ...]]:
    text = "".join(part for part, _ in parts)
    batch = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
    ids, offsets = list(batch["input_ids"]), [tuple(span) for span in batch["offset_mapping"]]
    control = _control_tokens(tokenizer)
    users, at = [], 0
    for part, from_user in parts:
        users += [(at, at + len(part))] if from_user else []
        at += len(part)
    spelt_out = [
        begin
        for one, (begin, end) in zip(ids, offsets, strict=True)
        if one in control and _spells(control[one], text[begin:end])
    ]
    if any(start <= begin < stop for start, stop in users for begin in spelt_out):
        ids, offsets = _tokenise_literally(tokenizer, parts, control)
    return tuple(ids), _character_ranges(tokenizer, text, ids, offsets)


def _tokenise_literally(
    tokenizer: Any, parts: Sequence[Part], control: dict[int, Any]
) -> tuple[list[int], list[Span]]:
    """One tokenisation in which control tokens are recognised in the template's parts only.

    A copy of the tokenizer (sharing its model) knows each control token by a code of the same length, made of a
    private-use character that the text does not hold; the template's parts are written in these codes. Everything else,
    merges, blanks and offsets included, is the tokenizer's own doing.
    """
    from tokenizers import AddedToken, Tokenizer

    text = "".join(part for part, _ in parts)
    free = (chr(point) for point in range(0xF0000, 0x10FFFE) if chr(point) not in text)
    codes = {token.content: next(free) * len(token.content) for token in control.values()}
    backend = tokenizer.backend_tokenizer
    shadow = Tokenizer(backend.model)
    if backend.normalizer is not None:
        shadow.normalizer = backend.normalizer
    if backend.pre_tokenizer is not None:
        shadow.pre_tokenizer = backend.pre_tokenizer
    known = {}
    for one, token in tokenizer.added_tokens_decoder.items():
        name = codes[token.content] if one in control else token.content
        known[name] = one
        sides = {"lstrip": token.lstrip, "rstrip": token.rstrip, "single_word": token.single_word}
        renamed = AddedToken(name, normalized=token.normalized, special=token.special, **sides)
        shadow.add_special_tokens([renamed]) if token.special else shadow.add_tokens([renamed])

    longest_first = sorted(codes, key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(content) for content in longest_first))
    coded = [
        part if from_user else pattern.sub(lambda match: codes[match[0]], part)
        for part, from_user in parts
    ]
    coded_text = "".join(coded)
    encoding = shadow.encode(coded_text, add_special_tokens=False)
    ids = [known.get(name, one) for name, one in zip(encoding.tokens, encoding.ids, strict=True)]
    for one, (begin, end) in zip(ids, encoding.offsets, strict=True):
        if one in control and _spells(control[one], coded_text[begin:end]):
            raise ValueError(
                f"build_prompt: {coded_text[begin:end]!r} in the passage or question is a control "
                "token of this tokenizer and cannot be read as plain text. Take it out of the text."
            )
    return ids, list(encoding.offsets)


def _control_tokens(tokenizer: Any) -> dict[int, Any]:
    """Added tokens that steer the model: the special ones, and those that the chat template writes."""
    template = str(tokenizer.chat_template or "")
    return {
        one: token
        for one, token in tokenizer.added_tokens_decoder.items()
        if token.content.strip() and (token.special or token.content in template)
    }


def _spells(token: Any, text: str) -> bool:
    """Whether the text is the token's own, and not something unknown that became <unk>."""
    return token.content.casefold() in text.casefold()


def _character_ranges(
    tokenizer: Any, text: str, ids: Sequence[int], offsets: Sequence[Span]
) -> tuple[Span, ...]:
    """The offsets with two habits of tokenizers undone.

    Some trim a token's leading blanks from its offsets: they are given back to it. Some put a blank mark before the
    text and give it the first character's offsets: it stands for no character.
    """
    ranges, reached = [], 0
    for one, (start, end) in zip(ids, offsets, strict=True):
        piece = tokenizer.convert_ids_to_tokens(one)
        if reached < start and (piece.startswith("Ġ") or not text[reached:start].strip()):
            start = reached
        if text[start:end].strip() and _is_blank(piece):
            end = start
        ranges.append((start, end))
        reached = max(reached, end)
    return tuple(ranges)


def _is_blank(piece: str) -> bool:
    return not piece.replace("▁", "").replace("Ġ", "").strip()


def _marks_start(tokenizer: Any) -> bool:
    """Whether the tokenizer puts a blank of its own before a text."""
    ids = tokenizer("a", add_special_tokens=False)["input_ids"]
    return bool(ids) and tokenizer.convert_ids_to_tokens(ids[0]).startswith(("▁", "Ġ"))


def _own_bos(tokenizer: Any) -> int | None:
    """The BOS id where the tokenizer puts it before a text by itself; a BOS that is only named does not count."""
    bos = tokenizer.bos_token_id
    return bos if bos is not None and tokenizer("a")["input_ids"][:1] == [bos] else None


def with_bos(tokenizer: Any, encoded: Encoded) -> Encoded:
    """The tokens with one BOS in front, where the tokenizer puts one."""
    bos = _own_bos(tokenizer)
    if bos is None or encoded.ids[:1] == (bos,):
        return encoded
    return Encoded((bos, *encoded.ids), ((0, 0), *encoded.offsets), encoded.text)


def need_offsets(tokenizer: Any) -> None:
    """Refuse a tokenizer that gives no character offsets."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            "build_prompt: evidence is placed by character offsets, which only a fast tokenizer "
            f"gives; got {type(tokenizer).__name__}. Load it with "
            "AutoTokenizer.from_pretrained(..., use_fast=True)."
        )
