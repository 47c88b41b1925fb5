"""Passage and question as token ids, with an exact boundary and the evidence's positions (D5, D19 [C]).

The chat template is rendered around a placeholder and cut there, so that its head and tail are the model's own. What is
prefilled (head, passage, newline, and questions where the regime puts them there) is one tokenisation, what follows it
another; the two are only ever concatenated. Characters become token positions through the tokenizer's offsets. Text that
a user supplies never turns into control tokens: a passage that spells out "<|im_end|>" is read as those characters.
Nothing here knows a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast

from routelens.encoding import Encoded, Part, encode, need_offsets, with_bos
from routelens.matching import evidence_groups
from routelens.types import REGIMES, Evidence, Item, Regime, Span, TokenGroup

N_SINK = 4
"""Leading positions that attention parks on whatever they hold (D8 [C]); never counted as content."""

PLACEHOLDER = "\ue000passage\ue001"
REPLY = "\ue000reply\ue001"
# A fixed date, because some templates print today's, and a prompt must be the same tomorrow.
TEMPLATE_OPTIONS = {"enable_thinking": False, "thinking": False, "date_string": "26 Jul 2024"}
_Message = dict[str, str]


@dataclass(frozen=True)
class PromptFormat:
    """How passage and question are put to the model; all text is explicit (D11 [C]).

    ``question_template`` holds ``{question}`` once, and ``{instruction}`` where wanted. ``answer_prefix`` begins the
    assistant's reply. ``system`` None leaves the system turn to the chat template.
    """

    system: str | None = None
    instruction: str = (
        'Answer with a short phrase. If the passage does not say, answer "I don\'t know".'
    )
    question_template: str = "Question: {question}\n{instruction}"
    answer_prefix: str = ""
    use_chat_template: bool = True

    def __post_init__(self) -> None:
        if self.question_template.count("{question}") != 1:
            raise ValueError(
                "PromptFormat: question_template must hold {question} exactly once; got "
                f"{self.question_template!r}. For example 'Question: {{question}}\\n{{instruction}}'."
            )

    @property
    def around(self) -> tuple[str, str]:
        """The text before and after the question, the instruction filled in."""
        before, after = self.question_template.split("{question}")
        fill = self.instruction
        return before.replace("{instruction}", fill), after.replace("{instruction}", fill)

    def config(self) -> dict[str, Any]:
        """Every field, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "PromptFormat":
        """The format that :meth:`config` wrote; a field that is missing has its default.

        Raises:
            ValueError: a field that no format has.
        """
        unknown = sorted(set(config) - {option.name for option in fields(cls)})
        if unknown:
            raise ValueError(
                f"PromptFormat: the fields are {', '.join(option.name for option in fields(cls))}; "
                f"got {', '.join(unknown)}."
            )
        return cls(**config)


DEFAULT_FORMAT = PromptFormat()
COPY_FORMAT = PromptFormat(
    system="You answer questions about a passage with a short phrase copied from the passage.",
    answer_prefix="Answer:",
)
"""For small models, which need to be told what kind of answer is wanted and to have it begun for them."""


@dataclass(frozen=True)
class Prompt:
    """One item as token ids: ``prefix_ids`` are prefilled and compressible, ``suffix_ids`` follow and are never evicted.

    Attributes:
        context: The passage, as the item has it.
        prefix_ids: Template head, passage, newline; in the aware regimes the questions too (D19).
        suffix_ids: The question, the template's tail and the beginning of the reply; ``aware_one`` only the latter two.
        scoring_ids: ``score_only``: the questions that follow the prefix for scoring, and are dropped afterwards.
        evidence: Where the answer lies, in prefix positions.
        content_positions: Tokens of the passage itself, without the first ``N_SINK`` positions (D1).
        template_positions: Prefix positions outside passage and questions.
        question_span: Half-open token range of the question's own words, in the part named by ``question_in``.
        offsets: Per prefix token its character range in ``context``; template and questions lie outside of it.
        answer_lead: What stands between the suffix and an answer: a blank or nothing.
        notes: What was done that the format did not say.
    """

    context: str
    regime: Regime
    prefix_ids: tuple[int, ...]
    suffix_ids: tuple[int, ...]
    scoring_ids: tuple[int, ...]
    evidence: Evidence
    content_positions: tuple[int, ...]
    template_positions: tuple[int, ...]
    question_span: Span
    question_in: Literal["prefix", "suffix"]
    offsets: tuple[Span, ...]
    prefix_text: str
    suffix_text: str
    answer_lead: str = ""
    notes: tuple[str, ...] = ()

    @property
    def n_compressible(self) -> int:
        """Leading positions that the budget covers: the whole prefix, in every regime (D19)."""
        return len(self.prefix_ids)

    @property
    def sink_positions(self) -> tuple[int, ...]:
        """The first ``N_SINK`` positions."""
        return tuple(range(min(N_SINK, len(self.prefix_ids))))


