"""Text of an HTML mail: without tags, scripts and styles, one line a block.

One pass from left to right, linear in any text: `html.parser` of Python 3.11 takes minutes for 60 KB of `<a ` without an end.
"""

from __future__ import annotations

import html
import re

_HIDDEN = {name: re.compile(f"</{name}(?![a-z0-9])", re.IGNORECASE) for name in ("script", "style", "title", "template", "noscript")}
"""Elements whose content is left out, with their end tags."""
_BLOCKS = frozenset(
    ("address", "blockquote", "br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "table", "tr", "ul")
)
_TAG = re.compile(r"</?([a-zA-Z][^\s/>]*+)(?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+")
"""A tag up to its `>`; an unclosed quote ends it too. Without backtracking."""
_NUMBERED = re.compile(r"&#(?:([xX])0*([0-9a-fA-F]+)|0*([0-9]+))")
"""A numeric character reference. The standard library reads any number of digits; Python raises an error beyond 4,300."""
_MOST_DIGITS = 7
_SPACES = re.compile(r"\s+")
_BLANK_LINES = re.compile(r"\n{3,}")


def text_of_html(source: str) -> str | None:
    """Return the text of an HTML; None if it has none. Raises for no text: mails are often malformed."""
    parts: list[str] = []
    at = 0
    while (start := source.find("<", at)) >= 0:
        parts.append(_SPACES.sub(" ", unescape(source[at:start])))
        tag = _TAG.match(source, start)
        if tag is None:
            is_markup = source.startswith(("<!", "<?", "</"), start)
            at = _after_markup(source, start) if is_markup else start + 1
            if not is_markup:
                parts.append("<")
            continue
        at = _after(source, ">", tag.end())
        name, is_end = tag[1].lower(), source[start + 1] == "/"
        if name in _BLOCKS:
            parts.append("\n")
        elif name in ("td", "th") and not is_end:
            parts.append(" ")
        elif name in _HIDDEN and not is_end and source[at - 2] != "/":
            end = _HIDDEN[name].search(source, at)
            at = len(source) if end is None else _after(source, ">", end.end())
    parts.append(_SPACES.sub(" ", unescape(source[at:])))
    lines = [" ".join(line.split()) for line in "".join(parts).splitlines()]
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip() or None


def unescape(text: str) -> str:
    """Replace the character references of HTML; raises for no text, as `html.unescape` does."""
    if "&" not in text:
        return text
    return html.unescape(_NUMBERED.sub(_without_zeros, text) if "&#" in text else text)


def _after_markup(source: str, start: int) -> int:
    """Return the position after a comment, declaration or processing instruction."""
    return _after(source, "-->" if source.startswith("<!--", start) else ">", start + 2)


def _after(source: str, sign: str, at: int) -> int:
    """Return the position after the next of these signs; the end of the text if there is none."""
    end = source.find(sign, at)
    return len(source) if end < 0 else end + len(sign)


def _without_zeros(match: re.Match[str]) -> str:
    """Return a character reference without leading zeros; the replacement character where its number is too long."""
    digits = match[2] or match[3]
    return f"&#{match[1] or ''}{digits}" if len(digits) <= _MOST_DIGITS else "\ufffd"
