// What the page shows is in its address, so that a reload or a link brings it back.

const state = new URLSearchParams(location.hash.slice(1));

// An address that is pasted or a link that is followed shows what it says; own changes do not come here.
addEventListener("hashchange", () => location.reload());

export function value(name, usual = "") {
  return state.get(name) ?? usual;
}

export function set(values) {
  for (const [name, text] of Object.entries(values)) {
    if (text === "" || text === null || text === undefined) state.delete(name);
    else state.set(name, text);
  }
  history.replaceState(null, "", `#${state}`);
}

// The choice that the address names, or the usual one if there is no such choice.
export function choose(select, name, usual = "") {
  select.value = value(name, usual);
  if (select.selectedIndex < 0) select.value = usual;
}

// Numbers by place, such as the sliders that were moved: "3:0.5,7:1".
export function readNumbers(text) {
  const pairs = text.split(",").map((pair) => pair.split(":").map(Number));
  return new Map(pairs.filter(([k, v]) => text && Number.isInteger(k) && Number.isFinite(v)));
}

export function writeNumbers(numbers) {
  return [...numbers].map(([k, v]) => `${k}:${Number(v.toPrecision(4))}`).join(",");
}
