// Recognise: a row, a picture or numbers in, candidates with probabilities and reasons out.
import { newest, post, showError } from "./api.js";
import { at, badge, breakable, element, score, thumbnail } from "./parts.js";
import * as state from "./state.js";

export function makeRecognise({ facts, seen, kept }) {
  let given = null; // what the last request asked about, without its candidates
  let why = state.value("why"); // the class whose reasons a link shows
  const rows = facts.gallery ? facts.gallery.rows : 0;
  at("from-gallery").hidden = !rows;
  at("row").max = rows - 1;
  at("numbers").placeholder = `${facts.columns} numbers, separated by commas or spaces`;
  at("drop-says").textContent = facts.pictures ? "Drop a picture here, or choose one"
    : `Not available: ${facts.why_no_pictures}.`;
  at("picture").hidden = !facts.pictures;
  at("drop").classList.toggle("off", !facts.pictures);
  at("from-numbers").open = !rows && !facts.pictures;
  state.choose(at("candidates"), "among", facts.unseen ? "unseen" : "seen");

  const ask = newest(async (what) => {
    try { await recognise(what); } catch (error) { clear(); throw error; }
  });

  async function recognise(what) {
    // A picture is encoded once; its row is asked about as any other.
    if (what.form) what = { title: what.title, body: await encoded(what) };
    const among = at("candidates").value, n = { seen: facts.seen, unseen: facts.unseen };
    const k = Math.min(8, (n[among] ?? facts.seen + facts.unseen) + kept.size());
    const found = await post("/v1/predict", { ...what.body, k, candidates: among, ...kept.asClasses() });
    at("recognised-title").textContent = `${what.title}: candidates, best first`;
    fill(found, what);
    if (what.row !== undefined) showRow(what.row, found);
  }

  // What is wrong has no candidates, not those of what was shown before.
  function clear() {
    at("recognised-title").textContent = "Candidates";
    at("bars").replaceChildren();
    at("reasons").replaceChildren();
  }

  async function encoded(what) {
    const found = await post("/v1/predict/pictures?k=1", what.form).catch((error) => {
      throw new Error(error.message.replace(/^picture 0/, what.title));
    });
    const body = { rows: found.rows };
    if (given === what) given = { title: what.title, body };
    return body;
  }

  function fill(found, what) {
    const names = found.names[0], scores = found.scores[0];
    const chances = found.probabilities ? found.probabilities[0] : null;
    const low = Math.min(...scores), range = Math.max(...scores) - low || 1;
    at("reasons").replaceChildren();
    at("bars").replaceChildren(...names.map((name, k) => {
      const bar = element("i");
      bar.style.width = `${100 * (chances ? chances[k] : (scores[k] - low) / range)}%`;
      const number = chances ? percent(chances[k]) : score(scores[k]);
      const isLabel = found.labels !== null && String(found.labels[0]) === String(name);
      const button = element("button", { type: "button" }, bar,
        element("span", { className: "name", textContent: breakable(name) }),
        isLabel ? element("span", { className: "badge label", textContent: "✓ its label" }) : null,
        badge(seen.has(String(name)), kept.has(name)),
        element("span", { className: "number", textContent: number }));
      button.setAttribute("aria-pressed", "false");
      button.onclick = () => explain(button, name, what);
      if (String(name) === why) button.onclick();
      return element("li", {}, button);
    }));
    why = "";
  }

  async function explain(button, name, what) {
    if (!facts.explains) {
      showError(new Error(`a model of ${facts.method} gives no reasons`));
      return;
    }
    const row = what.row !== undefined ? { gallery: what.row } : { row: what.body.rows[0] };
    try {
      const found = await post("/v1/explain", { ...row, name, ...kept.asClasses() });
      if (!button.isConnected) return; // another row is shown by now
      if (what.row !== undefined) state.set({ why: name }); // no link shows other things again
      for (const other of at("bars").querySelectorAll("button")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      at("reasons").replaceChildren(element("h2", { textContent: `Why ${name}` }), ...found.tables.map(table));
    } catch (error) { showError(error); }
  }

  function showRow(row, { labels, pictures }) {
    const hasPicture = pictures !== null && pictures[0];
    const figure = at("row-shown");
    figure.hidden = false;
    figure.querySelector("img").hidden = !hasPicture;
    if (hasPicture) {
      const image = figure.querySelector("img");
      image.onload = () => image.classList.toggle("tiny", image.naturalWidth < 64);
      image.src = thumbnail(row);
    }
    figure.querySelector("figcaption").textContent = labels ? `labelled ${labels[0]}` : `row ${row}`;
  }

  function recogniseRow(row) {
    const number = Math.max(0, Math.min(rows - 1, Math.trunc(Number(row)) || 0));
    at("row").value = number;
    state.set({ row: number });
    again({ body: { gallery: [number] }, row: number, title: `Row ${number}` });
  }

  function again(what = given) {
    if (given) state.set({ why: "" });
    given = what;
    if (what) ask(what);
  }

  function recogniseNumbers() {
    const texts = at("numbers").value.split(/[\s,;]+/).filter(Boolean), numbers = texts.map(Number);
    const odd = numbers.findIndex((x) => !Number.isFinite(x));
    if (texts.length !== facts.columns || odd >= 0) {
      clear();
      showError(new Error(`paste ${facts.columns} numbers, separated by commas or spaces; `
        + (odd >= 0 ? `"${texts[odd].slice(0, 30)}" is none` : `these are ${texts.length}`)));
      return;
    }
    again({ body: { rows: [numbers] }, title: "Pasted numbers" });
  }

  function recognisePicture(file) {
    if (!file || !facts.pictures) return;
    const form = new FormData();
    form.append("pictures", file);
    const shown = at("picture-shown");
    URL.revokeObjectURL(shown.src);
    shown.src = URL.createObjectURL(file);
    shown.alt = file.name;
    shown.hidden = false;
    shown.onerror = () => { shown.hidden = true; };
    again({ form, title: file.name });
  }

  at("row").oninput = () => recogniseRow(at("row").value);
  at("row-before").onclick = () => recogniseRow(Number(at("row").value) - 1);
  at("row-after").onclick = () => recogniseRow(Number(at("row").value) + 1);
  at("row-any").onclick = () => recogniseRow(Math.floor(Math.random() * rows));
  at("numbers-go").onclick = recogniseNumbers;
  at("candidates").onchange = () => { state.set({ among: at("candidates").value }); again(); };
  at("picture").onchange = () => recognisePicture(at("picture").files[0]);
  // Anywhere on the pane; a browser would open a picture that is dropped elsewhere in place of the page.
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      at("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && !at("recognise").hidden) recognisePicture(event.dataTransfer.files[0]);
    });
  }
  return { show: () => (given || !rows ? again() : recogniseRow(state.value("row", 0))), recogniseRow };
}

function percent(chance) {
  return chance > 0 && chance < 0.0005 ? "< 0.1 %" : `${(100 * chance).toFixed(1)} %`;
}

function table({ title, columns, lines }) {
  return element("table", {}, element("caption", { textContent: title }),
    element("thead", {}, element("tr", {}, ...columns.map((c) => element("th", { textContent: c })))),
    element("tbody", {}, ...lines.map((line) =>
      element("tr", {}, ...line.map((text) => element("td", { textContent: breakable(text) }))))));
}
