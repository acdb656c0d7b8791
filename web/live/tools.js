// What the modules share: making elements, asking the server, words and numbers. Text of the model enters the page
// only as text nodes and attribute values, never as markup.

export function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function shape(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export const button = (text, press, attributes) => element("button", { type: "button", onclick: press, ...attributes }, text);

// A range with its name and value; `change` hears every move, follow() takes what others set unless it is held.
export function slider(name, { min, max, step, value, show, change }) {
  const input = element("input", { type: "range", min, max, step, value, "aria-label": name });
  const output = element("output", {});
  const tell = () => { output.textContent = show(Number(input.value)); input.setAttribute("aria-valuetext", output.textContent); };
  let held = 0;
  input.addEventListener("input", () => { held = performance.now(); tell(); change(Number(input.value)); });
  const node = element("label", { class: "slider" }, element("span", {}, name), output, input);
  queueMicrotask(tell);
  const set = (next) => { input.value = next; tell(); };
  return { node, input, set, follow(next) { if (performance.now() - held > 700 && Math.abs(Number(input.value) - next) > step / 2) set(next); } };
}

async function answer(response) {
  const text = await response.text();
  let said;
  try { said = JSON.parse(text); } catch { throw new Error(text.trim() || response.statusText); }
  if (!response.ok) throw new Error(said.error || response.statusText);
  return said;
}

// Requests that wait for their answers.
const underWay = new Set();
export function request(path, options) {
  const one = fetch(path, { cache: "no-store", ...options });
  underWay.add(one);
  const done = () => underWay.delete(one);
  one.then(done, done);
  return one;
}
export const settled = () => Promise.allSettled([...underWay]);

export const read = async (path) => answer(await request(path));
export const find = async (text) => (await read("/api/find?text=" + encodeURIComponent(text))).found;

export const post = async (path, body) => answer(await request(path, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
}));

// Asks the server about the newest question only: while one is under way, later ones replace each other.
export function newest(ask, show, fail) {
  let waiting = null, busy = false;
  async function work() {
    busy = true;
    while (waiting) {
      const [question] = waiting;
      waiting = null;
      try {
        const said = await ask(question);
        if (!waiting) show(said, question);
      } catch (error) {
        if (!waiting) fail(error, question);
      }
    }
    busy = false;
  }
  return (question) => { waiting = [question]; if (!busy) work(); };
}

export function say(text) {
  document.getElementById("said").textContent = text;
}

export const percent = (p) => (p === 1 ? "100" : p === 0 ? "0" : 100 * p < 0.05 ? "<0.1" : 100 * p > 99.95 ? ">99.9" : (100 * p).toFixed(1));
export const whole = (value) => Math.round(value).toLocaleString("en");

// Numbers as people read them, by the rules of drover/core/figures.hpp: a test compares the two.
const unknown = (value) => value === null || value === undefined || Number.isNaN(value);
const rounding = 1e-12;
const general = (value, digits) => {  // as %g writes it
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e"), e = Number(exponent);
  if (e >= -4 && e < digits) return String(Number(value.toFixed(digits - 1 - e)));
  return Number(mantissa) + "e" + (e < 0 ? "-" : "+") + String(Math.abs(e)).padStart(2, "0");
};
export const logText = (value, digits = 10) => (unknown(value) ? "not known" : !Number.isFinite(value) ? (value > 0 ? "infinite" : "minus infinity")
  : Math.abs(value) < rounding ? "0" : general(value, digits));
export const rhatText = (rhat) => (unknown(rhat) ? "-" : rhat < 1000 ? rhat.toFixed(4) : "above 1000");
export const essText = (ess) => (unknown(ess) || !Number.isFinite(ess) ? "-" : ess.toFixed(0));
export const errorText = (error, digits = 2) => (unknown(error) || !Number.isFinite(error) ? "-" : Math.abs(error) < rounding ? "0" : general(error, digits));

// Rates, seconds and other measured things: no digits that say nothing, and no zeros without end.
export function figure(value, digits = 4) {
  if (unknown(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Math.abs(value) < 1e6 && Math.abs(value) >= 10 ** digits - 0.5) return String(Math.round(value));
  return value === 0 ? "0" : general(value, digits);
}

export const shortened = (text, letters) => { const all = Array.from(text); return all.length > letters ? all.slice(0, letters - 1).join("") + "…" : text; };

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(what + " copied");
  } catch {
    say("The browser does not allow copying; select the text instead");
  }
}
