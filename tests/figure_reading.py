"""Reads figures: what a specification draws where, and what became of it in an SVG."""

import re
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def layers_of(figure, mark):
    """The layers with a mark, without those that only carry tooltips."""
    return [
        layer
        for layer in figure.spec["layer"]
        if layer["mark"]["type"] == mark and layer.get("name") != "hover"
    ]


def rows_of(layer):
    return layer["data"]["values"]


def points_of(row):
    """[(x, y), …] of a line that is one row."""
    return list(zip(row["x"], row["y"], strict=True))


def legend_of(figure, channel="color"):
    """{name: look} of the legend, in its order."""
    for layer in figure.spec["layer"]:
        found = layer["encoding"].get(channel, {})
        if "scale" in found and found.get("legend") is not None:
            return dict(zip(found["scale"]["domain"], found["scale"]["range"], strict=True))
    return {}


def title_of(figure):
    return figure.spec["title"]["text"]


def note_of(figure):
    return figure.spec["title"].get("subtitle", "")


def axis_of(figure, axis):
    return figure.spec["encoding"][axis]


class Picture:
    """An SVG that was drawn: marks, ticks and texts with their places in pixels."""

    def __init__(self, text):
        self.root = ET.fromstring(text)  # noqa: S314 - our own text
        self.marks, self.texts, self.ticks = [], [], {"x": {}, "y": {}}
        self._walk(self.root, 0.0, 0.0, ())

    def _walk(self, element, x, y, roles):
        moved = re.match(r"translate\(([-\d.e]+),([-\d.e]+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        roles = (*roles, element.get("class", ""))
        where = " ".join(roles)
        if element.tag == f"{SVG}text":
            self.texts.append(element.text or "")
            if "role-axis-label" in where:
                # Labels below the picture are of the x axis, those left of it are right-aligned.
                axis = "y" if element.get("text-anchor") == "end" and x < 200 else "x"
                self.ticks[axis][element.text] = (x, y)
        if "role-mark" in where and element.tag in (f"{SVG}path", f"{SVG}line", f"{SVG}rect"):
            self.marks.append((element, x, y))
        for child in element:
            self._walk(child, x, y, roles)

    def paths(self, stroke):
        """[[(x, y), …], …] of lines of a colour."""
        found = []
        for element, x0, y0 in self.marks:
            if element.get("stroke") == stroke and element.tag == f"{SVG}path":
                pairs = re.findall(r"[ML]([-\d.e]+),([-\d.e]+)", element.get("d"))
                found.append([(float(x) + x0, float(y) + y0) for x, y in pairs])
        return found

    def dots(self, fill):
        return [(x, y) for element, x, y in self.marks if element.get("fill") == fill]
