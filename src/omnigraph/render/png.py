"""A picture as PNG, drawn with Pillow and the font that it carries."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, TypeAlias

from omnigraph.errors import BadRequest
from omnigraph.render.layout import Placed, place
from omnigraph.render.picture import Picture
from omnigraph.render.style import INK, LINE, QUIET, border_point, fill

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Fonts: TypeAlias = dict[int, FreeTypeFont | ImageFont]

_SCALE = 2  # twice the size on screen, so that letters stay sharp
_LARGEST = 16_000


def to_png(picture: Picture) -> bytes:
    """The bytes of a PNG file; BadRequest without Pillow or when the picture has no bounds that fit."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise BadRequest("PNG needs Pillow; install it with: pip install 'omnigraph[draw]'") from error
    placed, width, height = place(picture)
    if max(width, height) * _SCALE > _LARGEST:
        raise BadRequest("the picture is too large for PNG; write .svg or .html, or lower --depth or --limit")
    image = Image.new("RGB", (int(width * _SCALE), int(height * _SCALE)), "white")
    draw = ImageDraw.Draw(image)
    fonts = {size: ImageFont.load_default(size * _SCALE) for size in (10, 11, 13)}
    by_key = {each.box.key: each for each in placed}
    pairs = {(arrow.source, arrow.target) for arrow in picture.bundles()}
    for arrow in picture.bundles():
        # An arrow that meets an opposite one carries its label near its own start.
        share = 0.3 if (arrow.target, arrow.source) in pairs else 0.5
        _arrow(draw, fonts, arrow.label, (by_key[arrow.source], by_key[arrow.target]), share)
    for each in placed:
        _box(draw, fonts, each)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def _arrow(draw: ImageDraw, fonts: Fonts, label: str, ends: tuple[Placed, Placed], share: float) -> None:
    source, target = ends
    size = _SCALE
    if source is target:
        x, y = source.x + source.width / 2, source.y
        draw.arc([(x - 14) * size, (y - 14) * size, (x + 22) * size, (y + 14) * size], 270, 90, fill=LINE, width=size)
        draw.polygon(
            [(x * size, (y + 14) * size), ((x + 8) * size, (y + 10) * size), ((x + 8) * size, (y + 18) * size)], LINE
        )
        draw.text(((x + 26) * size, y * size), label, fill=QUIET, font=fonts[10], anchor="lm")
        return
    x1, y1 = border_point(source, target.x, target.y)
    x2, y2 = border_point(target, source.x, source.y)
    angle = math.atan2(y2 - y1, x2 - x1)
    wings = [(x2 - 8 * math.cos(angle + turn), y2 - 8 * math.sin(angle + turn)) for turn in (0.4, -0.4)]
    draw.line([(x1 * size, y1 * size), (x2 * size, y2 * size)], fill=LINE, width=size)
    draw.polygon([(x * size, y * size) for x, y in ((x2, y2), *wings)], fill=LINE)
    middle = ((x1 + (x2 - x1) * share) * size, (y1 + (y2 - y1) * share) * size)
    draw.text(middle, label, fill=QUIET, font=fonts[10], anchor="mm", stroke_width=2 * size, stroke_fill="white")


def _box(draw: ImageDraw, fonts: Fonts, each: Placed) -> None:
    left, top, size = each.x - each.width / 2, each.y - each.height / 2, _SCALE
    right, bottom = left + each.width, top + each.height
    edges = [left * size, top * size, right * size, bottom * size]
    draw.rounded_rectangle(edges, radius=7 * size, fill=fill(each.box.kind), outline=LINE, width=size)
    rows = [] if each.box.kind == each.box.title else [(each.box.kind, 10, QUIET)]
    rows += [(each.box.title, 13, INK), *((line, 11, INK) for line in each.box.lines)]
    for index, (text, points, colour) in enumerate(rows):
        place_at = ((left + 10) * size, (top + 8 + 15 * index) * size)
        draw.text(place_at, text, fill=colour, font=fonts[points])
