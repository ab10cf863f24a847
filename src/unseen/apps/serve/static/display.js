// Where a class is described by the segments of a display: the display, whose segments switch.
import { at } from "./parts.js";

// Places of the segments: x, y, width, height.
const SEGMENTS = {
  top: [14, 2, 36, 10], "upper right": [52, 14, 10, 36], "lower right": [52, 62, 10, 36],
  bottom: [14, 100, 36, 10], "lower left": [2, 62, 10, 36], "upper left": [2, 14, 10, 36],
  middle: [14, 51, 36, 10],
};

function drawn(kind, values) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(values)) made.setAttribute(name, value);
  return made;
}

// Shows the display if the attributes are its segments, as far on as the sliders say.
export function showDisplay(attributes, vector, toggle) {
  const columns = Object.keys(SEGMENTS).map((name) => attributes.findIndex((one) => one.label === `${name} on`));
  if (columns.includes(-1)) return;
  const place = at("display");
  if (place.hidden) {
    const display = drawn("svg", { viewBox: "0 0 64 112", role: "group", "aria-label": "The segments" });
    Object.entries(SEGMENTS).forEach(([name, [x, y, width, height]], number) => {
      const segment = drawn("rect", { x, y, width, height, rx: 4, role: "switch", tabindex: 0, "aria-label": name });
      segment.onclick = () => toggle(columns[number]);
      segment.onkeydown = (event) => {
        if (event.key !== " " && event.key !== "Enter") return;
        event.preventDefault();
        toggle(columns[number]);
      };
      display.append(segment);
    });
    place.append(display);
    place.hidden = false;
  }
  [...place.firstChild.children].forEach((segment, number) => {
    const { low, high } = attributes[columns[number]];
    const share = (vector[columns[number]] - low) / (high - low || 1);
    segment.setAttribute("aria-checked", String(share > 0.5));
    segment.setAttribute("fill-opacity", share);
  });
}
