// Opens the model's first view, and others as they are asked for.
import { button, element, post, read, say, whole } from "/tools.js";
import { networkView } from "/network.js";
import { runView } from "/run.js";

const makers = { network: ["Network", networkView], run: ["Run", runView] };
const place = document.getElementById("view");
let current = null;

function show(name, model) {
  if (current && current.close) current.close();
  for (const tab of document.querySelectorAll("#views button")) tab.setAttribute("aria-current", tab.dataset.view === name ? "page" : "false");
  place.replaceChildren();
  place.className = name;
  current = makers[name][1](place, model);
}

async function open() {
  const model = await read("/api/model");
  document.title = model.name + " – drover";
  document.getElementById("title").replaceChildren(model.name, element("small", {}, whole(model.variables) + " variables, " + whole(model.factors) + " factors"));
  document.getElementById("views").replaceChildren(...model.views.map((name) => button(makers[name][0], () => show(name, model), { "data-view": name })));
  const examples = document.getElementById("examples");
  examples.parentElement.hidden = !model.examples.length;
  examples.replaceChildren(...model.examples.map((name) => element("option", { value: name, selected: name === model.name }, name)));
  document.getElementById("search").hidden = model.variables > 200000;
  const names = document.getElementById("names");
  names.replaceChildren();
  if (model.variables <= 20000) {
    const all = await read("/api/names");
    names.append(...all.names.slice(0, 2000).map((name) => element("option", { value: name })));
    model.names = all.names;
  }
  show(model.views[0], model);
}

document.getElementById("examples").addEventListener("change", async (event) => {
  await post("/api/open", { example: event.target.value });
  await open();
});
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const word = document.getElementById("find").value;
  if (!current || !current.find || !current.find(word)) say("There is no variable " + word);
});
document.getElementById("find").addEventListener("change", () => document.getElementById("search").requestSubmit());
open().catch((error) => place.replaceChildren(element("p", { class: "trouble" }, error.message)));
