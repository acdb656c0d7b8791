// The marginals: a bar chart, and below it a table to search, sort and page through.
"use strict";

const rowsPerPage = 15, chartRows = 200, groupedStates = 6;

// The columns of the data as functions of variable v and state k, with a summary of each variable.
function readMarginals(m) {
  const count = m.names.length, start = new Uint32Array(count + 1);
  const top = new Uint32Array(count), best = new Float64Array(count).fill(-1), worst = new Float64Array(count).fill(NaN);
  let most = 0;
  for (let v = 0; v < count; ++v) {
    const states = m.state_sets[m.state_set[v]].length;
    start[v + 1] = start[v] + states;
    most = Math.max(most, states);
    for (let i = start[v]; i < start[v + 1]; ++i) {
      if (m.probabilities[i] > best[v]) { best[v] = m.probabilities[i]; top[v] = i - start[v]; }
      if (m.mcse && m.mcse[i] !== null && !(m.mcse[i] <= worst[v])) worst[v] = m.mcse[i];
    }
  }
  const at = (list, v, k) => (list && start[v] + k < start[v + 1] ? list[start[v] + k] : null);
  return {
    count: count, top: top, best: best, worst: worst, binary: most <= 2, grouped: most > 2 && most <= groupedStates, most: most,
    name: (v) => m.names[v], rhat: (v) => m.rhat[v], ess: (v) => m.ess[v], sampled: Boolean(m.mcse),
    states: (v) => start[v + 1] - start[v], stateName: (v, k) => m.state_sets[m.state_set[v]][k],
    probability: (v, k) => at(m.probabilities, v, k), error: (v, k) => at(m.mcse, v, k),
  };
}

// ---- the chart ----------------------------------------------------------------------------------------

// Binary variables get one bar each, of the state the reader picks; variables of a few states one bar per
// state; variables of many states the bar of their most probable state.
function barsOf(view, shown) {
  if (view.grouped) return Array.from({ length: view.most }, (_, k) => () => k);
  return [view.binary ? (v) => Math.min(shown, view.states(v) - 1) : (v) => view.top[v]];
}

const barShape = { barMaxWidth: 34, barGap: "5%", barCategoryGap: "20%" };

// Error bars from points [category, probability, standard error], drawn over bar `index` of `count`.
function whiskers(points, colour, index, count) {
  return {
    type: "custom", data: points, silent: true, z: 5, encode: { x: 0, y: 1 },
    renderItem: (_, api) => {
      const p = api.value(1), e = api.value(2);
      if (!(e > 0)) return null;
      const bar = api.barLayout({ count: count, ...barShape })[index];
      const x = api.coord([api.value(0), p])[0] + bar.offsetCenter, half = Math.min(5, bar.width / 3);
      const low = api.coord([0, Math.max(0, p - 2 * e)])[1], high = api.coord([0, Math.min(1, p + 2 * e)])[1];
      const stroke = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1.3 } });
      return { type: "group", children: [stroke(x, low, x, high), stroke(x - half, low, x + half, low), stroke(x - half, high, x + half, high)] };
    },
  };
}

function describeVariable(view, v) {
  const box = element("div", {}, element("b", {}, view.name(v)));
  const states = view.states(v), shown = Math.min(states, 10);
  for (let k = 0; k < shown; ++k) {
    const e = view.error(v, k);
    box.append(element("div", {}, view.stateName(v, k) + ": " + rounded(view.probability(v, k), 4) + (e ? " \u00b1 " + figures(2 * e, 2) : "")));
  }
  if (states > shown) box.append(element("div", {}, "and " + (states - shown) + " more states"));
  return box;
}