def build_prompt(
    tokenizer: Any,
    item: Item,
    *,
    regime: str = "agnostic",
    questions: Sequence[str] = (),
    format: PromptFormat = DEFAULT_FORMAT,
    max_positions: int | None = None,
) -> Prompt:
    """The item as a :class:`Prompt` in one of the four regimes (D19).

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        item: Passage, question and evidence.
        regime: Where the questions stand.
        questions: The passage's questions, for ``aware_list`` and ``score_only``; without them the item's own.
        format: The texts around passage and question.
        max_positions: Tokens the model can hold. A longer prompt is refused, never cut.

    Raises:
        ValueError: An unknown regime, a tokenizer without offsets, a prompt that does not fit.
    """
    if regime not in REGIMES:
        raise ValueError(f"build_prompt: regime is one of {', '.join(REGIMES)}; got {regime!r}.")
    if isinstance(questions, str):
        raise ValueError(
            f"build_prompt: questions is a list of texts; got the text {questions!r}. Pass [text]."
        )
    need_offsets(tokenizer)
    shell = _shell(tokenizer, format)
    notes = list(shell.notes)
    if regime in ("aware_list", "score_only") and not questions:
        questions = (item.question,)
        notes.append(f"{regime} was given no questions: the item's own stands alone")

    before, after = format.around
    asked: list[Part] = [(before, False), (item.question, True), (after, False)]
    listed = [part for text in questions for part in ((before, False), (text, True), ("\n", False))]
    reply: Part = (shell.reply, False)
    extra = {"aware_list": listed, "aware_one": asked}.get(regime, [])

    head: list[Part] = [(shell.head, False), (item.context, True), ("\n", False)]
    prefix = with_bos(tokenizer, encode(tokenizer, [*head, *extra], start=True))
    suffix = encode(tokenizer, [reply] if regime == "aware_one" else [*asked, reply], start=False)
    scoring = encode(tokenizer, listed if regime == "score_only" else [], start=False)
    _check_length(item, prefix, suffix, scoring, max_positions)

    passage = (len(shell.head), len(shell.head) + len(item.context))
    content = _covering(prefix.offsets, passage)
    block = _covering(prefix.offsets, (passage[1] + 1, len(prefix.text)))
    in_prefix = regime == "aware_one"
    begin = len(before) + (passage[1] + 1 if in_prefix else 0)
    words = (begin, begin + len(item.question))
    question = _covering(prefix.offsets if in_prefix else suffix.offsets, words)
    offsets = tuple((start - passage[0], end - passage[0]) for start, end in prefix.offsets)
    outside = set(range(len(prefix.ids))) - set(content) - set(block)
    return Prompt(
        context=item.context,
        regime=cast(Regime, regime),
        prefix_ids=prefix.ids,
        suffix_ids=suffix.ids,
        scoring_ids=scoring.ids,
        evidence=_evidence(offsets, item),
        content_positions=tuple(position for position in content if position >= N_SINK),
        template_positions=tuple(sorted(outside)),
        question_span=(question.start, question.stop),
        question_in="prefix" if in_prefix else "suffix",
        offsets=offsets,
        prefix_text=prefix.text,
        suffix_text=suffix.text,
        answer_lead=shell.answer_lead,
        notes=tuple(notes),
    )


def locate(prompt: Prompt, item: Item) -> Evidence:
    """Where another question's evidence lies in a prefix that is there already (D5)."""
    if item.context != prompt.context:
        raise ValueError(
            "locate: the item must be about the prompt's passage; got passage "
            f"{item.passage_id!r} ({len(item.context)} characters against {len(prompt.context)}). "
            "Build a prompt for it."
        )
    return _evidence(prompt.offsets, item)


def gold_ids(tokenizer: Any, prompt: Prompt, answer_text: str) -> tuple[int, ...]:
    """A gold answer's tokens as they would continue the prompt, without a stop token."""
    if not answer_text.strip():
        raise ValueError("gold_ids: answer_text must hold some text; got an empty answer.")
    text = prompt.answer_lead + answer_text.strip()
    return encode(tokenizer, [(text, True)], start=False).ids


@dataclass(frozen=True)
class _Shell:
    """The text around passage and question: before, after up to the reply's beginning, and what leads an answer in."""

    head: str
    reply: str
    answer_lead: str
    notes: tuple[str, ...] = ()


def _covering(offsets: Sequence[Span], span: Span) -> range:
    """The run of tokens that covers a character range: from the first that overlaps it to the last."""
    first, last = span
    hits = [index for index, (start, end) in enumerate(offsets) if start < last and end > first]
    return range(hits[0], hits[-1] + 1) if hits else range(0)


