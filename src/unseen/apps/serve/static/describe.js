// Describe: sliders in, the gallery in a new order out, while they move.
import { newest, post, showError } from "./api.js";
import { showDisplay } from "./display.js";
import { at, badge, breakable, element, fillGrid } from "./parts.js";
import { makeSliders } from "./sliders.js";
import * as state from "./state.js";

export function makeDescribe({ facts, attributes, classes, kept, pick }) {
  const byName = new Map(classes.map((one) => [String(one.name), one]));
  const start = at("start");
  const options = (isSeen) => classes.filter((one) => one.seen === isSeen)
    .map((one) => element("option", { value: one.name, textContent: one.name }));
  start.append(element("option", { value: "", textContent: "nothing" }),
    element("optgroup", { label: "unseen classes" }, ...options(false)),
    element("optgroup", { label: "seen classes" }, ...options(true)));
  const vector = () => sliders.values();
  // Nothing: zero, or the low end where zero is out of range; an opposite is at its other end.
  const zeros = attributes.map((one, k) => (one.opposite !== null && one.opposite < k ? one.high
    : one.low > 0 || one.high < 0 ? one.low : 0));
  const sliders = makeSliders(attributes, at("sliders"), changed);

  const k = facts.gallery ? Math.min(24, facts.gallery.rows) : 0;

  const ask = newest(async (wanted) => {
    const began = performance.now();
    const found = await post("/v1/rank", { ...wanted, k });
    if (found.vector) sliders.start(found.vector, new Map());
    fillGrid(at("described"), found, { pick: facts.names ? pick : undefined });
    const took = performance.now() - began;
    at("took").textContent = `${facts.gallery.rows.toLocaleString("en")} rows re-ranked in ${took.toFixed(0)} ms`;
    at("took").dataset.milliseconds = took;
    restLater();
  });

  // The order comes first; the rest waits until the slider rests.
  const askRivals = newest(async () => showRivals(await post("/v1/rank", {
    vector: vector(), k, rivals: 8, ...kept.asClasses() })));
  let resting = 0;

  function restLater() {
    clearTimeout(resting);
    resting = setTimeout(() => {
      state.set({ from: start.value, sentence: at("sentence").value,
        set: state.writeNumbers(sliders.moved()) });
      showNearest();
      if (facts.names && facts.gallery) askRivals();
    }, 100);
  }

  function showRivals(found) {
    at("rivals").replaceChildren(...found.rivals.map(({ name, seen, rows }) => {
      const own = name === "described";
      return element("li", { className: own ? "own" : "" },
        element("span", { textContent: own ? "this description" : breakable(name) }),
        own ? null : badge(seen, kept.has(name)),
        element("span", { className: "number", textContent: `${rows} of ${found.rows.length}` }));
    }));
  }

  // The class whose description is nearest, each attribute in units of its range.
  function showNearest() {
    const here = vector();
    let best = null, least = Infinity;
    for (const one of classes) {
      let distance = 0;
      one.vector.forEach((x, k) => {
        const range = attributes[k].high - attributes[k].low || 1;
        distance += ((x - here[k]) / range) ** 2;
      });
      if (distance < least) [best, least] = [one, distance];
    }
    const how = least < 1e-9 ? "This is the description of" : "Nearest known class:";
    const go = element("button", { type: "button", textContent: best.name, id: "start-nearest" });
    go.onclick = () => begin(String(best.name));
    at("nearest").replaceChildren(`${how} `, go, ` (${best.seen ? "seen" : "unseen"})`);
  }

  function begin(name, moved = new Map()) {
    start.value = name;
    at("sentence").value = "";
    sliders.start(name ? byName.get(name).vector : zeros, moved);
    changed();
  }

  // A sentence sets all sliders; what is moved after that starts from there.
  async function say(text, moved = new Map()) {
    at("sentence").value = text;
    if (!text) return begin(start.value);
    start.value = "";
    await ask({ sentence: text });
    if (moved.size) { sliders.move(moved); changed(); }
  }

  function changed() {
    showDisplay(attributes, vector(), sliders.toggle);
    if (facts.gallery) ask({ vector: vector() });
    else restLater();
  }

  start.onchange = () => begin(start.value);
  at("start-over").onclick = () => begin(start.value);
  function find() {
    const isFound = sliders.filter(at("search").value);
    at("none-found").textContent = isFound ? "" : "No attribute has these words in its name or group.";
  }

  at("search").value = state.value("find");
  find();
  at("search").oninput = () => {
    find();
    state.set({ find: at("search").value });
  };
  at("with-sentence").hidden = !facts.sentences || !facts.gallery;
  at("took").textContent = facts.gallery ? "" : "Nothing to search in: start the service with --data. "
    + "What you keep is a candidate in Recognise.";
  at("rivals-title").hidden = !facts.gallery || !facts.names;
  at("sentence").onchange = () => say(at("sentence").value.trim());
  at("keep").onsubmit = (event) => {
    event.preventDefault();
    try {
      kept.add(at("keep-name").value.trim(), vector());
      at("keep-name").value = "";
      changed();
    } catch (error) { showError(error); }
  };
  const from = byName.has(state.value("from")) ? state.value("from") : "";
  let isNew = true;
  return {
    show() {
      const moved = isNew && state.readNumbers(state.value("set"));
      if (isNew && facts.sentences && state.value("sentence")) say(state.value("sentence"), moved);
      else if (isNew) begin(from, moved);
      else changed();
      isNew = false;
    },
  };
}