function marginalsOption(view, rows, shown, c, width) {
  const bars = barsOf(view, shown), fit = Math.max(20, Math.floor(width / 11)), zoom = rows.length > fit;
  const series = [];
  bars.forEach((state, b) => {
    series.push({ type: "bar", data: rows.map((v) => view.probability(v, state(v))), itemStyle: { color: view.grouped ? hues[b] : c.accent }, ...barShape });
    if (view.sampled) series.push(whiskers(rows.map((v, i) => [i, view.probability(v, state(v)), view.error(v, state(v))]), c.whisker, b, bars.length));
  });
  return {
    grid: { ...frame, left: rows.length > 12 ? 24 : 8, bottom: zoom ? 48 : 8 },
    tooltip: {
      trigger: "axis", confine: true, formatter: (points) => describeVariable(view, rows[points[0].dataIndex]),
      axisPointer: { type: "shadow", shadowStyle: { color: "rgba(128,128,128,0.14)" } },
    },
    xAxis: { type: "category", data: rows.map(view.name), axisLabel: { hideOverlap: true, width: 110, overflow: "truncate", rotate: rows.length > 12 ? 35 : 0 } },
    yAxis: { type: "value", min: 0, max: 1 },
    dataZoom: zoom ? [{
      type: "slider", startValue: 0, endValue: fit - 1, height: 18, bottom: 8, borderColor: c.line, fillerColor: "rgba(110,150,200,0.22)",
      handleStyle: { color: c.surface, borderColor: c.muted }, moveHandleSize: 0, showDataShadow: false, brushSelect: false, showDetail: false,
    }] : [],
    series: series,
  };
}

// ---- the table ----------------------------------------------------------------------------------------

function stateColour(view, shown, v, k) {
  if (!view.binary) return hues[k % hues.length];
  return k === Math.min(shown, view.states(v) - 1) ? "var(--accent)" : "var(--accent-faint)";
}

function distributionCell(view, shown, v) {
  const bar = element("div", { class: "bar", "aria-hidden": "true" }), words = [];
  for (let k = 0; k < view.states(v); ++k) {
    const p = view.probability(v, k);
    if (k < 4) words.push(view.stateName(v, k) + ":\u00a0" + rounded(p, 3));
    if (!(p > 0.002)) continue;
    const part = element("i");
    part.style.width = 100 * p + "%";
    part.style.background = stateColour(view, shown, v, k);
    bar.append(part);
  }
  if (view.states(v) > 4) words.push("\u2026");
  return element("div", {}, bar, element("div", { class: "mix" }, words.join("  \u00b7  ")));
}

// A column without `key` cannot be sorted; `wide` ones are left out on a phone.
function marginalsColumns(view, shown) {
  const any = (value) => { for (let v = 0; v < view.count; ++v) if (value(v) !== null) return true; return false; };
  const dash = (value, format) => (value === null || Number.isNaN(value) ? "\u2013" : value === Infinity ? "\u221e" : format(value));
  const columns = [
    { title: "#", wide: true, number: true, key: (v) => v, cell: (v) => String(v), rising: true },
    { title: "Variable", key: view.name, cell: view.name, style: "name" },
    { title: "Distribution", wide: true, cell: (v) => distributionCell(view, shown(), v), style: "states" },
    { title: "Most probable", key: (v) => view.stateName(v, view.top[v]), cell: (v) => view.stateName(v, view.top[v]), style: "name" },
    { title: "Probability", number: true, key: (v) => view.best[v], cell: (v) => rounded(view.best[v], 4) },
  ];
  if (view.sampled) columns.push({ title: "Std. error", number: true, key: (v) => view.worst[v], cell: (v) => dash(view.worst[v], (e) => (e < 1e-4 ? figures(e, 2) : e.toPrecision(2))) });
  if (any(view.rhat)) columns.push({ title: "R-hat", number: true, key: view.rhat, cell: (v) => dash(view.rhat(v), (r) => (r < 1000 ? r.toFixed(3) : "above 1000")), poor: (v) => view.rhat(v) > 1.01 });
  if (any(view.ess)) columns.push({ title: "ESS", number: true, key: view.ess, cell: (v) => dash(view.ess(v), whole), rising: true });
  return columns;
}

// The variables whose name contains `word`, in the order of the column; missing values come last either way.
function arrangeVariables(view, word, column, down) {
  const sign = down ? -1 : 1, collator = new Intl.Collator("en", { numeric: true }), kept = [];
  for (let v = 0; v < view.count; ++v) if (!word || view.name(v).toLowerCase().includes(word)) kept.push([column.key(v), v]);
  const missing = (x) => x === null || Number.isNaN(x);
  const compare = column.number ? (a, b) => missing(a) - missing(b) || (missing(a) || a === b ? 0 : a > b ? sign : -sign)
    : (a, b) => sign * collator.compare(a, b);
  kept.sort((a, b) => compare(a[0], b[0]) || a[1] - b[1]);
  return kept.map((pair) => pair[1]);
}

