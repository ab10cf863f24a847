// Pieces of the page that the panes share.

export function element(kind, properties = {}, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function at(id) {
  return document.getElementById(id);
}

export function badge(isSeen, isOwn) {
  const word = isOwn ? "yours" : isSeen ? "seen" : "unseen";
  return element("span", { className: `badge ${word}`, textContent: word });
}

export function score(number) {
  return Math.abs(number) >= 1e4 ? number.toExponential(2) : number.toPrecision(4);
}

// The address of a thumbnail; browsers keep it, so that of another gallery is another.
let gallery = "";
export function setGallery(key) {
  gallery = key;
}
export function thumbnail(row) {
  return `/v1/gallery/${row}/thumb?of=${gallery}`;
}

// A name such as red_headed_woodpecker may break after each word; a number such as +1.5 may not.
export function breakable(name) {
  return String(name).replace(/::|_|[+.](?=\D)/g, "$&\u200b");
}

// Arrows among what was found: to the next, the one before, and those below and above.
export function alongCells(event) {
  const cells = [...event.currentTarget.querySelectorAll("button")], here = cells.indexOf(event.target);
  const top = (cell) => cell.getBoundingClientRect().top;
  const columns = cells.filter((cell) => top(cell) === top(cells[0])).length;
  const to = { ArrowLeft: here - 1, ArrowRight: here + 1, ArrowUp: here - columns,
    ArrowDown: here + columns, Home: 0, End: cells.length - 1 }[event.key];
  if (here < 0 || to === undefined || !cells[to]) return;
  event.preventDefault();
  cells[to].focus();
}

// Rows of the gallery, best first. Cells are used again, so that pictures do not flicker.
export function fillGrid(place, found, { wanted = null, pick = () => {} } = {}) {
  const { rows, scores, labels, pictures } = found;
  while (place.children.length > rows.length) place.lastChild.remove();
  while (place.children.length < rows.length) place.append(cell());
  rows.forEach((row, k) => {
    const here = place.children[k], label = labels ? String(labels[k]) : "";
    const judged = wanted !== null && labels !== null;
    const isRight = judged && label === String(wanted);
    here.className = `cell ${judged ? (isRight ? "right" : "wrong") : ""}`;
    here.onclick = () => pick(row);
    const [picture, mark, text] = here.children;
    show(picture, row, pictures !== null && pictures[k]);
    mark.hidden = !judged;
    mark.className = `mark ${isRight ? "right" : "wrong"}`;
    mark.textContent = isRight ? "✓" : "✕";
    text.textContent = `${breakable(label) || `row ${row}`} ${score(scores[k])}`;
    here.dataset.row = row;
    here.setAttribute("aria-label", `place ${k + 1}: row ${row} ${label}, score ${score(scores[k])}`
      + (judged ? (isRight ? ", right" : ", of another class") : ""));
  });
}

function cell() {
  const mark = element("span", { className: "mark", hidden: true });
  return element("button", { type: "button", className: "cell" },
    element("span", { className: "none" }), mark, element("small"));
}

function show(place, row, hasPicture) {
  const source = thumbnail(row);
  if (!hasPicture) {
    if (place.tagName === "IMG") place.replaceWith(noPicture(row));
    else place.textContent = `row ${row}`;
  } else if (place.tagName === "IMG") {
    if (place.getAttribute("src") !== source) place.src = source;
  } else {
    const picture = element("img", { alt: "", decoding: "async", width: 96, height: 96, src: source });
    picture.onerror = () => picture.replaceWith(noPicture(row));
    // A few drawn pixels stay squares; a photograph is scaled smoothly.
    picture.onload = () => picture.classList.toggle("tiny", picture.naturalWidth < 64);
    place.replaceWith(picture);
  }
}

function noPicture(row) {
  return element("span", { className: "none", textContent: `row ${row}` });
}
