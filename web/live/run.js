// A sampler while it runs: figures, traces, R-hat and effective sample size over time, the slowest variables, and the
// race of samplers when one is held.
import { button, element, errorText, essText, figure, find, logText, post, read, rhatText, say, whole } from "/tools.js";
import { chart } from "/plot.js";
import { likelihoodOf } from "/network.js";

export function runView(place, model) {
  const method = element("select", { "aria-label": "Method", onchange: () => running && begin() });
  const seed = element("input", { type: "number", min: 0, step: 1, value: 1, "aria-label": "Seed", onchange: () => running && begin() });
  const start = button("Start", begin, { class: "main" }), hold = button("Pause", () => act(paused ? "continue" : "pause")), end = button("Stop", () => act("stop"));
  const link = (text, href, name) => element("a", { class: "button", href, download: name }, text);
  const saves = [link("Draws (.npz)", "/api/run/draws.npz", "draws.npz"), link("Draws (.csv)", "/api/run/draws.csv", "draws.csv"), link("Figures", "/api/run/figures", "run.json")];
  if (model.reports) saves.unshift(link("Report", "/api/run/report", "report.html"));
  const verdict = element("p", { class: "verdict", role: "status" }, "Nothing has run yet.");
  const facts = element("dl", { class: "facts" });
  const trace = chart("Log score", "One line per chain, the first eight. Mixed chains overlap and look like noise.", { show: (value) => logText(value, 7) });
  const rhat = chart("R-hat", "The worst of the watched variables; below the dashed line at 1.01 is good.", { line: 1.01, floor: 1, cut: 1.5, show: rhatText });
  const ess = chart("Effective sample size", "Of the slowest variable: how many independent draws the run is worth for it.", { floor: 0, show: essText });
  const slowest = element("tbody", {}), race = element("tbody", {});
  const column = (title, i) => element("th", { scope: "col", class: i ? "number" : "" }, title);
  const table = (titles, body) => element("div", { class: "scroll", tabindex: 0 }, element("table", {}, element("thead", {}, element("tr", {}, ...titles.map(column))), body));
  const raceCard = element("section", { class: "card race", hidden: true }, element("h2", {}, "The race"),
    element("p", { class: "hint" }, "Every sampler that fits makes a short pilot; the one that learns most per work goes on."), table(["Sampler", "Heats", "Sweeps", "Seconds", "R-hat"], race));

  // ---- evidence -----------------------------------------------------------------------------------------------
  const list = element("span", { class: "chips" });
  const name = element("input", { type: "search", list: "observable", placeholder: "Observe a variable", "aria-label": "Observe a variable", autocomplete: "off" });
  const options = element("datalist", { id: "observable" }), states = element("select", { "aria-label": "State", hidden: true });
  const add = button("Observe", () => {
    if (!chosen) return;
    model.findings.set(chosen.id, { state: Number(states.value), states: chosen.states.length, name: chosen.name, names: chosen.states });
    name.value = "";
    choose(null);
    evidenceChanged();
  }, { hidden: true });
  let chosen = null, typed = 0;
  function choose(one) {
    chosen = one;
    states.hidden = add.hidden = !one;
    if (one) states.replaceChildren(...one.states.map((text, k) => element("option", { value: k }, text)));
  }
  name.addEventListener("input", async () => {
    const mine = ++typed, text = name.value.trim(), found = text ? await find(text) : [];
    if (mine !== typed) return;
    options.replaceChildren(...found.map((one) => element("option", { value: one.name })));
    choose(found.find((one) => one.name.toLowerCase() === text.toLowerCase()) || null);
  });
  function evidenceChanged() {
    showEvidence();
    if (running) begin();
  }
  function showEvidence() {
    list.replaceChildren(...Array.from(model.findings, ([v, finding]) => element("span", { class: "chip" },
      (finding.name || v) + (finding.likelihood ? " (soft)" : " = " + (finding.names ? finding.names[finding.state] : finding.state)),
      button("×", () => { model.findings.delete(v); evidenceChanged(); }, { class: "small", "aria-label": "Remove the evidence of " + (finding.name || v) }))));
  }

  place.append(element("div", { class: "sampler" },
    element("div", { class: "controls" }, element("label", {}, "Method ", method), element("label", {}, "Seed ", seed), start, hold, end, element("span", { class: "saves" }, "Save", ...saves)),
    element("div", { class: "controls" }, element("span", { class: "hint" }, "Evidence"), list, name, options, states, add),
    verdict, facts,
    element("div", { class: "cards" }, raceCard, trace.node, rhat.node, ess.node,
      element("section", { class: "card" }, element("h2", {}, "The slowest variables"), table(["Variable", "ESS", "R-hat", "Std. error"], slowest)))));
  let paused = false, running = false, closed = false;
  showEvidence();

  // For a large model it takes a while to find out what fits.
  async function fillMethods() {
    const said = await read("/api/methods");
    if (closed) return;
    const wanted = method.value || "gibbs";
    method.replaceChildren(element("option", { value: "race", title: "Every sampler that fits makes a pilot, the best goes on" }, "auto (a race)"),
      ...said.methods.map((one) => element("option", { value: one.name, disabled: Boolean(one.why_not), title: one.why_not || one.summary }, one.name + (one.why_not === null ? " …" : ""))));
    method.value = wanted;
    place.dataset.methods = said.pending ? "pending" : "known";
    if (said.pending) setTimeout(() => !closed && fillMethods().catch(() => {}), 500);
  }
  fillMethods().catch((error) => say(error.message));

  async function act(what, body = {}) {
    try { await post("/api/run/" + what, body); } catch (error) { say(error.message); verdict.className = "verdict bad"; verdict.textContent = error.message; }
  }
  function begin() {
    act("start", { method: method.value || "gibbs", seed: Math.max(0, Math.round(Number(seed.value) || 0)), findings: Array.from(model.findings, ([v, finding]) => [v, likelihoodOf(finding, finding.states)]) });
  }

  function show(said) {
    running = said.running;
    paused = said.phase === "paused";
    start.textContent = running ? "Start anew" : "Start";
    hold.textContent = paused ? "Go on" : "Pause";
    hold.disabled = end.disabled = !running;
    place.dataset.phase = said.phase;
    place.dataset.draws = said.draws;
    for (const save of saves) save.toggleAttribute("hidden", said.phase === "idle" || (save.download.startsWith("draws") && !said.kept_draws) || (save.download === "report.html" && !said.verdict));
    verdict.className = "verdict " + (said.error ? "bad" : said.verdict || "");
    verdict.textContent = said.error || said.verdict_text || (said.phase === "idle" ? "Nothing has run yet." : "It is too early to say.");
    const pairs = [["State", said.phase], ["Method", said.method || "–"], ["Chains", whole(said.chains)], ["Evidence", said.evidence.length ? whole(said.evidence.length) + " observed" : "none"], ["Sweeps", whole(said.sweeps)], ["Draws a chain", whole(said.draws)],
      ["Updates per ns", figure(said.updates_per_nanosecond, 3)], ["Seconds", said.seconds < 0.001 ? "0" : figure(said.seconds, 4)], ["R-hat", rhatText(said.rhat_max)], ["Least ESS", essText(said.ess_min)]];
    facts.replaceChildren(...pairs.map(([title, value]) => element("div", {}, element("dt", {}, title), element("dd", {}, value))));
    trace.draw(said.trace);
    rhat.draw([said.convergence[0], said.convergence[1]]);
    ess.draw([said.convergence[0], said.convergence[2]]);
    const rows = said.race || [], most = Math.max(1e-9, ...rows.map((row) => row.seconds));
    raceCard.hidden = !rows.length;
    race.replaceChildren(...rows.map((row) => {
      const share = row.seconds > 0 ? element("i", { class: "share" }) : "";
      if (share) share.style.width = 100 * row.seconds / most + "%";
      return element("tr", { class: row.chosen ? "chosen" : row.running ? "running" : "" },
        element("th", { scope: "row" }, row.method + (row.chosen ? " ✓" : ""), share, row.note ? element("span", { class: "hint" }, row.note) : ""),
        ...[whole(row.heats), whole(row.sweeps), figure(row.seconds, 3), rhatText(row.rhat)].map((text) => element("td", { class: "number" }, text)));
    }));
    slowest.replaceChildren(...(said.slowest || []).map((row) => element("tr", {}, element("th", { scope: "row" }, row.name),
      ...[essText(row.ess), rhatText(row.rhat), errorText(row.mcse)].map((text) => element("td", { class: "number" }, text)))));
  }

  // The browser connects again by itself when the connection is lost; when the server was gone for longer, we do.
  let events = null;
  function connect() {
    events = new EventSource("/api/run/events");
    events.onopen = () => place.classList.remove("lost");
    events.onmessage = (event) => { window.droverSnapshots = (window.droverSnapshots || 0) + 1; show(JSON.parse(event.data)); };
    events.onerror = () => {
      place.classList.add("lost");
      if (events.readyState === EventSource.CLOSED && !closed) setTimeout(() => !closed && connect(), 1000);
    };
  }
  connect();
  hold.disabled = end.disabled = true;
  for (const save of saves) save.hidden = true;
  return {
    close() { closed = true; events.close(); for (const one of [trace, rhat, ess]) one.close(); },
    find(one) { name.value = one.name; choose(one); name.focus(); },
  };
}