// Adds the table to `node` and calls changed(order) whenever another order or search is chosen.
function addMarginalsTable(node, view, columns, search, changed) {
  let sorted = { column: columns[0], down: false }, order = [], first = 0;
  const heads = columns.map((column) => {
    const head = element("th", { scope: "col", class: (column.number ? "number " : "") + (column.wide ? "wide" : "") });
    if (!column.key) { head.append(column.title); return head; }
    const button = element("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      sorted = { column: column, down: sorted.column === column ? !sorted.down : Boolean(column.number && !column.rising) };
      arrange();
    });
    head.append(button);
    return head;
  });
  const body = element("tbody"), position = element("span");
  const previous = element("button", { type: "button" }, "Previous"), next = element("button", { type: "button" }, "Next");
  previous.addEventListener("click", () => { first -= rowsPerPage; showRows(); });
  next.addEventListener("click", () => { first += rowsPerPage; showRows(); });
  const pager = element("div", { class: "pager" }, previous, position, next);
  node.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Marginals as a table" },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)), pager);

  function showRows() {
    body.replaceChildren(...order.slice(first, first + rowsPerPage).map((v) => element("tr", {}, ...columns.map((column) => {
      const style = [column.number && "number", column.wide && "wide", column.style, column.poor && column.poor(v) && "poor"];
      return element("td", { class: style.filter(Boolean).join(" ") }, column.cell(v));
    }))));
    previous.disabled = first === 0;
    next.disabled = first + rowsPerPage >= order.length;
    pager.hidden = order.length <= rowsPerPage;
    position.textContent = whole(first + 1) + " to " + whole(Math.min(first + rowsPerPage, order.length)) + " of " + whole(order.length);
  }

  function arrange() {
    order = arrangeVariables(view, search.value.trim().toLowerCase(), sorted.column, sorted.down);
    first = 0;
    heads.forEach((head, i) => {
      if (columns[i] === sorted.column) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    showRows();
    changed(order);
  }
  search.addEventListener("input", arrange);
  arrange();
  return { arrange: arrange, showRows: showRows };
}

// ---- the section --------------------------------------------------------------------------------------

// Returns a function that shows the variable of a given name, or undefined when there are no marginals.
function addMarginals() {
  const m = data.marginals, view = readMarginals(m);
  if (!view.count) return undefined;
  heading("Marginals");
  const node = card("", "The probability of each state of each variable." + (view.binary || view.grouped ? "" : " Bars show the most probable state.")
    + (view.sampled ? " Whiskers show two Monte Carlo standard errors to each side." : ""));
  if (m.total > view.count) {
    node.append(element("p", {}, "This page shows the first " + whole(view.count) + " of " + whole(m.total)
      + " variables. The result file (JSON or MAR) has all of them."));
  }
  const search = element("input", { type: "search", placeholder: "part of a name" });
  const counter = element("span", { class: "count", role: "status" });
  const tools = element("div", { class: "tools" }, element("label", {}, "Find a variable", search));
  const shared = m.state_sets.length === 1 ? m.state_sets[0] : ["first", "second"];
  let shown = m.state_sets.length === 1 && Number.isNaN(Number(shared[0])) ? 0 : 1;  // "yes", but not "0"
  if (view.binary && view.most === 2) {
    const select = element("select", {}, ...shared.map((name, k) => element("option", { value: k }, name)));
    select.value = shown;
    select.addEventListener("change", () => { shown = Number(select.value); table.showRows(); draw(entry); });
    tools.append(element("label", {}, "Bars show state", select));
  }
  tools.append(counter);
  node.append(tools);
  page.append(node);

  let rows = [];
  const entry = addChart(node, "marginals", "Bar chart of the marginal probabilities of the variables in the table below", "",
    (c) => marginalsOption(view, rows, shown, c, entry.node.clientWidth));
  const note = element("p", { class: "caption" });
  node.append(note);
  const table = addMarginalsTable(node, view, marginalsColumns(view, () => shown), search, (order) => {
    rows = order.slice(0, chartRows);
    note.textContent = order.length > chartRows ? "The chart shows the first " + chartRows + " variables of the table below; search or sort to see others." : "";
    counter.textContent = (order.length < view.count ? whole(order.length) + " of " : "") + whole(view.count) + (view.count === 1 ? " variable" : " variables");
    if (entry.chart) draw(entry);
  });
  return (name) => {
    search.value = name;
    table.arrange();
    node.scrollIntoView({ block: "start" });
  };
}