def _evidence(offsets: Sequence[Span], item: Item) -> Evidence:
    if not item.answerable:
        return Evidence((), "unanswerable")
    groups = []
    for group in evidence_groups(item):
        runs = [_covering(offsets, _trimmed(item.context, span)) for span in group.occurrences]
        occurrences = tuple(tuple(run) for run in runs if run)
        groups.append(TokenGroup(occurrences, group.role, group.name))
    # Bridges alone leave nothing to count as the answer (T_ans is empty).
    has_payload = any(group.role == "payload" for group in groups)
    located = has_payload and all(group.occurrences for group in groups)
    return Evidence(tuple(groups), "located" if located else "not_locatable")


def _trimmed(context: str, span: Span) -> Span:
    """The span without blanks at its ends, which would draw in the neighbouring word's token."""
    text = context[slice(*span)]
    if not text.strip():
        return span
    return span[1] - len(text.lstrip()), span[0] + len(text.rstrip())


def _shell(tokenizer: Any, format: PromptFormat) -> _Shell:
    system = (format.system or "").strip()
    if not (format.use_chat_template and tokenizer.chat_template):
        note = ("no chat template: plain text",) if format.use_chat_template else ()
        head = f"{system}\n\n" if system else ""
        return _Shell(head, *_begin_reply("\n", "", format.answer_prefix), note)

    messages, text, notes = _with_system(tokenizer, system)
    if text.count(PLACEHOLDER) != 1:
        raise ValueError(
            "build_prompt: a chat template must write the user's text exactly once; this one "
            f"wrote {text[:200]!r}. Pass PromptFormat(use_chat_template=False)."
        )
    head, tail = text.split(PLACEHOLDER)
    if tail.rstrip().endswith("<think>"):
        notes = (*notes, "the template opens a thinking block and has no switch for it")
    gap = "" if tail[-1:].isspace() else _reply_gap(tokenizer, messages, text)
    return _Shell(head, *_begin_reply(tail, gap, format.answer_prefix), notes)


def _begin_reply(tail: str, gap: str, prefix: str) -> tuple[str, str]:
    """The text up to where the model goes on, and what a given answer needs in front of it."""
    if not prefix:
        return tail, gap
    return tail + gap + prefix, "" if prefix[-1].isspace() else " "


def _with_system(tokenizer: Any, system: str) -> tuple[list[_Message], str, tuple[str, ...]]:
    """The messages and their text; a system text that the template refuses or drops goes into the user turn."""
    user: _Message = {"role": "user", "content": PLACEHOLDER}
    if not system:
        return [user], _render(tokenizer, [user]), ()
    messages = [{"role": "system", "content": system}, user]
    text = _render_or_none(tokenizer, messages)
    if text is not None and system in text and PLACEHOLDER in text:
        return messages, text, ()
    messages = [{"role": "user", "content": f"{system}\n\n{PLACEHOLDER}"}]
    return messages, _render(tokenizer, messages), ("system text folded into the user turn",)


def _render(tokenizer: Any, messages: list[_Message], *, prompt: bool = True) -> str:
    from jinja2 import TemplateError

    try:
        return tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=prompt, **TEMPLATE_OPTIONS
        )
    except TemplateError as error:
        turns = " and ".join(message["role"] for message in messages)
        raise ValueError(
            f"build_prompt: the chat template refused the turns {turns} ({error}). "
            "Pass PromptFormat(use_chat_template=False)."
        ) from error


def _render_or_none(tokenizer: Any, messages: list[_Message], *, prompt: bool = True) -> str | None:
    try:
        return _render(tokenizer, messages, prompt=prompt)
    except ValueError:
        return None


def _reply_gap(tokenizer: Any, messages: list[_Message], prompted: str) -> str:
    """What the template itself writes between its generation prompt and a reply: a blank or nothing."""
    answered = [*messages, {"role": "assistant", "content": REPLY}]
    text = _render_or_none(tokenizer, answered, prompt=False) or ""
    gap = text[len(prompted) :].partition(REPLY)[0] if text.startswith(prompted) else " "
    return gap if not gap.strip() else " "


def _check_length(
    item: Item, prefix: Encoded, suffix: Encoded, scoring: Encoded, limit: int | None
) -> None:
    if not suffix.ids:
        raise ValueError(
            "build_prompt: at least one token must follow the prefix, to predict the answer from; "
            "the chat template writes nothing after the user's text. Give PromptFormat an "
            "answer_prefix."
        )
    after = max(len(suffix.ids), len(scoring.ids))
    if limit is not None and len(prefix.ids) + after > limit:
        raise ValueError(
            f"build_prompt: a prompt must fit the model's {limit} positions; item {item.id} needs "
            f"{len(prefix.ids)} + {after} = {len(prefix.ids) + after} tokens (prefix + question). "
            "Nothing is cut: shorten the passage, or take a model with a longer context."
        )
