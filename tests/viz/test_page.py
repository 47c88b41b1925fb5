"""Text from data can neither break the page nor hide in it."""

import html
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routelens.viz.page import Section, inline, page, slug, table, text

HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror="alert(1)">',
    "'--><!-- & &amp; &lt;",
    "line\nline\r\n\ttab",
    "\x00\x1b[31m\x7f",
    "🙂 👩‍👩‍👧 ｆｕｌｌ",
    "\u202eevil\u202c \u2066x\u2069",
    "עברית and العربية",
    "",
    "   ",
]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags: list[str] = []
        self.data = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.data += data


def parsed(markup: str) -> Tags:
    parser = Tags()
    parser.feed(markup)
    parser.close()
    return parser


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_text_makes_no_tags(value):
    assert parsed(text(value)).tags == []
    assert set(parsed(inline(value)).tags) <= {"bdi", "span"}


@given(st.text())
def test_any_text_makes_no_tags_and_leaves_its_attribute(value):
    shown = text(value)
    assert parsed(shown).tags == [] and '"' not in shown and "'" not in shown and "<" not in shown
    assert parsed(f'<p title="{shown}">').tags == ["p"]


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_text_reads_as_it_is(value):
    assert html.unescape(text(value)) == value


def test_invisible_characters_are_made_visible():
    assert text("\x00") == "␀" and text("\x1b") == "␛" and text("a\nb") == "a↵ b"
    assert text("\u202e") == "⟨U+202E⟩" and text("\u200f") == "⟨U+200F⟩"
    assert text("👩‍👩‍👧") == "👩‍👩‍👧"


def test_long_text_is_cut_and_says_so():
    assert text("x" * 30, limit=10) == "x" * 10 + " … (+20 characters)"
    assert text("<" * 3, limit=2) == "&lt;&lt; … (+1 characters)"


def test_missing_and_empty_are_told_apart():
    assert text(None) == text(float("nan")) == "–"
    assert "(empty)" in inline("") and "␣␣␣" in inline("   ")


def test_right_to_left_text_is_kept_apart():
    assert inline("עברית").startswith('<bdi dir="auto">')


def test_slugs_are_ids():
    assert slug("Where it breaks, by budget") == "where-it-breaks-by-budget" and slug("…") == "part"


def test_a_table_names_its_rows_columns_and_itself_and_takes_the_focus():
    markup = table(["policy", "n"], [["full", "3"]], caption="Numbers <b>here</b>")
    assert 'tabindex="0" aria-label="Numbers here"' in markup and "<caption>" in markup
    assert (
        '<th scope="col">policy</th>' in markup and '<th scope="row">full</th><td>3</td>' in markup
    )


def test_a_page_has_a_contents_list_that_leads_to_its_sections():
    markup = page("<T>", "", [Section("one", "One", "<p>1</p>"), Section("two", "Two", "")])
    assert "<title>&lt;T&gt;</title>" in markup and markup.count("<h1>") == 1
    for name in ("one", "two"):
        assert f'<a href="#{name}">' in markup and f'<section id="{name}"' in markup
