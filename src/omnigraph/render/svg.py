"""A picture as SVG, and the same inside an HTML page that can be moved, zoomed and rearranged."""

from __future__ import annotations

import html

from omnigraph.render.layout import Placed, place
from omnigraph.render.picture import Arrow, Picture
from omnigraph.render.style import INK, LINE, QUIET, border_point, fill

_FONT = "font-family='ui-sans-serif, system-ui, sans-serif'"


def to_svg(picture: Picture) -> str:
    """A complete SVG document."""
    placed, width, height = place(picture)
    by_key = {each.box.key: each for each in placed}
    bundles = picture.bundles()
    pairs = {(arrow.source, arrow.target) for arrow in bundles}
    bends = [18.0 if (arrow.target, arrow.source) in pairs else 0.0 for arrow in bundles]
    arrows = "\n".join(_arrow(arrow, by_key, bend) for arrow, bend in zip(bundles, bends, strict=True))
    boxes = "\n".join(_box(each) for each in placed)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}'"
        f" viewBox='0 0 {width:.0f} {height:.0f}' {_FONT}>\n<title>{html.escape(picture.title)}</title>\n"
        f"<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' orient='auto'>"
        f"<path d='M0 0L8 4L0 8z' fill='{LINE}'/></marker></defs>\n"
        f"<rect width='100%' height='100%' fill='white'/>\n{arrows}\n{boxes}\n</svg>\n"
    )


def to_html(picture: Picture) -> str:
    """A page that needs nothing from elsewhere: drag the canvas, scroll to zoom."""
    note = "<p>Some neighbours were left out; raise --limit to see them.</p>" if picture.cut else ""
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{html.escape(picture.title)}</title>\n"
        f"<style>{_CSS}</style></head>\n<body><header><h1>{html.escape(picture.title)}</h1>"
        f"<span>{len(picture.boxes)} nodes, {len(picture.arrows)} edges</span>{note}</header>\n"
        f"<main>{to_svg(picture)}</main>\n<script>{_SCRIPT}</script></body></html>\n"
    )


def _arrow(arrow: Arrow, by_key: dict[str, Placed], bend: float) -> str:
    source, target = by_key[arrow.source], by_key[arrow.target]
    label = html.escape(arrow.label)
    if source is target:
        x, y, reach = source.x + source.width / 2, source.y, 26
        path = f"M{x:.1f} {y - 8:.1f}C{x + reach:.1f} {y - 34:.1f} {x + reach:.1f} {y + 34:.1f} {x:.1f} {y + 8:.1f}"
        return _line(path, label, x + reach, y + 4, anchor="start")
    middle_x, middle_y = (source.x + target.x) / 2, (source.y + target.y) / 2
    dx, dy = target.x - source.x, target.y - source.y
    length = max((dx * dx + dy * dy) ** 0.5, 1.0)
    # To its own right-hand side, so that an arrow and the opposite one part.
    turn_x, turn_y = middle_x - dy / length * bend, middle_y + dx / length * bend
    x1, y1 = border_point(source, turn_x, turn_y)
    x2, y2 = border_point(target, turn_x, turn_y)
    path = f"M{x1:.1f} {y1:.1f}Q{turn_x:.1f} {turn_y:.1f} {x2:.1f} {y2:.1f}"
    return _line(path, label, (x1 + x2) / 4 + turn_x / 2, (y1 + y2) / 4 + turn_y / 2)


def _line(path: str, label: str, x: float, y: float, anchor: str = "middle") -> str:
    return (
        f"<path d='{path}' fill='none' stroke='{LINE}' stroke-width='1.3' marker-end='url(#tip)'/>"
        f"<text x='{x:.1f}' y='{y:.1f}' font-size='10.5' fill='{QUIET}' text-anchor='{anchor}' stroke='white'"
        f" stroke-width='3' paint-order='stroke'>{label}</text>"
    )


def _box(each: Placed) -> str:
    left, top = each.x - each.width / 2, each.y - each.height / 2
    rows = [(each.box.kind, 10, QUIET, "normal"), (each.box.title, 12.5, INK, "600")]
    if each.box.kind == each.box.title:
        rows = rows[1:]
    rows += [(line, 11, INK, "normal") for line in each.box.lines]
    texts = "".join(
        f"<text x='{left + 10:.1f}' y='{top + 19 + 15 * index:.1f}' font-size='{size}' fill='{colour}'"
        f" font-weight='{weight}'>{html.escape(text)}</text>"
        for index, (text, size, colour, weight) in enumerate(rows)
    )
    return (
        f"<g><rect x='{left:.1f}' y='{top:.1f}' width='{each.width:.1f}' height='{each.height:.1f}' rx='7'"
        f" fill='{fill(each.box.kind)}' stroke='{LINE}'/>{texts}</g>"
    )


_CSS = """
body { margin: 0; font-family: ui-sans-serif, system-ui, sans-serif; color: #1f2937; }
header { display: flex; gap: 1rem; align-items: baseline; padding: .6rem 1rem; border-bottom: 1px solid #e2e8f0; }
h1 { font-size: 1.05rem; margin: 0; } header span, header p { color: #64748b; font-size: .85rem; margin: 0; }
main { height: calc(100vh - 3rem); overflow: hidden; cursor: grab; } main:active { cursor: grabbing; }
main svg { width: 100%; height: 100%; }
"""
_SCRIPT = """
const svg = document.querySelector('svg'), view = svg.viewBox.baseVal;
let from = null;
const scale = () => Math.max(view.width / svg.clientWidth, view.height / svg.clientHeight);
svg.addEventListener('pointerdown', e => { from = [e.clientX, e.clientY]; svg.setPointerCapture(e.pointerId); });
svg.addEventListener('pointerup', () => { from = null; });
svg.addEventListener('pointermove', e => {
  if (!from) return;
  view.x -= (e.clientX - from[0]) * scale(); view.y -= (e.clientY - from[1]) * scale();
  from = [e.clientX, e.clientY];
});
svg.addEventListener('wheel', e => {
  e.preventDefault();
  const by = e.deltaY > 0 ? 1.12 : 1 / 1.12, area = svg.getBoundingClientRect();
  const px = (e.clientX - area.left) / area.width, py = (e.clientY - area.top) / area.height;
  view.x += view.width * px * (1 - by); view.y += view.height * py * (1 - by);
  view.width *= by; view.height *= by;
}, { passive: false });
"""
