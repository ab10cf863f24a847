// Retrieve: a class in, the rows of the gallery that fit it best out.
import { newest, post, showError } from "./api.js";
import { at, fillGrid } from "./parts.js";
import * as state from "./state.js";

export function makeRetrieve({ facts, names, kept, pick }) {
  const byText = new Map(names.map((name) => [String(name), name]));
  state.choose(at("against"), "against");

  const ask = newest(async (name) => {
    const found = await post("/v1/rank", {
      name, k: Math.min(48, facts.gallery.rows), ...kept.asClasses(),
      ...(at("against").value ? { against: at("against").value } : {}) });
    const known = found.labels && !kept.has(name);
    const right = known ? found.labels.filter((label) => String(label) === String(name)).length : 0;
    at("retrieved-title").textContent = `Best matches for ${name}`
      + (known ? `: ${right} of ${found.rows.length} have this label` : "");
    fillGrid(at("retrieved"), found, { wanted: known ? name : null, pick });
  });

  const named = (text) => (kept.has(text) ? text : byText.get(text));

  function changed() {
    const text = at("wanted").value, name = named(text);
    if (name === undefined) return;
    state.set({ class: text, against: at("against").value });
    ask(name);
  }

  // What is no class has no matches, not those of the class before.
  function check() {
    const text = at("wanted").value;
    if (named(text) !== undefined) return;
    at("retrieved-title").textContent = "Best matches";
    at("retrieved").replaceChildren();
    const near = alike(text);
    showError(new Error(`there is no class "${text}"; `
      + (near.length ? `these are like it: ${near.join(", ")}` : "choose one from the list")));
  }

  // A few names that hold all the words of a text, whatever stands between them.
  function alike(text) {
    const words = text.toLowerCase().split(/[\s_.,:-]+/).filter(Boolean);
    return words.length ? [...byText.keys()].filter((name) =>
      words.every((word) => name.toLowerCase().includes(word))).slice(0, 5) : [];
  }

  at("wanted").value = state.value("class", String(facts.first));
  at("wanted").oninput = changed;
  at("wanted").onchange = check;
  at("wanted").onfocus = () => at("wanted").select();
  at("against").onchange = changed;
  return { show: () => facts.gallery && (changed(), check()) };
}
