// The network: boxes with bars, evidence by clicks, exact answers at once; where they do not fit, a sampler's, with
// error bars that shrink.
import { element, logText, newest, percent, post, read, say, shape, shortened } from "/tools.js";
import { panels } from "/panels.js";

// Evidence is a map from variable to { state } or { likelihood }.
export const likelihoodOf = (finding, states) =>
  finding.likelihood || Array.from({ length: states }, (_, k) => (k === finding.state ? 1 : 0));

export function networkView(place, model) {
  const canvas = shape("svg", { class: "canvas", role: "group", "aria-label": "The network. Tab goes from variable to variable, arrows choose a state, Enter observes it" });
  const world = shape("g", {});
  const arrow = shape("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
    shape("path", { d: "M0 .8L8 4L0 7.2Z" }));
  canvas.append(shape("defs", {}, arrow), world);
  const stage = element("div", { class: "stage" }, canvas);
  const side = element("aside", { "aria-label": "Answers" });
  place.append(stage, side);

  const state = {
    model, history: [], future: [], selected: null, picked: [],
    answer: null, nodes: new Map(), layout: null, method: "",
    get findings() { return model.findings; },
    set findings(next) { model.findings = next; },
  };
  const api = { state, toggle, soften, clear, undo, redo, restore, select, pick, ask, findingsList };
  const side_panels = panels(side, api);

  // ---- asking -------------------------------------------------------------------------------------------
  let asked = 0;  // questions so far: an answer to an earlier one is not refined
  const send = newest(
    (question) => post("/api/marginals", question.body),
    (said, question) => {
      if (said.impossible) return refuse(said.impossible, question);
      state.impossible = null;
      if (said.probabilities) {
        state.answer = said;
        paint(question.refines);
        if (!question.refines) reportTime(question);
        later(() => { side_panels.answered(question); if (!question.refines) announce(); });
      }
      if (!said.exact && !said.failure && question.number === asked && open) refine(question, said.version);
    },
    (error, question) => refuse(error.message, question),
  );
  // The same question again: the answer comes when the sampler knows more.
  function refine(question, version) {
    setTimeout(() => { if (open && question.number === asked) send({ ...question, refines: version > 0, body: { ...question.body, version } }); }, document.hidden ? 2000 : 50);
  }
  function refuse(why, question) {
    state.impossible = why;
    stage.classList.add("impossible");
    side_panels.answered(question);
    say(why);
  }
  // Once the new bars have been painted.
  const later = (work) => requestAnimationFrame(() => setTimeout(() => open && work()));
  function findingsList() {
    return Array.from(state.findings, ([v, finding]) => [v, likelihoodOf(finding, stateCount(v))]);
  }
  function stateCount(v) {
    const node = state.nodes.get(v);
    return node ? node.states.length : state.findings.get(v).states;
  }
  function ask() {
    send({ number: ++asked, asked: performance.now(), refines: false, body: { findings: findingsList(), variables: Array.from(state.nodes.keys()), method: state.method } });
    for (const node of state.nodes.values()) markEvidence(node);
    later(() => side_panels.changed());
  }
  // How long it took from the click until the new bars were painted: for whoever measures it.
  function reportTime(question) {
    const note = (name) => { (window[name] = (window[name] || []).slice(-999)).push(performance.now() - question.asked); };
    requestAnimationFrame(() => {
      setTimeout(() => note("droverTimes"));
      requestAnimationFrame(() => note("droverPainted"));  // the next frame has begun
    });
  }
  function change(edit) {
    state.history.push(new Map(state.findings));
    state.future = [];
    edit();
    ask();
  }
  const known = (v) => { const node = state.nodes.get(v); return { states: node.states.length, name: node.name, names: node.states }; };
  function toggle(v, k) {
    change(() => {
      const finding = state.findings.get(v);
      if (finding && finding.state === k) state.findings.delete(v);
      else state.findings.set(v, { state: k, ...known(v) });
    });
  }
  function soften(v, likelihood) {
    change(() => state.findings.set(v, { likelihood, ...known(v) }));
  }
  function clear(v) {
    change(() => (v === undefined ? state.findings.clear() : state.findings.delete(v)));
  }
  function undo() {
    if (!state.history.length) return;
    state.future.push(state.findings);
    state.findings = state.history.pop();
    ask();
  }
  function redo() {
    if (!state.future.length) return;
    state.history.push(state.findings);
    state.findings = state.future.pop();
    ask();
  }
  function restore(findings) {
    change(() => { state.findings = new Map(findings); });
  }
  function announce() {
    const words = [state.findings.size + " observed" + (state.answer.exact ? ", log probability of the evidence " + logText(state.answer.log_evidence, 5) : ", estimated by " + state.answer.method)];
    const node = state.nodes.get(state.selected);
    if (node) words.push(node.name + ": " + node.states.map((name, k) => name + " " + percent(node.p[k]) + " per cent").join(", "));
    say(words.join(". "));
  }

  // ---- drawing ------------------------------------------------------------------------------------------
  async function load(centre) {
    const layout = await read("/api/network" + (centre === undefined ? "" : "?centre=" + centre));
    if (!open) return;
    state.layout = layout;
    state.nodes.clear();
    stage.classList.toggle("undirected", !layout.directed);
    const arcs = layout.arcs.map((arc) => shape("path", { class: "arc", d: arc.d, "data-from": arc.from, "data-to": arc.to, "marker-end": layout.directed ? "url(#arrow)" : null }));
    world.replaceChildren(shape("g", { class: "arcs", "aria-hidden": "true" }, ...arcs));
    for (const node of layout.nodes) addNode(node, layout.shape);
    fit();
    part.hidden = layout.whole;
    part.textContent = layout.whole ? "" : layout.nodes.length + " of " + model.variables + " variables: find one to see what is around it";
    ask();
  }

  function addNode(node, box) {
    const { width, head, row, bar_begin, bar_end, inset, max_rows } = box;
    node.rows = [];
    node.p = node.states.map(() => null);
    node.current = 0;
    const group = shape("g", { class: "node", transform: `translate(${node.x} ${node.y})`, tabindex: 0, role: "group", "data-variable": node.id });
    group.append(shape("title", {}, node.name));
    group.append(shape("rect", { class: "box", width, height: node.height, rx: 5 }));
    const name = shape("g", { class: "head" }, shape("rect", { width, height: head, rx: 5 }), shape("text", { class: "name", x: inset, y: 17 }, shortened(node.name, 22)));
    name.addEventListener("click", (event) => (event.shiftKey || event.ctrlKey || event.metaKey ? pick(node.id) : select(node.id)));
    group.append(name);
    const shown = node.states.length > max_rows ? max_rows - 1 : node.states.length;
    for (let k = 0; k < shown; ++k) {
      const y = head + row * k;
      const line = {
        room: shape("rect", { class: "room", x: bar_begin, y: y + 3, width: bar_end - bar_begin, height: 9, rx: 2 }),
        bar: shape("rect", { class: "bar", x: bar_begin, y: y + 3, width: 0, height: 9, rx: 2 }),
        error: shape("path", { class: "error", d: "" }),
        old: shape("line", { class: "old", x1: bar_begin, x2: bar_begin, y1: y + 1, y2: y + 14 }),
        y: y + 7.5, before: null,
        figure: shape("text", { class: "figure", x: width - inset, y: y + 11 }, ""),
      };
      line.node = shape("g", { class: "row" }, shape("title", {}, node.name + " = " + node.states[k]),
        shape("rect", { class: "hit", x: 1, y, width: width - 2, height: row }),
        shape("text", { x: inset, y: y + 11 }, shortened(node.states[k], 11)), line.room, line.bar, line.error, line.old, line.figure);
      group.append(line.node);
      node.rows.push(line);
      watchRow(node, k, line, box);
    }
    if (node.outside) group.append(shape("text", { class: "outside", x: width - inset, y: 17 }, "+" + node.outside));
    if (shown < node.states.length) group.append(shape("text", { class: "more", x: inset, y: head + row * shown + 11 }, "and " + (node.states.length - shown) + " more"));
    group.addEventListener("keydown", (event) => onKey(event, node));
    group.addEventListener("focus", () => highlight(node, node.current));
    group.addEventListener("blur", () => highlight(node, -1, true));
    node.group = group;
    world.append(group);
    state.nodes.set(node.id, node);
  }

  // A click observes the state; dragging along the bar says how likely the evidence makes it.
  function watchRow(node, k, line, box) {
    let start = null;
    line.node.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.stopPropagation();
      start = { x: event.clientX, dragging: false };
      line.node.setPointerCapture(event.pointerId);
    });
    const shareAt = (event) => {
      const room = line.room.getBoundingClientRect();
      return Math.min(0.99, Math.max(0.01, (event.clientX - room.left) / room.width));
    };
    const softened = (event) => {
      const q = shareAt(event), others = node.states.length - 1;
      return node.states.map((_, j) => (j === k ? q : others ? (1 - q) / others : 0));
    };
    line.node.addEventListener("pointermove", (event) => {
      if (!start) return;
      if (Math.abs(event.clientX - start.x) > 5) start.dragging = true;
      if (!start.dragging) return;
      const likelihood = softened(event);
      if (start.begun) { state.findings.set(node.id, { likelihood, ...known(node.id) }); ask(); }
      else { start.begun = true; soften(node.id, likelihood); }
    });
    line.node.addEventListener("pointerup", () => {
      if (start && !start.dragging) {
        toggle(node.id, k);
        node.current = k;
        if (document.activeElement === node.group) highlight(node, k);
        else node.group.focus({ preventScroll: true });
      }
      start = null;
    });
    line.node.addEventListener("pointercancel", () => { start = null; });
  }

  function onKey(event, node) {
    const last = node.rows.length - 1;
    if (event.key === "ArrowDown") highlight(node, Math.min(last, node.current + 1));
    else if (event.key === "ArrowUp") highlight(node, Math.max(0, node.current - 1));
    else if (event.key === "Enter" || event.key === " ") toggle(node.id, node.current);
    else if (event.key === "Delete" || event.key === "Backspace") clear(node.id);
    else if (event.key === "s") select(node.id);
    else if (event.key === "p") pick(node.id);
    else return;
    event.preventDefault();
  }
  function highlight(node, k, keep) {
    node.rows.forEach((line, j) => line.node.classList.toggle("current", j === k));
    if (keep) return;
    node.current = k;
    say(node.name + ", " + node.states[k] + ", " + percent(node.p[k] ?? 0) + " per cent");
    into(node);
  }

  function markEvidence(node) {
    const finding = state.findings.get(node.id), words = finding ? (finding.likelihood ? "seen soft" : "seen " + finding.state) : "";
    if (node.marked === words) return;
    node.marked = words;
    node.group.classList.toggle("seen", Boolean(finding));
    node.group.classList.toggle("soft", Boolean(finding && finding.likelihood));
    node.rows.forEach((line, k) => line.node.classList.toggle("chosen", Boolean(finding && finding.state === k)));
  }

  // Takes the answer in; what can be seen is drawn at once, the rest when it comes into sight.
  function paint(refines) {
    stage.classList.remove("impossible");
    state.answer.variables.forEach((v, i) => {
      const node = state.nodes.get(v);
      if (!node) return;
      const p = state.answer.probabilities[i];
      if (!refines) node.rows.forEach((line, k) => { line.before = node.p[k]; });
      node.p = p;
      node.error = state.answer.mcse ? state.answer.mcse[i] : null;
      node.stale = node.unread = node.unsaid = true;
    });
    drawSeen();
  }
  const set = (line, name, value) => { if (line[name + "Set"] !== value) { line[name + "Set"] = value; return true; } return false; };
  function drawNode(node, far) {
    const { bar_begin, bar_end } = state.layout.shape, length = bar_end - bar_begin, exact = state.answer.exact;
    node.rows.forEach((line, k) => {
      const p = node.p[k], error = node.error ? node.error[k] : 0;
      if (set(line, "bar", p)) line.bar.setAttribute("width", p > 0 ? Math.max(0.75, length * p) : 0);
      const moved = line.before !== null && Math.abs(line.before - p) > 5e-4;
      if (moved && set(line, "old", line.before)) { const x = bar_begin + length * line.before; line.old.setAttribute("x1", x); line.old.setAttribute("x2", x); }
      if (set(line, "moved", moved)) line.old.classList.toggle("moved", moved);
      if (set(line, "excluded", exact && p === 0)) line.node.classList.toggle("excluded", exact && p === 0);
      if (set(line, "error", error)) {
        const low = bar_begin + length * Math.max(0, p - 2 * error), high = bar_begin + length * Math.min(1, p + 2 * error);
        line.error.setAttribute("d", error > 0 ? `M${low.toFixed(2)} ${line.y}H${high.toFixed(2)}M${low.toFixed(2)} ${line.y - 3}v6M${high.toFixed(2)} ${line.y - 3}v6` : "");
      }
      if (!far && set(line, "figure", percent(p))) line.figure.textContent = percent(p);
    });
    node.stale = false;
    if (!far) node.unread = false;
  }
  // Whether a box is within sight. Texts are too small to be read from afar.
  function drawSeen() {
    if (!state.answer) return;
    const far = view.scale < 0.35, width = state.layout.shape.width, { scale, x, y } = view;
    for (const node of state.nodes.values()) {
      if (!(node.stale || (node.unread && !far)) || node.p[0] === null) continue;
      const left = x + scale * node.x, top = y + scale * node.y;
      if (left > view.width || top > view.height || left + scale * width < 0 || top + scale * node.height < 0) continue;
      drawNode(node, far);
    }
    clearTimeout(saying);
    saying = setTimeout(describe, 150);
  }
  // For screen readers, when nothing more urgent is to be done.
  let saying = 0;
  function describe() {
    for (const node of state.nodes.values()) {
      if (!node.unsaid) continue;
      node.unsaid = false;
      node.group.setAttribute("aria-label", node.name + ": " + node.states.map((name, k) => name + " " + percent(node.p[k])).join(", ") + (state.findings.has(node.id) ? ". Observed" : ""));
    }
  }

  function select(v) {
    state.selected = v;
    for (const node of state.nodes.values()) node.group.classList.toggle("selected", node.id === v);
    for (const arc of world.querySelectorAll(".arc")) arc.classList.toggle("near", Number(arc.dataset.from) === v || Number(arc.dataset.to) === v);
    side_panels.selected();
  }
  function pick(v) {
    state.picked = state.picked.includes(v) ? state.picked.filter((other) => other !== v) : [...state.picked, v].slice(-4);
    for (const node of state.nodes.values()) node.group.classList.toggle("picked", state.picked.includes(node.id));
    side_panels.picked();
  }

  // ---- zoom ---------------------------------------------------------------------------------------------
  const view = { x: 0, y: 0, scale: 1, width: 0, height: 0 };
  let catching = false;  // what came into sight is drawn once a frame
  const apply = () => {
    world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.scale})`);
    const far = view.scale < 0.35;
    if (view.far !== far) { view.far = far; stage.classList.toggle("far", far); }
    if (catching) return;
    catching = true;
    requestAnimationFrame(() => { catching = false; if (open) drawSeen(); });
  };
  function zoom(factor, x, y) {
    const scale = Math.min(4, Math.max(0.04, view.scale * factor));
    view.x = x - (x - view.x) * scale / view.scale;
    view.y = y - (y - view.y) * scale / view.scale;
    view.scale = scale;
    apply();
  }
  function fit() {
    const box = stage.getBoundingClientRect(), { width, height } = state.layout;
    view.width = box.width;
    view.height = box.height;
    view.scale = Math.min(1.25, (box.width - 24) / width, (box.height - 24) / height);
    view.x = (box.width - view.scale * width) / 2;
    view.y = Math.max(12, (box.height - view.scale * height) / 2);
    apply();
  }
  // Moves the picture just far enough that the node is seen.
  function into(node) {
    const box = stage.getBoundingClientRect(), left = view.x + view.scale * node.x, top = view.y + view.scale * node.y;
    const width = view.scale * state.layout.shape.width, height = view.scale * node.height;
    view.x += Math.max(0, 12 - left) - Math.max(0, left + width - box.width + 12);
    view.y += Math.max(0, 12 - top) - Math.max(0, top + height - box.height + 12);
    apply();
  }
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = stage.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".node")) return;
    drag = { x: event.clientX - view.x, y: event.clientY - view.y };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    view.x = event.clientX - drag.x;
    view.y = event.clientY - drag.y;
    apply();
  });
  canvas.addEventListener("pointerup", () => { drag = null; });
  const middle = (factor) => { const box = stage.getBoundingClientRect(); zoom(factor, box.width / 2, box.height / 2); };
  stage.append(element("div", { class: "zoom" },
    element("button", { type: "button", "aria-label": "Zoom in", onclick: () => middle(1.3) }, "+"),
    element("button", { type: "button", "aria-label": "Zoom out", onclick: () => middle(1 / 1.3) }, "−"),
    element("button", { type: "button", onclick: fit }, "Fit")));

  const onShortcut = (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.target.closest("input, textarea")) return;
    if (event.key === "z") { event.preventDefault(); event.shiftKey ? redo() : undo(); }
    if (event.key === "y") { event.preventDefault(); redo(); }
  };
  document.addEventListener("keydown", onShortcut);
  const onResize = () => state.layout && fit();
  window.addEventListener("resize", onResize);

  let open = true;
  const part = element("p", { class: "part", hidden: true });
  stage.append(part);
  load().catch((error) => stage.replaceChildren(element("p", { class: "trouble" }, error.message)));
  return {
    close() { open = false; clearTimeout(saying); document.removeEventListener("keydown", onShortcut); window.removeEventListener("resize", onResize); },
    find({ id }) {
      const go = () => { select(id); view.scale = Math.max(view.scale, 0.8); into(state.nodes.get(id)); };
      if (state.nodes.has(id)) go(); else load(id).then(go);
    },
  };
}
