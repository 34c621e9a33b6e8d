"""Pages as their readers see them."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        # A space at which no line is broken reads like any other.
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")
