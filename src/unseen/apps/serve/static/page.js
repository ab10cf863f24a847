// The page: loads what the model is, and shows one of three panes.
import { get, showError } from "./api.js";
import { makeDescribe } from "./describe.js";
import { makeKept } from "./kept.js";
import { alongCells, at, element, setGallery } from "./parts.js";
import { makeRecognise } from "./recognise.js";
import { makeRetrieve } from "./retrieve.js";
import * as state from "./state.js";

const PANES = ["recognise", "retrieve", "describe"];
const FIELDS = { recognise: ["row", "picture", "numbers"], retrieve: ["wanted"], describe: ["search"] };
const panes = {};

function open(name, focus = false) {
  if (!isOpenable(name)) return;
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

function isOpenable(name) {
  return !at(`tab-${name}`).disabled;
}

function keys(event) {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && event.target.type !== "range";
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const here = PANES.find((name) => !at(name).hidden);
  const number = ["1", "2", "3"].indexOf(event.key);
  if (number >= 0) open(PANES[number], true);
  else if (event.key === "/" || event.key === "g") {
    event.preventDefault();
    if (event.key === "/") FIELDS[here].map(at).find((field) => field.offsetParent)?.focus();
    else at(here).querySelector(".results .cell, .results .bars button")?.focus();
  }
}

function alongTabs(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const some = PANES.filter(isOpenable), here = some.findIndex((name) => !at(name).hidden);
  open(some[(here + step + some.length) % some.length], true);
}

async function load() {
  const [facts, { attributes, classes }] = await Promise.all([get("/v1/model"), get("/v1/classes")]);
  classes.sort((a, b) => (a.seen - b.seen) || String(a.name).localeCompare(String(b.name)));
  const seen = new Set(classes.filter((one) => one.seen).map((one) => String(one.name)));
  const names = classes.map((one) => one.name);
  facts.first = names[0];
  setGallery(facts.gallery?.key);
  const rows = facts.gallery ? `, a gallery of ${facts.gallery.rows.toLocaleString("en")} rows` : "";
  at("facts").textContent = `${facts.name}: ${facts.method}, ${facts.seen} classes seen in training, `
    + `${facts.unseen} unseen${rows}`;
  // A model of pairs without names can only search by a description.
  at("tab-recognise").disabled = !facts.names;
  at("tab-retrieve").disabled = !facts.names || !facts.gallery;
  const known = new Set(names.map(String));
  const kept = makeKept(attributes, known, (own) => {
    at("class-names").replaceChildren(...[...own, ...names].map((name) => element("option", { value: name })));
    panes[state.value("pane")]?.show();
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
  for (const id of ["retrieved", "described", "bars"]) at(id).addEventListener("keydown", alongCells);
  at("skip").onclick = (event) => { event.preventDefault(); at("main").focus(); };
  const usual = facts.gallery || !facts.names ? "describe" : "recognise";
  const wanted = state.value("pane");
  open(PANES.includes(wanted) && isOpenable(wanted) ? wanted : usual);
  document.body.dataset.ready = "yes";
}

load().catch(showError);
