// Sliders of attributes: in groups, the most telling first; opposites move together.
import { element } from "./parts.js";

export function makeSliders(attributes, place, changed) {
  const current = attributes.map((one) => one.low);
  let origin = [...current];
  const lines = new Map();
  const groups = new Map();
  attributes.forEach((one, k) => {
    // Of two opposites one slider is enough.
    if (one.opposite !== null && one.opposite < k) return;
    if (!groups.has(one.group)) groups.set(one.group, []);
    groups.get(one.group).push(k);
  });
  const most = (columns) => Math.max(...columns.map((k) => attributes[k].telling));
  const ordered = [...groups].sort((a, b) => most(b[1]) - most(a[1]));
  ordered.forEach(([name, columns], place_) => {
    columns.sort((a, b) => attributes[b].telling - attributes[a].telling);
    const group = element("details", { open: ordered.length <= 4 || place_ < 3 },
      element("summary", {}, `${name} `, element("small", { textContent: columns.length })),
      ...columns.map(line));
    place.append(group);
  });

  function line(k) {
    const one = attributes[k], span = one.high - one.low;
    const input = element("input", { type: "range", id: `attribute-${k}`, min: one.low, max: one.high,
      step: span ? span / 100 : 1, disabled: !span });
    const output = element("output", { htmlFor: input.id });
    const made = element("div", { className: "slider" },
      element("label", { htmlFor: input.id, textContent: one.label, title: one.name }), input, output);
    const to = (number) => { move(k, number); changed(); };
    input.oninput = () => to(Number(input.value));
    input.onkeydown = (event) => {
      if (event.key !== " " && event.key !== "Backspace") return;
      event.preventDefault();
      to(event.key === " " ? otherEnd(k) : origin[k]);
    };
    made.ondblclick = () => to(origin[k]);
    lines.set(k, { made, input, output });
    return made;
  }

  function move(k, number) {
    set(k, number);
    const one = attributes[k];
    if (one.opposite === null) return;
    const other = attributes[one.opposite], share = (number - one.low) / (one.high - one.low || 1);
    set(one.opposite, other.high - share * (other.high - other.low));
  }

  function otherEnd(k) {
    const { low, high } = attributes[k];
    return current[k] - low > (high - low) / 2 ? low : high;
  }

  function moveAll(moved) {
    for (const [k, number] of moved) if (lines.has(k)) move(k, number);
  }

  function set(k, number) {
    current[k] = number;
    const line = lines.get(k);
    if (!line) return;
    line.input.value = number;
    line.output.textContent = Number(number.toPrecision(3));
    line.made.classList.toggle("set", Math.abs(number - origin[k]) > 1e-9);
  }

  return {
    values: () => [...current],
    moved: () => new Map([...lines.keys()].filter((k) => Math.abs(current[k] - origin[k]) > 1e-9)
      .map((k) => [k, current[k]])),
    start(vector, moved) {
      origin = [...vector];
      vector.forEach((number, k) => set(k, number));
      moveAll(moved);
    },
    move: moveAll,
    toggle(k) { move(k, otherEnd(k)); changed(); },
    filter(text) {
      const words = text.toLowerCase().split(/\s+/).filter(Boolean);
      for (const [k, { made }] of lines) {
        const where = `${attributes[k].group} ${attributes[k].label}`.toLowerCase();
        made.hidden = !words.every((word) => where.includes(word));
      }
      for (const group of place.children) {
        const some = [...group.querySelectorAll(".slider")].some((made) => !made.hidden);
        group.hidden = !some;
        if (words.length && some) group.open = true;
      }
      return [...lines.values()].some(({ made }) => !made.hidden);
    },
  };
}
