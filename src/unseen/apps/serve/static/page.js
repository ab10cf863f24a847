// The page: loads what the model is, and shows one of three panes.
import { get, showError } from "./api.js";
import { makeDescribe } from "./describe.js";
import { makeKept } from "./kept.js";
import { at, element } from "./parts.js";
import { makeRecognise } from "./recognise.js";
import { makeRetrieve } from "./retrieve.js";
import * as state from "./state.js";

const PANES = ["recognise", "retrieve", "describe"];
const panes = {};

function open(name, focus = false) {
  for (const other of PANES) {
    const tab = at(`tab-${other}`), isOpen = other === name;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    at(other).hidden = !isOpen;
  }
  if (focus) at(`tab-${name}`).focus();
  state.set({ pane: name });
  panes[name].show();
}

function keys(event) {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "range";
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const number = ["1", "2", "3"].indexOf(event.key);
  if (number >= 0) open(PANES[number], true);
  else if (event.key === "/" && !at("describe").hidden) { event.preventDefault(); at("search").focus(); }
}

function alongTabs(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const here = PANES.findIndex((name) => !at(name).hidden);
  open(PANES[(here + step + PANES.length) % PANES.length], true);
}

async function load() {
  const [facts, { attributes, classes }] = await Promise.all([get("/v1/model"), get("/v1/classes")]);
  classes.sort((a, b) => (a.seen - b.seen) || String(a.name).localeCompare(String(b.name)));
  const seen = new Set(classes.filter((one) => one.seen).map((one) => one.name));
  const names = classes.map((one) => one.name);
  facts.first = names[0];
  const rows = facts.gallery ? `, a gallery of ${facts.gallery.rows.toLocaleString("en")}` : "";
  at("facts").textContent = `${facts.name}: ${facts.method}, ${facts.seen} classes seen in training, `
    + `${facts.unseen} unseen${rows}`;
  for (const name of ["retrieve", "describe"]) at(`tab-${name}`).disabled = !facts.gallery;
  const known = new Set(names.map(String));
  const kept = makeKept(attributes, known, (own) => {
    at("class-names").replaceChildren(...[...own, ...names].map((name) => element("option", { value: name })));
  });
  kept.show();
  const pick = (row) => { open("recognise", true); panes.recognise.recogniseRow(row); };
  const shared = { facts, attributes, classes, names, seen, kept, pick };
  panes.recognise = makeRecognise(shared);
  panes.retrieve = makeRetrieve(shared);
  panes.describe = makeDescribe(shared);
  PANES.forEach((name) => { at(`tab-${name}`).onclick = () => open(name); });
  document.querySelector(".tabs").addEventListener("keydown", alongTabs);
  document.addEventListener("keydown", keys);
  const usual = facts.gallery ? "describe" : "recognise";
  open(PANES.includes(state.value("pane")) && facts.gallery ? state.value("pane") : usual);
  document.body.dataset.ready = "yes";
}

load().catch(showError);
