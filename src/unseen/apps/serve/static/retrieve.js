// Retrieve: a class in, the rows of the gallery that fit it best out.
import { newest, post, showError } from "./api.js";
import { at, fillGrid } from "./parts.js";
import * as state from "./state.js";

export function makeRetrieve({ facts, names, kept, pick }) {
  const byText = new Map(names.map((name) => [String(name), name]));
  at("against").value = state.value("against");

  const ask = newest(async (name) => {
    const found = await post("/v1/rank", {
      name, k: Math.min(48, facts.gallery.rows), ...kept.asClasses(),
      ...(at("against").value ? { against: at("against").value } : {}) });
    const known = found.labels && !kept.has(name);
    const right = known ? found.labels.filter((label) => String(label) === String(name)).length : 0;
    at("retrieved-title").textContent = `Best matches for ${name}`
      + (known ? `: ${right} of ${found.rows.length} are labelled so` : "");
    fillGrid(at("retrieved"), found, { wanted: known ? name : null, pick });
  });

  function changed() {
    const text = at("wanted").value;
    const name = kept.has(text) ? text : byText.get(text);
    if (name === undefined) return;
    state.set({ class: text, against: at("against").value });
    ask(name);
  }

  at("wanted").value = state.value("class", String(facts.first));
  at("wanted").oninput = changed;
  at("wanted").onchange = () => {
    const text = at("wanted").value;
    if (!kept.has(text) && !byText.has(text)) showError(new Error(`there is no class "${text}"; choose one from the list`));
  };
  at("wanted").onfocus = () => at("wanted").select();
  at("against").onchange = changed;
  return { show: () => facts.gallery && changed() };
}
