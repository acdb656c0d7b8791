// Opens the model's first view, and others as they are asked for. Evidence belongs to the model, not to a view.
import { button, element, find, post, read, say, settled, whole } from "/tools.js";
import { networkView } from "/network.js";
import { pictureView } from "/picture.js";
import { runView } from "/run.js";

const makers = { network: ["Network", networkView], run: ["Run", runView], picture: ["Picture", pictureView] };
const place = document.getElementById("view");
let current = null, model = null;

function show(name) {
  if (current && current.close) current.close();
  for (const tab of document.querySelectorAll("#views button")) tab.setAttribute("aria-current", tab.dataset.view === name ? "page" : "false");
  place.replaceChildren();
  for (const key of Object.keys(place.dataset)) delete place.dataset[key];
  place.className = name;
  document.getElementById("search").hidden = name === "picture";
  current = makers[name][1](place, model);
}

async function open() {
  model = await read("/api/model");
  model.findings = new Map();  // variable -> { state or likelihood, states (how many), name, names (of the states) }
  document.title = model.name + " – drover";
  const [title, ...rest] = model.examples.length ? model.name.split(": ") : [model.name];
  document.getElementById("title").replaceChildren(title, element("small", {}, [...rest, whole(model.variables) + " variables, " + whole(model.factors) + " factors"].join(" · ")));
  document.getElementById("views").replaceChildren(...model.views.map((name) => button(makers[name][0], () => show(name), { "data-view": name })));
  const examples = document.getElementById("examples");
  examples.parentElement.hidden = !model.examples.length;
  examples.replaceChildren(...model.examples.map((name) => element("option", { value: name, selected: name === model.name }, name.split(": ")[0])));
  show(model.views[0]);
}

// One model after another: what the last view still asks is answered before its model goes.
let turn = Promise.resolve(), chosen = 0;
document.getElementById("examples").addEventListener("change", (event) => {
  const mine = ++chosen, example = event.target.value;
  turn = turn.then(async () => {
    if (mine !== chosen) return;
    if (current && current.close) current.close();
    current = null;
    await settled();
    await post("/api/open", { example });
    await open();
  }).catch((error) => say(error.message));
});

// Names are looked up as one types.
const field = document.getElementById("find"), names = document.getElementById("names");
let typed = 0;
field.addEventListener("input", async () => {
  const mine = ++typed;
  const found = field.value.trim() ? await find(field.value.trim()) : [];
  if (mine === typed) names.replaceChildren(...found.map((one) => element("option", { value: one.name })));
});
async function seek() {
  const word = field.value.trim(), [first] = word ? await find(word) : [];
  if (!first) return word && say("There is no variable " + word);
  if (current && current.find) current.find(first);
}
document.getElementById("search").addEventListener("submit", (event) => { event.preventDefault(); seek(); });
field.addEventListener("change", seek);
open().catch((error) => place.replaceChildren(element("p", { class: "trouble" }, error.message)));
