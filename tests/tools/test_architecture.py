"""The pictures of docs/architecture.md show the imports as they are."""

from tools.architecture import PAGE, arrows, draw, mermaid


def test_the_pictures_are_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    assert draw(page) == page, "run python -m tools.architecture"


def test_arrows_are_between_rooms() -> None:
    imports = [("a.x", "b.y"), ("a.x", "a.y"), ("a.x.one", "a.y.two"), ("a", "a.y")]
    assert arrows(imports) == {("a", "b"): 1}
    assert arrows(imports, "a") == {("x", "y"): 2}
    assert "x -->|2| y" in mermaid(arrows(imports, "a"))
