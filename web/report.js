// Draws the page from the JSON in #data. Text of the model enters the page only as text nodes or canvas
// text, never as markup. Sections without data are left out.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const page = document.getElementById("page");
  const charts = [];

  // ---- small helpers ----------------------------------------------------------------------------------

  function element(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const whole = (value) => Math.round(value).toLocaleString("en");

  function figures(value, digits) {
    if (value === null || value === undefined) return "\u2013";
    if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "-\u221e";
    if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential(digits - 1);
    return Number(value.toPrecision(digits)).toString();
  }

  const probability = (value) => (value === null ? "\u2013" : value.toFixed(4));

  function bytes(count) {
    return count < 1e6 ? Math.ceil(count / 1e3) + " kB" : (count / 1e6).toFixed(1) + " MB";
  }

  function heading(text) {
    page.append(element("h2", {}, text));
  }

  function card(title, caption) {
    const node = element("div", { class: "card" });
    if (title) node.append(element("h3", {}, title));
    if (caption) node.append(element("p", { class: "caption" }, caption));
    return node;
  }

  function plainTable(header, rows, numbersFrom) {
    const side = (column) => (column >= numbersFrom ? { class: "number" } : {});
    return element("div", { class: "scroll", tabindex: "0" }, element("table", {},
      element("thead", {}, element("tr", {}, ...header.map((text, c) => element("th", { scope: "col", ...side(c) }, text)))),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, c) => element("td", side(c), cell)))))));
  }

  // The same data as a table, for those who cannot see the chart; built when it is opened.
  function tableBelow(node, header, makeRows) {
    const details = element("details", {}, element("summary", {}, "Show as a table"));
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector("table")) details.append(plainTable(header, makeRows(), 1));
    });
    node.append(details);
  }

  // ---- charts -----------------------------------------------------------------------------------------

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue("--" + name).trim();
    const names = ["surface", "ink", "muted", "line", "soft", "accent", "accent-faint", "second", "whisker", "bad"];
    return Object.fromEntries(names.map((name) => [name, of(name)]));
  }

  // One hue per curve or state; distinct for readers with any colour vision.
  const hues = ["#4477aa", "#ee8866", "#44aa88", "#aa6699", "#ccaa44", "#66aadd", "#997755", "#888888"];

  function theme(c) {
    const font = getComputedStyle(document.body).fontFamily;
    const axis = {
      axisLine: { lineStyle: { color: c.line } }, axisTick: { lineStyle: { color: c.line } },
      axisLabel: { color: c.muted }, splitLine: { lineStyle: { color: c.line } }, nameTextStyle: { color: c.muted },
    };
    return {
      color: hues, backgroundColor: "transparent", textStyle: { fontFamily: font, color: c.ink },
      title: { textStyle: { color: c.ink } }, legend: { textStyle: { color: c.muted } },
      tooltip: { backgroundColor: c.surface, borderColor: c.line, textStyle: { color: c.ink, fontFamily: font, fontSize: 13 } },
      categoryAxis: { ...axis, splitLine: { show: false } }, valueAxis: axis, logAxis: axis, timeAxis: axis,
      visualMap: { textStyle: { color: c.muted } },
    };
  }

  const frame = { left: 8, right: 16, top: 26, bottom: 24, containLabel: true };

  // Adds a chart to `parent`; `option` maps the current colours to an ECharts option.
  function addChart(parent, name, label, size, option) {
    const node = element("div", { class: "chart " + size, role: "img", "aria-label": label, "data-chart": name });
    parent.append(node);
    const entry = { node: node, option: option, chart: null };
    charts.push(entry);
    return entry;
  }

  function draw(entry) {
    const c = colours();
    if (entry.chart) entry.chart.dispose();
    entry.chart = echarts.init(entry.node, theme(c));
    entry.chart.setOption({ animation: false, ...entry.option(c) });
    if (entry.click) entry.chart.on("click", entry.click);
  }

  function drawAll() {
    charts.forEach(draw);
  }

  // ---- what was run -----------------------------------------------------------------------------------

  function addOverview() {
    const words = { good: "These figures look reliable", caution: "Use these figures with care", bad: "Do not rely on these figures" };
    page.append(element("h1", {}, data.title));
    page.append(element("div", { class: "verdict " + data.verdict, role: "note" },
      element("strong", {}, words[data.verdict]), element("p", {}, data.verdict_text)));
    if (data.warnings.length) {
      const list = data.warnings.map((text) => element("li", {}, text));
      page.append(element("ul", { class: "warnings", "aria-label": "Warnings" }, ...list));
    }
    if (data.facts.length) {
      heading("What was run");
      const facts = data.facts.map(([name, value]) => element("div", { class: value.length > 60 ? "long" : "short" },
        element("dt", {}, name), element("dd", {}, value)));
      page.append(element("div", { class: "card" }, element("dl", { class: "facts" }, ...facts)));
    }
    if (data.evidence.length) {
      heading("Evidence");
      const node = card("", whole(data.evidence.length) + (data.evidence.length === 1 ? " variable was" : " variables were")
        + " observed and held fixed" + (data.evidence.length > 500 ? "; the first 500:" : "."));
      node.append(plainTable(["Variable", "Observed state"], data.evidence.slice(0, 500), 2));
      node.lastChild.style.cssText = "max-height: 260px; overflow-y: auto";
      page.append(node);
    }
  }

  // ---- marginals --------------------------------------------------------------------------------------

  const rowsPerPage = 25, chartRows = 200;

  function addMarginals() {
    const m = data.marginals, count = m.names.length;
    if (!count) return;
    const start = new Uint32Array(count + 1), top = new Uint32Array(count);
    const best = new Float64Array(count), error = new Float64Array(count);
    let binary = true, mostStates = 0;
    for (let v = 0; v < count; ++v) {
      const states = m.state_sets[m.state_set[v]].length;
      start[v + 1] = start[v] + states;
      binary = binary && states <= 2;
      mostStates = Math.max(mostStates, states);
      best[v] = -1;
      error[v] = NaN;
      for (let k = 0; k < states; ++k) {
        const p = m.probabilities[start[v] + k];
        if (p !== null && p > best[v]) { best[v] = p; top[v] = k; }
        const e = m.mcse ? m.mcse[start[v] + k] : null;
        if (e !== null && !(e <= error[v])) error[v] = e;
      }
    }
    const stateName = (v, k) => m.state_sets[m.state_set[v]][k];
    const valueAt = (v, k) => (start[v] + k < start[v + 1] ? m.probabilities[start[v] + k] : null);
    const errorAt = (v, k) => (m.mcse && start[v] + k < start[v + 1] ? m.mcse[start[v] + k] : null);

    heading("Marginals");
    const node = card("", "The probability of each state of each variable."
      + (m.mcse ? " Whiskers show two Monte Carlo standard errors to each side." : ""));
    if (m.total > count) {
      node.append(element("p", {}, "This page shows the first " + whole(count) + " of " + whole(m.total)
        + " variables. The result file (JSON or MAR) has all of them."));
    }

    // Binary variables get one bar each, of the state the reader picks; others one bar per state.
    const grouped = !binary && mostStates <= 6;
    const named = m.state_sets.length === 1 && isNaN(Number(m.state_sets[0][0]));
    let shownState = named ? 0 : 1;
    const search = element("input", { type: "search", placeholder: "part of a name" });
    const counter = element("span", { class: "count", role: "status" });
    const tools = element("div", { class: "tools" }, element("label", {}, "Find a variable", search));
    if (binary && mostStates === 2) {
      const title = (k) => (m.state_sets.length === 1 ? m.state_sets[0][k] : k === 0 ? "first" : "second");
      const select = element("select", {}, ...[0, 1].map((k) => element("option", { value: k }, title(k))));
      select.value = shownState;
      select.addEventListener("change", () => { shownState = Number(select.value); draw(entry); });
      tools.append(element("label", {}, "Bars show state", select));
    }
    tools.append(counter);
    node.append(tools);

    let order = Uint32Array.from({ length: count }, (_, v) => v), first = 0;
    const label = "Bar chart of the marginal probabilities of the variables listed in the table below";
    const note = element("p", { class: "caption" });
    const entry = addChart(node, "marginals", label, "", (c) => {
      const rows = Array.from(order.subarray(0, chartRows));
      note.textContent = order.length > chartRows ? "The chart shows the first " + chartRows
        + " variables of the table below; search or sort to see others." : "";
      return marginalsOption(c, rows);
    });
    node.append(note);

    function marginalsOption(c, rows) {
      const states = grouped ? Array.from({ length: mostStates }, (_, k) => () => k)
        : binary ? [(v) => Math.min(shownState, start[v + 1] - start[v] - 1)] : [(v) => top[v]];
      const series = [];
      states.forEach((state, s) => {
        const colour = grouped ? hues[s] : c.accent;
        series.push({ type: "bar", data: rows.map((v) => valueAt(v, state(v))), itemStyle: { color: colour }, barMaxWidth: 34, barGap: "5%" });
        const share = (s - (states.length - 1) / 2) / states.length;
        if (m.mcse) series.push(whiskers(rows.map((v, i) => [i, valueAt(v, state(v)), errorAt(v, state(v))]), c.whisker, share, states.length));
      });
      const zoom = rows.length > 60;
      return {
        grid: { ...frame, bottom: zoom ? 48 : 8 },
        tooltip: { trigger: "axis", confine: true, axisPointer: { type: "shadow", shadowStyle: { color: "rgba(128,128,128,0.14)" } }, formatter: (points) => describe(rows[points[0].dataIndex]) },
        xAxis: { type: "category", data: rows.map((v) => m.names[v]), axisLabel: { hideOverlap: true, width: 110, overflow: "truncate", rotate: rows.length > 12 ? 35 : 0 } },
        yAxis: { type: "value", min: 0, max: 1 },
        dataZoom: zoom ? [{ type: "slider", height: 18, bottom: 8, borderColor: c.line, fillerColor: "rgba(110,150,200,0.18)", showDataShadow: false, textStyle: { color: c.muted } }] : [],
        series: series,
      };
    }

    function whiskers(points, colour, share, groups) {
      return {
        type: "custom", data: points, silent: true, z: 5, encode: { x: 0, y: 1 },
        renderItem: (_, api) => {
          const p = api.value(1), e = api.value(2);
          if (!(e > 0)) return null;
          const band = api.size([1, 0])[0], x = api.coord([api.value(0), p])[0] + share * Math.min(band * 0.8, 34 * groups);
          const low = api.coord([0, Math.max(0, p - 2 * e)])[1], high = api.coord([0, Math.min(1, p + 2 * e)])[1];
          const half = Math.min(5, band * 0.2 / groups);
          const stroke = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour, lineWidth: 1.3 } });
          return { type: "group", children: [stroke(x, low, x, high), stroke(x - half, low, x + half, low), stroke(x - half, high, x + half, high)] };
        },
      };
    }

    function describe(v) {
      const box = element("div", {}, element("b", {}, m.names[v]));
      const states = start[v + 1] - start[v];
      for (let k = 0; k < Math.min(states, 10); ++k) {
        const e = errorAt(v, k);
        box.append(element("div", {}, stateName(v, k) + "  " + probability(valueAt(v, k)) + (e ? " \u00b1 " + figures(2 * e, 2) : "")));
      }
      if (states > 10) box.append(element("div", {}, "and " + (states - 10) + " more states"));
      return box;
    }

    // The table: all variables, sorted and searched in memory, 25 rows in the page at a time.
    const has = (list) => list.some((value) => value !== null);
    const columns = [
      { title: "#", wide: true, number: true, key: (v) => v, cell: (v) => String(v) },
      { title: "Variable", key: (v) => m.names[v], cell: (v) => m.names[v], style: "name" },
      { title: "Distribution", wide: true, cell: distribution, style: "states" },
      { title: "Most probable", key: (v) => stateName(v, top[v]), cell: (v) => stateName(v, top[v]) },
      { title: "Probability", number: true, key: (v) => best[v], cell: (v) => probability(best[v]) },
    ];
    if (m.mcse) columns.push({ title: "Std. error", number: true, key: (v) => error[v], cell: (v) => figures(isNaN(error[v]) ? null : error[v], 2) });
    if (has(m.rhat)) columns.push({ title: "R-hat", number: true, key: (v) => m.rhat[v], cell: (v) => (m.rhat[v] === null ? "\u2013" : Number.isFinite(m.rhat[v]) ? m.rhat[v].toFixed(3) : "\u221e"), poor: (v) => m.rhat[v] > 1.01 });
    if (has(m.ess)) columns.push({ title: "ESS", number: true, key: (v) => m.ess[v], cell: (v) => (m.ess[v] === null ? "\u2013" : whole(m.ess[v])) });

    function distribution(v) {
      const bar = element("div", { class: "bar", "aria-hidden": "true" });
      const states = start[v + 1] - start[v], c = colours();
      for (let k = 0; k < states; ++k) {
        const p = valueAt(v, k);
        if (p > 0.002) {
          const part = element("i");
          part.style.width = 100 * p + "%";
          part.style.background = grouped ? hues[k] : binary ? (k === Math.min(shownState, states - 1) ? "var(--accent)" : "var(--accent-faint)") : hues[k % hues.length];
          bar.append(part);
        }
      }
      const text = [];
      for (let k = 0; k < Math.min(states, 4); ++k) text.push(stateName(v, k) + "\u00a0" + figures(valueAt(v, k), 3));
      const mix = element("div", { class: "mix" }, text.join("  \u00b7  ") + (states > 4 ? "  \u00b7  \u2026" : ""));
      const box = element("div", {}, bar, mix);
      return box;
    }

    let sorted = { column: columns[0], down: false };
    const heads = columns.map((column) => {
      const style = (column.number ? "number " : "") + (column.wide ? "wide" : "");
      const head = element("th", { scope: "col", class: style });
      if (!column.key) { head.append(column.title); return head; }
      const button = element("button", { type: "button" }, column.title);
      button.addEventListener("click", () => {
        sorted = { column: column, down: sorted.column === column ? !sorted.down : column.number && column !== columns[0] };
        arrange();
      });
      head.append(button);
      return head;
    });
    const body = element("tbody");
    const previous = element("button", { type: "button" }, "Previous"), next = element("button", { type: "button" }, "Next");
    const position = element("span");
    previous.addEventListener("click", () => { first = Math.max(0, first - rowsPerPage); showRows(); });
    next.addEventListener("click", () => { first += rowsPerPage; showRows(); });
    const pager = element("div", { class: "pager" }, previous, position, next);
    node.append(element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Marginals as a table" },
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)), pager);
    page.append(node);

    function showRows() {
      const rows = Array.from(order.subarray(first, first + rowsPerPage));
      body.replaceChildren(...rows.map((v) => element("tr", {}, ...columns.map((column) => {
        const style = [column.number ? "number" : "", column.wide ? "wide" : "", column.style || "", column.poor && column.poor(v) ? "poor" : ""];
        return element("td", { class: style.join(" ").trim() }, column.cell(v));
      }))));
      previous.disabled = first === 0;
      next.disabled = first + rowsPerPage >= order.length;
      pager.hidden = order.length <= rowsPerPage;
      position.textContent = whole(first + 1) + " to " + whole(Math.min(first + rowsPerPage, order.length)) + " of " + whole(order.length);
    }

    const collator = new Intl.Collator("en", { numeric: true });
    function arrange() {
      const word = search.value.trim().toLowerCase(), { column, down } = sorted;
      let kept = [];
      for (let v = 0; v < count; ++v) if (!word || m.names[v].toLowerCase().includes(word)) kept.push(v);
      const sign = down ? -1 : 1;
      if (column === columns[0]) {
        if (down) kept.reverse();
      } else if (column.number) {
        // Missing values come last whichever way the column is sorted.
        const missing = (x) => x === null || Number.isNaN(x);
        const keys = kept.map((v) => [column.key(v), v]);
        keys.sort((a, b) => missing(a[0]) - missing(b[0]) || (missing(a[0]) ? 0 : sign * (a[0] > b[0] ? 1 : a[0] < b[0] ? -1 : 0)) || a[1] - b[1]);
        kept = keys.map((pair) => pair[1]);
      } else {
        kept.sort((a, b) => sign * collator.compare(column.key(a), column.key(b)) || a - b);
      }
      order = Uint32Array.from(kept);
      first = 0;
      counter.textContent = word ? whole(order.length) + " of " + whole(count) + " variables" : whole(count) + (count === 1 ? " variable" : " variables");
      heads.forEach((head, i) => {
        if (columns[i] === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      showRows();
      if (entry.chart) draw(entry);
    }
    search.addEventListener("input", arrange);
    arrange();
    return (name) => { search.value = name; arrange(); node.scrollIntoView({ block: "start" }); };
  }

  // ---- images -----------------------------------------------------------------------------------------

  // Dark blue through green to yellow: ordered in lightness, so it survives grey print and colour blindness.
  const stops = [[52, 24, 84], [54, 92, 141], [33, 145, 140], [122, 201, 88], [250, 230, 60]];
  function shade(value) {
    const place = value * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2), part = place - low;
    return stops[low].map((channel, i) => Math.round(channel + part * (stops[low + 1][i] - channel)));
  }

  function addImages() {
    if (!data.images.length) return;
    heading(data.images.length === 1 ? "The marginals as an image" : "The marginals as images");
    const cards = element("div", { class: "cards" });
    for (const image of data.images) {
      const levels = Uint8Array.from(atob(image.bytes), (letter) => letter.charCodeAt(0));
      const width = Math.ceil(image.width / image.step), height = Math.ceil(image.height / image.step);
      const node = card(image.title, image.step > 1 ? "Every " + image.step + "th row and column of " + whole(image.height) + " x " + whole(image.width) + "." : whole(image.height) + " rows, " + whole(image.width) + " columns.");
      const canvas = element("canvas", { class: "image", width: width, height: height, role: "img" });
      const context = canvas.getContext("2d"), picture = context.createImageData(width, height);
      const pixel = new Uint32Array(picture.data.buffer), table = new Uint32Array(256);
      for (let level = 0; level < 255; ++level) {
        const [red, green, blue] = shade(level / 254);
        table[level] = (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
      }
      table[255] = 0xff999999;
      let sum = 0, known = 0;
      for (let i = 0; i < levels.length; ++i) {
        pixel[i] = table[levels[i]];
        if (levels[i] < 255) { sum += levels[i]; ++known; }
      }
      context.putImageData(picture, 0, 0);
      const mean = known ? (sum / known / 254).toFixed(2) : "unknown";
      canvas.setAttribute("aria-label", image.title + ": image of probabilities, mean " + mean);
      const readout = element("output", {}, "Mean " + mean + (known < levels.length ? "; grey means unknown" : ""));
      canvas.addEventListener("pointermove", (event) => {
        const box = canvas.getBoundingClientRect();
        const column = Math.floor((event.clientX - box.left) / box.width * width), row = Math.floor((event.clientY - box.top) / box.height * height);
        const level = levels[row * width + column];
        if (column < 0 || column >= width || level === undefined) return;
        readout.textContent = "Row " + row * image.step + ", column " + column * image.step + ": " + (level === 255 ? "unknown" : (level / 254).toFixed(2));
      });
      const scale = element("i");
      scale.style.background = "linear-gradient(to right," + stops.map((stop) => "rgb(" + stop.join(",") + ")").join(",") + ")";
      const frameNode = element("div", { "data-chart": "image" }, canvas);
      node.append(frameNode, element("div", { class: "scale", "aria-hidden": "true" }, "0", scale, "1"), readout);
      cards.append(node);
    }
    page.append(cards);
  }

  // ---- how far to trust the run -----------------------------------------------------------------------

  const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1);

  function addTrace(parent, trace) {
    const rhat = trace.name.startsWith("R-hat"), curves = trace.series.length, many = curves > 6;
    const values = trace.series.flat().filter((value) => Number.isFinite(value));
    let highest = -Infinity;
    for (const value of values) highest = Math.max(highest, value);
    const middle = values.slice().sort((a, b) => a - b)[Math.floor(values.length / 2)] || 1;
    const roof = Math.max(1.05, 1 + 8 * (middle - 1)), cut = rhat && highest > roof;
    let caption = rhat ? "Near 1 the chains agree; below the dashed line at 1.01 is good." + (cut ? " Early values beyond the frame are cut off." : "")
      : curves > 1 ? "One line per chain. Mixed chains overlap and look like noise; a slope or separate bands mean they have not mixed."
        : "A level, noisy line is what a settled run looks like.";
    if (trace.every > 1) caption += " Every " + trace.every + "th point is drawn.";
    if (trace.curves > curves) caption += " The first " + curves + " of " + whole(trace.curves) + " curves are drawn.";
    const node = card(titled(trace.name) + " over the run", caption);
    const label = (i) => trace.labels[i] || "chain " + i;
    addChart(node, trace.name, "Line chart of " + trace.name + " against sweeps, " + curves + (curves === 1 ? " curve" : " curves"), "low", (c) => ({
      grid: { ...frame, top: !many && curves > 1 ? 34 : 14 },
      legend: !many && curves > 1 ? { top: 0, left: 0, type: "scroll", icon: "roundRect", itemHeight: 3 } : undefined,
      tooltip: { trigger: many ? "item" : "axis", confine: true, valueFormatter: (value) => figures(value, 6) },
      xAxis: { type: "value", name: "sweep", nameLocation: "middle", nameGap: 26, min: "dataMin", max: "dataMax", splitLine: { show: false }, axisLabel: { hideOverlap: true } },
      yAxis: { type: "value", scale: true, ...(rhat ? { min: 1, max: cut ? Number(roof.toPrecision(3)) : undefined } : {}) },
      series: trace.series.map((values, i) => ({
        type: "line", name: label(i), showSymbol: values.length < 3, symbolSize: 5, data: values.map((value, t) => [trace.sweep[t], value]), clip: true,
        lineStyle: many ? { width: 0.8, opacity: 0.4, color: c.accent } : { width: 1.5, color: curves === 1 ? c.accent : undefined },
        itemStyle: many || curves === 1 ? { color: c.accent } : {},
        emphasis: many ? { lineStyle: { width: 2, opacity: 1, color: c.second } } : { disabled: true },
        triggerLineEvent: many,
        markLine: rhat && i === 0 ? { silent: true, symbol: "none", label: { formatter: "1.01", color: c.muted, position: "insideEndTop" }, lineStyle: { color: c.second, type: "dashed" }, data: [{ yAxis: 1.01 }] } : undefined,
      })),
    }));
    tableBelow(node, ["Sweep", ...trace.series.slice(0, 8).map((_, i) => label(i))], () => {
      const step = Math.ceil(trace.sweep.length / 50);
      return trace.sweep.map((sweep, t) => [whole(sweep), ...trace.series.slice(0, 8).map((values) => figures(values[t], 6))]).filter((_, t) => t % step === 0);
    });
    parent.append(node);
  }

  function addAutocorrelation(parent) {
    const rho = data.autocorrelation;
    if (rho.length < 2) return;
    const gone = rho.findIndex((value) => value < 0.05);
    const node = card("Autocorrelation of the energy", gone < 0 ? "It has not died away within " + (rho.length - 1) + " sweeps: successive draws tell little new."
      : "Below 0.05 after " + gone + (gone === 1 ? " sweep" : " sweeps") + "; draws further apart than that are nearly independent.");
    addChart(node, "autocorrelation", "Bar chart of the autocorrelation of the energy by lag in sweeps", "low", (c) => ({
      grid: { ...frame, top: 14 },
      tooltip: { trigger: "axis", confine: true, axisPointer: { type: "line" }, valueFormatter: (value) => figures(value, 3) },
      xAxis: { type: "category", data: rho.map((_, lag) => lag), name: "lag in sweeps", nameLocation: "middle", nameGap: 26, axisLabel: { hideOverlap: true } },
      yAxis: { type: "value", max: 1 },
      series: [{ type: "bar", name: "autocorrelation", data: rho, barMaxWidth: 8, itemStyle: { color: c.accent } }],
    }));
    tableBelow(node, ["Lag", "Autocorrelation"], () => rho.map((value, lag) => [String(lag), figures(value, 3)]));
    parent.append(node);
  }

  function addSlowest(parent, find) {
    const slowest = data.slowest.slice(0, 20);
    if (!slowest.length) return;
    const node = card("The slowest variables", "Effective sample size: how many independent draws the run is worth for this variable. Below 400, run longer."
      + (find ? " Choose a bar to see the variable in the table." : ""));
    const entry = addChart(node, "slowest", "Bar chart of the variables with the lowest effective sample size", "low", (c) => ({
      grid: { ...frame, top: 6, bottom: 4, right: 52 },
      tooltip: { trigger: "item", confine: true, formatter: (point) => element("div", {}, element("b", {}, slowest[point.dataIndex][0]), "  " + whole(slowest[point.dataIndex][1])) },
      xAxis: { type: "value", min: 0, axisLabel: { hideOverlap: true }, splitNumber: 4 },
      yAxis: { type: "category", inverse: true, data: slowest.map((pair) => pair[0]), axisLabel: { width: 120, overflow: "truncate", interval: 0, fontSize: 11 }, axisTick: { show: false } },
      series: [{ type: "bar", data: slowest.map((pair) => pair[1]), barMaxWidth: 14, itemStyle: { color: c.accent }, label: { show: true, position: "right", color: c.muted, fontSize: 11, formatter: (point) => whole(point.value) } }],
    }));
    entry.node.style.height = Math.max(90, 34 + 19 * slowest.length) + "px";
    if (find) entry.click = (point) => find(slowest[point.dataIndex][0]);
    tableBelow(node, ["Variable", "Effective sample size"], () => slowest.map(([name, ess]) => [name, figures(ess, 4)]));
    parent.append(node);
  }

  function addDiagnostics(find) {
    const cards = element("div", { class: "cards" });
    data.traces.filter((trace) => trace.series.length && trace.sweep.length).forEach((trace) => addTrace(cards, trace));
    addAutocorrelation(cards);
    addSlowest(cards, find);
    if (!cards.children.length) return;
    heading("How far to trust the run");
    page.append(cards);
  }

  // ---- further tables and figures, and the result itself ----------------------------------------------

  function addExtras() {
    if (data.tables.length || data.figures.length) heading("Further results");
    for (const table of data.tables) {
      const node = card(table.title, table.caption);
      node.append(plainTable(table.header, table.rows, 1));
      page.append(node);
    }
    const cards = element("div", { class: "cards" });
    for (const figure of data.figures) {
      const node = card(figure.title, figure.caption);
      addChart(node, figure.title, figure.title + ". " + figure.caption, "", () => figure.option);
      cards.append(node);
    }
    if (cards.children.length) page.append(cards);
  }

  function addFooter() {
    const footer = element("footer", {}, element("p", {}, "This page is one file; it loads nothing from the network."));
    if (data.result_bytes && data.result_embedded) {
      const button = element("button", { type: "button" }, "Download the full result (JSON, " + bytes(data.result_bytes) + ")");
      button.addEventListener("click", () => {
        const address = URL.createObjectURL(new Blob([document.getElementById("result").textContent], { type: "application/json" }));
        const name = data.title.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").toLowerCase() || "result";
        element("a", { href: address, download: name + ".json" }).click();
        setTimeout(() => URL.revokeObjectURL(address), 10000);
      });
      footer.prepend(element("p", { class: "download" }, button));
    } else if (data.result_bytes) {
      footer.prepend(element("p", {}, "The full result (" + bytes(data.result_bytes) + ") is too large for this page; it is in the result file."));
    }
    page.append(footer);
  }

  addOverview();
  const find = addMarginals();
  addImages();
  addDiagnostics(find);
  addExtras();
  addFooter();
  drawAll();

  let width = innerWidth;
  window.addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    charts.forEach((entry) => entry.chart.resize());
  });
  matchMedia("screen and (prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
