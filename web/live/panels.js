// Beside the network: the evidence, the chosen variable, and the questions one asks next.
import { button, copy, element, essText, figure, logText, percent, post, read, rhatText, shape, whole } from "/tools.js";

export function panels(side, api) {
  const { state } = api;
  const evidence = section("Evidence", true), variable = section("Variable", true), joint = section("Joint distribution"),
    best = section("Most probable state"), next = section("What to ask next"), cases = section("Cases"), code = section("Copy");
  side.append(evidence.node, variable.node, joint.node, best.node, next.node, cases.node, code.node);
  const kept = [];
  let keptSoFar = 0;
  let asked = 0;

  function section(title, open) {
    const body = element("div", { class: "body" });
    const node = element("details", { open: Boolean(open) }, element("summary", {}, title), body);
    node.addEventListener("toggle", () => node.open && refresh());
    return { node, body };
  }
  const nodeOf = (v) => state.nodes.get(v);
  const seenOf = (v) => state.findings.get(v) || {};
  const nameOf = (v) => (nodeOf(v) ? nodeOf(v).name : seenOf(v).name || String(v));
  const stateOf = (v, k) => (nodeOf(v) ? nodeOf(v).states[k] : seenOf(v).names ? seenOf(v).names[k] : String(k));
  const question = (more) => ({ findings: api.findingsList(), ...more });

  function bar(p, old) {
    const node = shape("svg", { class: "mini", viewBox: "0 0 100 9", preserveAspectRatio: "none", "aria-hidden": "true" },
      shape("rect", { class: "room", width: 100, height: 9 }), shape("rect", { class: "bar", width: Math.max(0, 100 * p), height: 9 }));
    if (old !== undefined && old !== null) node.append(shape("line", { class: "old moved", x1: 100 * old, x2: 100 * old, y1: 0, y2: 9 }));
    return node;
  }

  // ---- evidence -----------------------------------------------------------------------------------------
  const addFacts = (list, facts) => facts.forEach(([name, value, id]) => list.append(element("dt", {}, name), element("dd", id ? { id } : {}, value)));
  // Which sampler estimates, where exact answers do not fit; made once, so that it can be used while answers come.
  let choice = null;
  function sampler() {
    if (!choice) {
      choice = element("select", { "aria-label": "Sampler", onchange: () => { state.method = choice.value; api.ask(); } }, element("option", { value: "" }, "chosen"));
      read("/api/methods").then((said) => choice.append(...said.methods.filter((one) => !one.why_not && one.name !== "exact" && one.name !== "pmp").map((one) => element("option", { value: one.name, title: one.summary }, one.name)))).catch(() => {});
    }
    if (!state.method) choice.options[0].textContent = state.answer.method;
    return choice;
  }
  function showEvidence() {
    const rows = Array.from(state.findings, ([v, finding]) => element("li", {},
      button(nameOf(v), () => api.select(v), { class: "link" }),
      element("span", { class: "value" }, finding.likelihood ? "likelihoods " + finding.likelihood.map((l) => figure(l, 2)).join(" : ") : stateOf(v, finding.state)),
      button("×", () => api.clear(v), { class: "small", "aria-label": "Remove the evidence of " + nameOf(v) })));
    const facts = element("dl", {});
    if (state.impossible) facts.append(element("dt", {}, "Impossible"), element("dd", { class: "bad" }, state.impossible));
    else if (state.answer && state.answer.exact) addFacts(facts, [
      ["log P(evidence)", logText(state.answer.log_evidence, 7), "log-evidence"], ["P(evidence)", figure(Math.exp(state.answer.log_evidence), 4)],
      ["Method", state.answer.method], ["Time", figure(state.answer.milliseconds, 2) + " ms"]]);
    else if (state.answer) addFacts(facts, [
      ["Method", sampler()], ["Largest error", "± " + figure(Math.min(100, 200 * state.answer.mcse_max), 2) + " points", "largest-error"], ["R-hat", rhatText(state.answer.rhat_max)],
      ["Least ESS", essText(state.answer.ess_min)], ["Sweeps", whole(state.answer.sweeps) + " in each of " + whole(state.answer.chains) + " chains"], ["Seconds", figure(state.answer.seconds, 3)]]);
    const verdict = state.answer && !state.answer.exact && !state.impossible ? [element("p", { class: "verdict " + (state.answer.verdict || "") }, state.answer.verdict_text || ""),
      element("p", { class: "hint" }, "Estimated: " + state.answer.why_not + ". Lines on the bars are two standard errors; they shrink while you watch.")] : [];
    evidence.body.replaceChildren(facts, ...verdict,
      rows.length ? element("ul", { class: "findings" }, ...rows) : element("p", { class: "hint" }, "Click a state to observe it; click again to forget it. Drag along a bar for soft evidence. Shift-click a name to pick it for the joint distribution."),
      element("div", { class: "buttons" },
        button("Undo", api.undo, { disabled: !state.history.length }), button("Redo", api.redo, { disabled: !state.future.length }),
        button("Clear", () => api.clear(), { disabled: !state.findings.size })));
  }

  // ---- one variable: all its states, and soft evidence by numbers -----------------------------------------
  let drawn = null;
  function showVariable() {
    const node = nodeOf(state.selected);
    if (!node) {
      drawn = null;
      variable.body.replaceChildren(element("p", { class: "hint" }, "Click the name of a variable to see all of it here."));
      return;
    }
    if (drawn && drawn.id === node.id) return updateVariable(node);
    const finding = state.findings.get(node.id);
    drawn = { id: node.id, rows: [] };
    const rows = node.states.map((name, k) => {
      const line = { figure: element("td", { class: "number" }), bar: element("td", {}), input: element("input", { type: "number", min: 0, max: 1, step: 0.05, "aria-label": "Likelihood of " + name }) };
      line.input.value = finding && finding.likelihood ? finding.likelihood[k] : "";
      line.observe = button(name, () => api.toggle(node.id, k), { class: "link" });
      drawn.rows.push(line);
      return element("tr", {}, element("th", { scope: "row" }, line.observe), line.bar, line.figure, element("td", {}, line.input));
    });
    const set = () => {
      const likelihood = drawn.rows.map((line) => (line.input.value === "" ? 1 : Math.max(0, Number(line.input.value))));
      if (likelihood.some((l) => l > 0)) api.soften(node.id, likelihood);
    };
    variable.body.replaceChildren(element("h3", {}, node.name),
      element("table", {}, element("thead", {}, element("tr", {}, ...["State", "", "%", "Likelihood"].map((title) => element("th", { scope: "col", class: title === "%" ? "number" : "" }, title)))), element("tbody", {}, ...rows)),
      element("div", { class: "buttons" }, button("Use these likelihoods", set), button("Pick for the joint", () => api.pick(node.id)), button("Forget", () => api.clear(node.id))));
    updateVariable(node);
  }
  function updateVariable(node) {
    const finding = state.findings.get(node.id);
    drawn.rows.forEach((line, k) => {
      line.figure.textContent = node.p[k] === null ? "" : (100 * node.p[k]).toFixed(3);
      line.bar.replaceChildren(bar(node.p[k] || 0));
      line.observe.setAttribute("aria-pressed", String(Boolean(finding && finding.state === k)));
    });
  }

  // ---- questions that are asked only while their panel is open --------------------------------------------
  async function fillIn(panel, work) {
    const mine = ++asked;
    panel.asked = mine;
    try {
      const parts = await work();
      if (panel.asked === mine) panel.body.replaceChildren(...parts);
    } catch (error) {
      if (panel.asked === mine) panel.body.replaceChildren(element("p", { class: "hint" }, error.message));
    }
  }
  const hint = (text) => [element("p", { class: "hint" }, text)];

  function showJoint() {
    if (state.picked.length < 2) return joint.body.replaceChildren(...hint("Pick two to four variables: shift-click their names, or press p on a variable."));
    const picked = state.picked.slice();
    fillIn(joint, async () => {
      const said = await post("/api/joint", question({ variables: picked }));
      const cards = picked.map((v) => nodeOf(v).states.length), rows = [];
      said.probabilities.forEach((p, i) => {
        const states = [];
        for (let j = picked.length - 1, rest = i; j >= 0; --j) { states.unshift(stateOf(picked[j], rest % cards[j])); rest = Math.floor(rest / cards[j]); }
        rows.push([states, p]);
      });
      rows.sort((a, b) => b[1] - a[1]);
      return [element("table", {}, element("thead", {}, element("tr", {}, ...picked.map((v) => element("th", { scope: "col" }, nameOf(v))), element("th", { scope: "col", class: "number" }, "%"))),
        element("tbody", {}, ...rows.slice(0, 40).map(([states, p]) => element("tr", {}, ...states.map((name) => element("td", {}, name)), element("td", { class: "number" }, p === 0 ? "0" : (100 * p).toFixed(3)))))),
      ...(rows.length > 40 ? hint("The 40 most probable of " + rows.length + " states.") : [])];
    });
  }

  function showBest() {
    fillIn(best, async () => {
      const said = await post("/api/best", question());
      const rows = said.assignment.map((k, v) => [v, k]).filter(([v]) => nodeOf(v) && !state.findings.has(v));
      return [element("p", {}, said.log_probability !== undefined ? "Probability given the evidence: " + figure(Math.exp(said.log_probability), 4) : "Log score " + logText(said.log_score, 7) + (said.optimal ? ", proven to be the best" : ", the best that was found")),
        element("table", {}, element("tbody", {}, ...rows.map(([v, k]) => element("tr", {}, element("th", { scope: "row" }, button(nameOf(v), () => api.select(v), { class: "link" })), element("td", {}, stateOf(v, k))))))];
    });
  }

  let target = null;
  function showNext() {
    const nodes = Array.from(state.nodes.values()).filter((node) => !state.findings.has(node.id));
    if (!nodes.length) return next.body.replaceChildren(...hint("Everything is observed."));
    if (target === null || !nodes.some((node) => node.id === target)) target = state.selected !== null && !state.findings.has(state.selected) ? state.selected : nodes[nodes.length - 1].id;
    const choice = element("select", { "aria-label": "Target" }, ...nodes.map((node) => element("option", { value: node.id, selected: node.id === target }, node.name)));
    choice.addEventListener("change", () => { target = Number(choice.value); showNext(); });
    const head = element("p", {}, "To learn about ", choice);
    fillIn(next, async () => {
      const said = await post("/api/information", question({ target }));
      const ranked = nodes.filter((node) => node.id !== target).map((node) => [node, said.information[node.id]]).sort((a, b) => b[1] - a[1]).slice(0, 12);
      const most = Math.max(1e-12, ranked.length ? ranked[0][1] : 0);
      return [head, element("table", { class: "ranked" }, element("tbody", {}, ...ranked.map(([node, value]) => element("tr", {},
        element("th", { scope: "row" }, button(node.name, () => api.select(node.id), { class: "link" })), element("td", {}, bar(value / most)), element("td", { class: "number" }, figure(value / Math.LN2, 3) + " bit"))))),
      ...hint("Mutual information with the target, given the evidence.")];
    });
  }

  // ---- cases ---------------------------------------------------------------------------------------------
  function showCases() {
    const keep = button("Keep this case", () => {
      kept.push({ name: "Case " + ++keptSoFar, findings: new Map(state.findings), log: state.answer ? state.answer.log_evidence : null, p: new Map(Array.from(state.nodes.values(), (node) => [node.id, node.p])) });
      showCases();
    });
    const node = nodeOf(state.selected);
    const columns = [...kept, { name: "Now", p: new Map(Array.from(state.nodes.values(), (other) => [other.id, other.p])) }];
    const compare = node && kept.length ? [element("table", {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, node.name), ...columns.map((one) => element("th", { scope: "col", class: "number" }, one.name)))),
      element("tbody", {}, ...node.states.map((name, k) => element("tr", {}, element("th", { scope: "row" }, name), ...columns.map((one) => element("td", { class: "number" }, one.p.get(node.id) ? percent(one.p.get(node.id)[k]) : "–"))))))]
      : hint(kept.length ? "Click the name of a variable to compare it." : "A case is the evidence as it is now, with its answers.");
    cases.body.replaceChildren(element("div", { class: "buttons" }, keep),
      element("ul", { class: "findings" }, ...kept.map((one, i) => element("li", {}, button(one.name, () => api.restore(one.findings), { class: "link" }),
        element("span", { class: "value" }, one.findings.size + " observed, log P " + logText(one.log, 5)),
        button("×", () => { kept.splice(i, 1); showCases(); }, { class: "small", "aria-label": "Forget " + one.name })))), ...compare);
  }

  // ---- the same question elsewhere ------------------------------------------------------------------------
  const shell = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'");
  const listed = (text) => (/[",=:]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  const python = (text) => JSON.stringify(text);
  function commandText() {
    const observe = Array.from(state.findings, ([v, finding]) => listed(nameOf(v)) + "=" + (finding.likelihood ? finding.likelihood.map((l) => figure(l, 4)).join(":") : listed(stateOf(v, finding.state)))).join(",");
    return "drover marginals " + shell(state.model.file) + (observe ? " --observe " + shell(observe) : "");
  }
  function pythonText() {
    const observe = Array.from(state.findings, ([v, finding]) => python(nameOf(v)) + ": " + (finding.likelihood ? "[" + finding.likelihood.map((l) => figure(l, 4)).join(", ") + "]" : python(stateOf(v, finding.state)))).join(", ");
    return (state.model.file ? "import drover as dv\nm = dv.read(" + python(state.model.file) + ")\n" : "") + "r = m.marginals({" + observe + "})";
  }
  function showCode() {
    const command = commandText(), program = pythonText();
    code.body.replaceChildren(
      ...(state.model.file ? [element("pre", { tabindex: 0 }, command), button("Copy as command", () => copy(command, "Command"))] : hint("This model is in no file that a command could read.")),
      element("pre", { tabindex: 0 }, program), button("Copy as Python", () => copy(program, "Python")));
  }

  function refresh() {
    if (joint.node.open) showJoint();
    if (best.node.open) showBest();
    if (next.node.open) showNext();
    if (cases.node.open) showCases();
    if (code.node.open) showCode();
  }
  showEvidence();
  showVariable();
  return {
    changed: showEvidence,
    answered() { showEvidence(); showVariable(); if (!state.impossible) refresh(); },
    selected() { showVariable(); refresh(); },
    picked() { joint.node.open = true; showJoint(); },
    refused(why) { evidence.body.replaceChildren(element("p", { class: "bad" }, why)); },
  };
}
