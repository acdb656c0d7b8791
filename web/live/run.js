// A sampler while it runs: figures, traces, R-hat and effective sample size over time, the slowest variables.
import { button, element, figure, post, read, say, shape, whole } from "/tools.js";

const hues = 8, frame = { width: 560, height: 190, left: 56, right: 10, top: 10, bottom: 26 };

// A line chart as SVG: columns[0] is x, the others are curves. `line` is a level to mark; `low` the least top.
function chart(title, words, settings = {}) {
  const plot = shape("svg", { class: "plot", viewBox: `0 0 ${frame.width} ${frame.height}`, role: "img", "aria-label": title });
  const node = element("section", { class: "card" }, element("h2", {}, title), element("p", { class: "hint" }, words), plot);
  function draw(columns) {
    const x = columns[0], curves = columns.slice(1);
    const values = curves.flat().filter(Number.isFinite);
    if (x.length < 2 || !values.length) return plot.replaceChildren(shape("text", { x: frame.width / 2, y: frame.height / 2, class: "empty" }, "not enough draws yet"));
    let low = Math.min(...values), high = Math.max(...values);
    if (settings.line !== undefined) { low = Math.min(low, settings.floor); high = Math.max(high, settings.line * 1.002); }
    if (settings.cut) high = Math.min(high, settings.cut);
    if (high === low) { high += 1; low -= 1; }
    const pad = 0.05 * (high - low), top = high + pad, bottom = settings.floor !== undefined ? settings.floor : low - pad;
    const px = (value) => frame.left + (value - x[0]) / (x[x.length - 1] - x[0] || 1) * (frame.width - frame.left - frame.right);
    const py = (value) => frame.top + (top - Math.min(top, value)) / (top - bottom) * (frame.height - frame.top - frame.bottom);
    const parts = [];
    for (let i = 0; i <= 3; ++i) {
      const value = bottom + (top - bottom) * i / 3;
      parts.push(shape("line", { class: "grid", x1: frame.left, x2: frame.width - frame.right, y1: py(value), y2: py(value) }),
        shape("text", { class: "y", x: frame.left - 6, y: py(value) + 4 }, figure(value, 4)));
    }
    for (const value of [x[0], x[x.length - 1]]) parts.push(shape("text", { class: value === x[0] ? "x first" : "x last", x: px(value), y: frame.height - 8 }, whole(value)));
    curves.forEach((curve, c) => {
      let path = "", pen = "M";
      curve.forEach((value, i) => {
        if (!Number.isFinite(value)) { pen = "M"; return; }
        path += pen + px(x[i]).toFixed(1) + " " + py(value).toFixed(1);
        pen = "L";
      });
      parts.push(shape("path", { class: "curve hue" + (curves.length > 1 ? c % hues : 0), d: path }));
    });
    if (settings.line !== undefined) parts.push(shape("line", { class: "level", x1: frame.left, x2: frame.width - frame.right, y1: py(settings.line), y2: py(settings.line) }));
    plot.replaceChildren(...parts);
  }
  return { node, draw };
}

export function runView(place, model) {
  const method = element("select", { "aria-label": "Method" });
  const seed = element("input", { type: "number", min: 0, step: 1, value: 1, "aria-label": "Seed" });
  const start = button("Start", begin, { class: "main" }), hold = button("Pause", pause), end = button("Stop", () => act("stop"));
  const save = element("a", { class: "button", href: "/api/run/report", download: "run.json" }, "Save figures");
  const verdict = element("p", { class: "verdict", role: "status" }, "Nothing has run yet.");
  const facts = element("dl", { class: "facts" });
  const trace = chart("Log score", "One line per chain, the first eight. Mixed chains overlap and look like noise.");
  const rhat = chart("R-hat", "The worst of the watched variables; below the dashed line at 1.01 is good.", { line: 1.01, floor: 1, cut: 1.5 });
  const ess = chart("Effective sample size", "Of the slowest variable: how many independent draws the run is worth for it.", { floor: 0 });
  const slowest = element("tbody", {});
  place.append(element("div", { class: "sampler" },
    element("div", { class: "controls" }, element("label", {}, "Method ", method), element("label", {}, "Seed ", seed), start, hold, end, save),
    verdict, facts,
    element("div", { class: "cards" }, trace.node, rhat.node, ess.node,
      element("section", { class: "card" }, element("h2", {}, "The slowest variables"),
        element("table", {}, element("thead", {}, element("tr", {}, ...["Variable", "ESS", "R-hat", "Std. error"].map((title, i) => element("th", { scope: "col", class: i ? "number" : "" }, title)))), slowest)))));
  let paused = false, running = false;

  read("/api/methods").then((said) => {
    method.append(...said.methods.map((one) => element("option", { value: one.name, disabled: Boolean(one.why_not), title: one.why_not || one.summary, selected: one.name === said.chosen }, one.name)));
  });

  async function act(what, body = {}) {
    try { await post("/api/run/" + what, body); } catch (error) { say(error.message); verdict.textContent = error.message; }
  }
  function begin() { act("start", { method: method.value, seed: Math.max(0, Math.round(Number(seed.value) || 0)) }); }
  function pause() { act(paused ? "continue" : "pause"); }

  function show(said) {
    running = said.running;
    paused = said.phase === "paused";
    start.textContent = running ? "Start anew" : "Start";
    hold.textContent = paused ? "Go on" : "Pause";
    hold.disabled = end.disabled = !running;
    place.dataset.phase = said.phase;
    verdict.className = "verdict " + (said.error ? "bad" : said.verdict || "");
    verdict.textContent = said.error || said.verdict_text || (said.phase === "idle" ? "Nothing has run yet." : "It is too early to say.");
    const pairs = [["State", said.phase], ["Method", said.method || "–"], ["Chains", whole(said.chains)], ["Sweeps", whole(said.sweeps)], ["Draws of each chain", whole(said.draws)],
      ["Updates per ns", figure(said.updates_per_nanosecond, 3)], ["Seconds", figure(said.seconds, 4)], ["R-hat", figure(said.rhat_max, 5)], ["Least ESS", figure(said.ess_min, 4)]];
    facts.replaceChildren(...pairs.flatMap(([name, value]) => [element("div", {}, element("dt", {}, name), element("dd", {}, value))]));
    trace.draw(said.trace);
    rhat.draw([said.convergence[0], said.convergence[1]]);
    ess.draw([said.convergence[0], said.convergence[2]]);
    slowest.replaceChildren(...(said.slowest || []).map((row) => element("tr", {}, element("th", { scope: "row" }, row.name),
      ...[figure(row.ess, 4), figure(row.rhat, 4), figure(row.mcse, 2)].map((text) => element("td", { class: "number" }, text)))));
  }

  // The browser connects again by itself when the connection is lost.
  const events = new EventSource("/api/run/events");
  events.onmessage = (event) => { window.droverSnapshots = (window.droverSnapshots || 0) + 1; show(JSON.parse(event.data)); };
  hold.disabled = end.disabled = true;
  return { close: () => events.close() };
}
