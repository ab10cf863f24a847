// Classes that a person has described and kept: candidates of this page, and a csv line to download.
import { at, element } from "./parts.js";
import * as state from "./state.js";

export function makeKept(attributes, known, changed) {
  const classes = new Map(read(state.value("kept"), attributes.length, known));

  function show() {
    at("kept").replaceChildren(...[...classes].map(([name, vector]) => {
      const save = element("button", { type: "button", textContent: "csv" });
      save.setAttribute("aria-label", `Download ${name} as csv`);
      save.onclick = () => download(name, vector);
      const drop = element("button", { type: "button", textContent: "✕" });
      drop.setAttribute("aria-label", `Forget ${name}`);
      drop.onclick = () => { classes.delete(name); update(); };
      return element("li", {}, `${name} `, save, drop);
    }));
  }

  function update() {
    const text = [...classes].map(([name, vector]) =>
      `${encodeURIComponent(name)}=${vector.map((x) => Number(x.toPrecision(4))).join(",")}`);
    state.set({ kept: text.join(";") });
    show();
    changed([...classes.keys()]);
  }

  function download(name, vector) {
    const head = ["name", ...attributes.map((one) => one.name)].map(cell).join(",");
    const text = `${head}\n${[cell(name), ...vector].join(",")}\n`;
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })),
      download: `${name.replace(/[^\w -]+/g, "_")}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  return {
    show() { show(); changed([...classes.keys()]); },
    has: (name) => classes.has(String(name)),
    size: () => classes.size,
    asClasses: () => (classes.size ? { classes: Object.fromEntries(classes) } : {}),
    add(name, vector) {
      if (!name) throw new Error("give the class a name");
      if (name === "described") throw new Error('"described" is kept for what the sliders say; give another name');
      if (known.has(name)) throw new Error(`there is a class "${name}" already; give another name`);
      classes.set(name, vector);
      update();
      download(name, vector);
    },
  };
}

function read(text, width, known) {
  return text.split(";").filter(Boolean).map((one) => {
    const [name, numbers] = one.split("=");
    return [decoded(name), (numbers ?? "").split(",").map(Number)];
  }).filter(([name, v]) => !known.has(name) && v.length === width && v.every(Number.isFinite));
}

// The text as it is where a link was damaged.
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function cell(text) {
  return /[",\n]/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : text;
}
