"""The text of HTML mails: what a reader sees of ordinary ones, and no effort without a bound for hostile ones."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.field_limits import MESSAGE_TEXT
from touchbase.common.html_text import text_of_html, unescape

MAIL = """<!DOCTYPE html><html><head><title>Re: Hi</title><style type="text/css">p > a { color: red }</style></head>
<body><!-- a <b> --><div>Dear&nbsp;Sam &amp; Ann,</div><p class="x > y">yes,
   <b>call</b> me &#128512;</p><table><tr><td>Mon</td><td>Tue</td></tr></table><script>if (a < b) { "</p>" }</script>
<br/>Ann<!--[if mso]><p>Outlook</p><![endif]--><![if !mso]><p>Web</p><![endif]></body></html>"""
HOSTILE = (
    "<a ",
    "<a b='",
    '<a b="',
    "<a '>\"",
    "<!--",
    "<!",
    "<?",
    "</",
    "</a",
    "<script>",
    "</script",
    "<style></",
    "<p",
    "&",
    "&#",
    "&#0",
    "&a",
    "\n",
)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (MAIL, "Dear Sam & Ann,\n\nyes, call me \U0001f600\n\nMon Tue\n\nAnn\nWeb"),
        ("1 < 2 and a<b", "1 < 2 and a"),
        ("<STYLE>x</STYLE >y<style/>z", "yz"),
        ("<p title='a>b'>c", "c"),
        ("<p title='a>b", "b"),
        ("<title>never ends", None),
        ("<!-->a--> b", "a--> b"),
        ("<br", None),
        ("", None),
    ],
)
def test_text_of_html__has_what_a_reader_sees(source: str, text: str | None) -> None:
    assert text_of_html(source) == text


def test_unescape__reads_a_number_of_any_length() -> None:
    assert unescape(f"&#{'0' * 5_000}65; &#x{'0' * 9}42; &#{'9' * 5_000} &amp;#65;") == "A B \ufffd &#65;"


@given(
    st.lists(
        st.sampled_from(("<p>", "</p>", "<br>", "<b class='x'>", "</b>", "<td>", "<!-- c -->", "&amp;", "&lt;", "hello", " ", "\n", "é"))
    )
)
def test_text_of_html__agrees_with_the_standard_library_on_any_ordinary_mail(pieces: list[str]) -> None:
    words = _Words()
    words.feed("".join(pieces))
    words.close()

    assert (text_of_html("".join(pieces)) or "").split() == " ".join("".join(words.parts).split()).split()


@given(st.lists(st.sampled_from((*HOSTILE, ">", "'", '"', "x", ";", "\ud800", "\0")), max_size=40))
def test_text_of_html__raises_for_no_text(pieces: list[str]) -> None:
    text = text_of_html("".join(pieces))

    assert text is None or text == text.strip()


def test_text_of_html__takes_no_more_than_one_pass(subtests: pytest.Subtests) -> None:
    for piece in HOSTILE:  # a second pass for each piece would take minutes
        with subtests.test(piece):
            text = text_of_html((piece * MESSAGE_TEXT)[:MESSAGE_TEXT])

            assert text is None or len(text) <= MESSAGE_TEXT


class _Words(HTMLParser):
    """The text as `html.parser` reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "b":
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag != "b":
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)
