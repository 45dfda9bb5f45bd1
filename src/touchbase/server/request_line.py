"""The request line, letter by letter.

The parser (llhttp) takes several blanks for one, and RTSP and ICE for HTTP; a proxy in front may read such a line in another way. What it
has understood can be compared only with the bytes themselves, and it does not say where a request begins. So it is fed parts in which a
request begins at the start or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator

BLANK_LINE = b"\r\n\r\n"
_LINE_ENDS = b"\r\n"


class RequestLine:
    """The line of the request that is being read on one connection."""

    __slots__ = ("_is_open", "_last", "body_left", "text")

    def __init__(self) -> None:
        self.text = b""
        """The line as it came, its end included; a part of it while it is still coming."""
        self.body_left = 0
        """Bytes of a body with a length that are still to come."""
        self._is_open = True
        self._last = b""
        """The last bytes that were read, where a blank line may have begun in them."""

    def next(self) -> None:
        """The request is whole: the next bytes begin another one."""
        self.text, self._is_open, self.body_left = b"", True, 0

    def parts(self, data: bytes) -> Iterator[bytes]:
        """The data in parts, none of which reaches behind the end of a request; what a part holds of the line is noted before."""
        if self._is_open and data.find(BLANK_LINE) == len(data) - len(BLANK_LINE) and not self._last:
            self._note(data)
            yield data  # nearly always: one request without a body, or the head of one
            return
        start = 0
        while start < len(data):
            end = self._end(data, start)
            part = data[start:end]
            if self._is_open:
                self._note(part)
            self._last = b"" if part.endswith(BLANK_LINE) else (self._last + part[-3:])[-3:]
            yield part
            start = end

    def is_as_understood(self, method: bytes, url: bytes, version: str) -> bool:
        """Whether the line says just this, with one blank between two words."""
        return self.text == b"%b %b HTTP/%b\r\n" % (method, url, version.encode())

    def _end(self, data: bytes, start: int) -> int:
        """Where the part that begins here ends: no request ends before a blank line or the end of a body whose length is known."""
        if self.body_left:
            return min(start + self.body_left, len(data))
        if self._last and not start:
            found = (self._last + data[:3]).find(BLANK_LINE)
            if found >= 0:
                return found + len(BLANK_LINE) - len(self._last)
        found = data.find(BLANK_LINE, start)
        return len(data) if found < 0 else found + len(BLANK_LINE)

    def _note(self, part: bytes) -> None:
        text = self.text + part
        if not self.text:
            text = text.lstrip(_LINE_ENDS)  # line breaks before a request are none of it
        end = text.find(b"\n") + 1
        self._is_open = not end
        self.text = text[:end] if end else text
