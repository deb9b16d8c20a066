"""A picture as SVG, and the same inside an HTML page that can be moved, zoomed and rearranged."""

from __future__ import annotations

import html

from omnigraph.display import counted
from omnigraph.render.layout import LABEL_LINE, Placed, Route, lay_out
from omnigraph.render.picture import Picture
from omnigraph.render.style import INK, LINE, QUIET, fills

_FONT = "font-family='ui-sans-serif, system-ui, sans-serif'"


def to_svg(picture: Picture) -> str:
    """A complete SVG document."""
    layout = lay_out(picture)
    lines = "\n".join(map(_line, layout.routes))
    colours = fills(each.box.kind for each in layout.boxes)
    boxes = "\n".join(_box(each, colours[each.box.kind]) for each in layout.boxes)
    labels = "\n".join(map(_label, layout.routes))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{layout.width:.0f}' height='{layout.height:.0f}'"
        f" viewBox='0 0 {layout.width:.0f} {layout.height:.0f}' {_FONT}>\n"
        f"<title>{html.escape(picture.title)}</title>\n"
        f"<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' orient='auto'>"
        f"<path d='M0 0L8 4L0 8z' fill='{LINE}'/></marker></defs>\n"
        f"<rect width='100%' height='100%' fill='white'/>\n{lines}\n{labels}\n{boxes}\n</svg>\n"
    )


def to_html(picture: Picture) -> str:
    """A page that needs nothing from elsewhere: drag the canvas, scroll to zoom."""
    note = "<p>Some neighbours were left out; raise --limit to see them.</p>" if picture.cut else ""
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{html.escape(picture.title)}</title>\n"
        f"<style>{_CSS}</style></head>\n<body><header><h1>{html.escape(picture.title)}</h1>"
        f"<span>{counted(len(picture.boxes), 'node')}, {counted(picture.edges, 'edge')}</span>{note}</header>\n"
        f"<main>{to_svg(picture)}</main>\n<script>{_SCRIPT}</script></body></html>\n"
    )


def _line(route: Route) -> str:
    first, *rest = [f"{x:.1f} {y:.1f}" for x, y in route.points]
    tip = f"{route.tip[0]:.1f} {route.tip[1]:.1f}"
    path = f"M{first}C{' '.join(rest)}L{tip}"
    return f"<path d='{path}' fill='none' stroke='{LINE}' stroke-width='1.3' marker-end='url(#tip)'/>"


def _label(route: Route) -> str:
    """The text beside a line, with a white rim so that it can be read where lines cross."""
    rows = route.bundle.lines
    top = route.label[1] - len(rows) * LABEL_LINE / 2 + 9.5
    return "".join(
        f"<text x='{route.label[0]:.1f}' y='{top + LABEL_LINE * place:.1f}' font-size='{10.5 if strong else 9.5}'"
        f" fill='{QUIET if strong else LINE}' text-anchor='middle' stroke='white' stroke-width='3'"
        f" paint-order='stroke'>{html.escape(text)}</text>"
        for place, (text, strong) in enumerate(rows)
    )


def _box(each: Placed, colour: str) -> str:
    left, top = each.x - each.width / 2, each.y - each.height / 2
    rows = [(each.box.kind, 10, QUIET, "normal"), (each.box.title, 12.5, INK, "600")]
    if each.box.kind == each.box.title:
        rows = rows[1:]
    rows += [(line, 11, INK, "normal") for line in each.box.lines]
    texts = "".join(
        f"<text x='{left + 10:.1f}' y='{top + 19 + 15 * index:.1f}' font-size='{size}' fill='{ink}'"
        f" font-weight='{weight}'>{html.escape(text)}</text>"
        for index, (text, size, ink, weight) in enumerate(rows)
    )
    return (
        f"<g><rect x='{left:.1f}' y='{top:.1f}' width='{each.width:.1f}' height='{each.height:.1f}' rx='7'"
        f" fill='{colour}' stroke='{LINE}'/>{texts}</g>"
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
