// Requests to the service, and the newest of many that follow each other fast.

export async function get(path) {
  return read(await asked(path));
}

export async function post(path, body) {
  const isForm = body instanceof FormData;
  return read(await asked(path, {
    method: "POST",
    headers: isForm ? {} : { "Content-Type": "application/json" },
    body: isForm ? body : JSON.stringify(body),
  }));
}

async function asked(path, options) {
  try { return await fetch(path, options); } catch { throw new Error("the service does not answer; is it still running?"); }
}

async function read(response) {
  let value;
  try { value = await response.json(); } catch { value = {}; }
  if (!response.ok) throw new Error(value.error || `the service answered ${response.status}`);
  return value;
}

// A function that runs `work` with its last argument: one at a time, those in between are dropped.
export function newest(work) {
  let running = false, next = null;
  return async function ask(argument) {
    next = { argument };
    if (running) return;
    running = true;
    while (next) {
      const { argument: now } = next;
      next = null;
      try { await work(now); clearError(); } catch (error) { showError(error); }
    }
    running = false;
  };
}

export function showError(error) {
  const place = document.getElementById("error");
  place.textContent = error.message;
  place.hidden = false;
}

export function clearError() {
  document.getElementById("error").hidden = true;
}
