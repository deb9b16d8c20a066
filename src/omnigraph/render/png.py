"""A picture as PNG, drawn with Pillow and the font that it carries."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from omnigraph.errors import BadRequest
from omnigraph.render.layout import LABEL_LINE, Placed, Point, Route, lay_out
from omnigraph.render.picture import Picture
from omnigraph.render.style import INK, LINE, QUIET, fills

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Fonts: TypeAlias = dict[int, FreeTypeFont | ImageFont]

_SCALE = 2  # twice the size on screen, so that letters stay sharp
_LARGEST = 16_000
_FONTS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "Arial Unicode.ttf", "arial.ttf")


def to_png(picture: Picture) -> bytes:
    """The bytes of a PNG file; BadRequest without Pillow or when the picture has no bounds that fit."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise BadRequest("PNG needs Pillow; install it with: pip install 'omnigraph[draw]'") from error
    layout = lay_out(picture)
    if max(layout.width, layout.height) * _SCALE > _LARGEST:
        raise BadRequest("the picture is too large for PNG; write .svg or .html, or lower --depth or --limit")
    image = Image.new("RGB", (int(layout.width * _SCALE), int(layout.height * _SCALE)), "white")
    draw = ImageDraw.Draw(image)
    fonts = {size: _font(ImageFont, size * _SCALE) for size in (9, 10, 11, 13)}
    for route in layout.routes:
        _line(draw, route)
    for route in layout.routes:
        _label(draw, fonts, route)
    colours = fills(each.box.kind for each in layout.boxes)
    for each in layout.boxes:
        _box(draw, fonts, each, colours[each.box.kind])
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def _font(fonts: Any, size: int) -> Any:
    """A font of the system that knows many scripts, or the one that Pillow carries, which knows English."""
    for name in _FONTS:
        with suppress(OSError):
            return fonts.truetype(name, size)
    return fonts.load_default(size)


def _line(draw: ImageDraw, route: Route) -> None:
    way = [route.points[0]]
    for at in range(0, len(route.points) - 3, 3):
        way += _curve(route.points[at : at + 4])
    (x1, y1), (x2, y2) = way[-1], route.tip
    if abs(x2 - x1) + abs(y2 - y1) < 1:  # the line ends where its tip is: the direction is that of its last piece
        x1, y1 = way[-2]
    draw.line([(x * _SCALE, y * _SCALE) for x, y in (*way, route.tip)], fill=LINE, width=_SCALE, joint="curve")
    length = max(((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5, 1e-6)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    wings = [(x2 - 8 * dx - side * dy, y2 - 8 * dy + side * dx) for side in (3.2, -3.2)]
    draw.polygon([(x * _SCALE, y * _SCALE) for x, y in ((x2, y2), *wings)], fill=LINE)


def _curve(points: tuple[Point, ...]) -> list[Point]:
    """Points of a cubic curve, close enough to look smooth."""
    found = []
    for step in range(1, 13):
        t = step / 12
        weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        x = sum(weight * point[0] for weight, point in zip(weights, points, strict=True))
        found.append((x, sum(weight * point[1] for weight, point in zip(weights, points, strict=True))))
    return found


def _label(draw: ImageDraw, fonts: Fonts, route: Route) -> None:
    rows = route.bundle.lines
    top = route.label[1] - (len(rows) - 1) * LABEL_LINE / 2
    for place, (text, strong) in enumerate(rows):
        at = route.label[0] * _SCALE, (top + place * LABEL_LINE) * _SCALE
        size, ink = (10, QUIET) if strong else (9, LINE)
        draw.text(at, text, fill=ink, font=fonts[size], anchor="mm", stroke_width=2 * _SCALE, stroke_fill="white")


def _box(draw: ImageDraw, fonts: Fonts, each: Placed, colour: str) -> None:
    left, top, size = each.x - each.width / 2, each.y - each.height / 2, _SCALE
    right, bottom = left + each.width, top + each.height
    edges = [left * size, top * size, right * size, bottom * size]
    draw.rounded_rectangle(edges, radius=7 * size, fill=colour, outline=LINE, width=size)
    rows = [] if each.box.kind == each.box.title else [(each.box.kind, 10, QUIET)]
    rows += [(each.box.title, 13, INK), *((line, 11, INK) for line in each.box.lines)]
    titled = len(rows) - len(each.box.lines)
    for index, (text, points, ink) in enumerate(rows):
        place_at = ((left + 10) * size, (top + (7 if index < titled else 9) + 15 * index) * size)
        draw.text(place_at, text, fill=ink, font=fonts[points])
