// The sections around the marginals. Each leaves itself out when it has no data.
"use strict";

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
      + " observed or set" + (data.evidence.length > 500 ? "; the first 500:" : "."));
    node.append(plainTable(["Variable", "Observed state"], data.evidence.slice(0, 500), () => false));
    node.lastChild.style.cssText = "max-height: 260px; overflow-y: auto";
    page.append(node);
  }
}

// The picture stands in the page as it was made; here it only finds its place.
function addNetwork() {
  const picture = document.getElementById("network");
  if (!picture.querySelector("svg")) return;
  heading("Network");
  const node = card("", "Every variable with the probabilities of its states, in per cent; observed variables are marked.");
  picture.hidden = false;
  picture.className = "scroll network";
  picture.tabIndex = 0;
  node.append(picture);
  page.append(node);
}

// Dark blue through green to yellow: ordered in lightness, so it survives grey print and colour blindness.
const stops = [[52, 24, 84], [54, 92, 141], [33, 145, 140], [122, 201, 88], [250, 230, 60]];
function shade(value) {
  const place = value * (stops.length - 1), low = Math.min(Math.floor(place), stops.length - 2), part = place - low;
  return stops[low].map((channel, i) => Math.round(channel + part * (stops[low + 1][i] - channel)));
}

function addImages() {
  if (!data.images.length) return;
  heading(data.images.length === 1 ? "Image" : "Images");
  const cards = element("div", { class: "cards" });
  for (const image of data.images) {
    const levels = Uint8Array.from(atob(image.bytes), (letter) => letter.charCodeAt(0));
    const width = Math.ceil(image.width / image.step), height = Math.ceil(image.height / image.step);
    const node = card(image.title, image.step > 1 ? "One row and column in " + image.step + " of " + whole(image.height) + " rows, " + whole(image.width) + " columns." : whole(image.height) + " rows, " + whole(image.width) + " columns.");
    const canvas = element("canvas", { class: "image", width: width, height: height, role: "img" });
    const context = canvas.getContext("2d"), picture = context.createImageData(width, height);
    const pixel = new Uint32Array(picture.data.buffer), table = new Uint32Array(256);
    for (let level = 0; level < 255; ++level) {
      const [red, green, blue] = image.picture ? Array(3).fill(Math.round(level * 255 / 254)) : shade(level / 254);
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
    canvas.setAttribute("aria-label", image.title + (image.picture ? ": picture, mean level " : ": image of probabilities, mean ") + mean);
    const readout = element("output", {}, "Mean " + mean + (known < levels.length ? "; grey means unknown" : ""));
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / box.width * width), row = Math.floor((event.clientY - box.top) / box.height * height);
      const level = levels[row * width + column];
      if (column < 0 || column >= width || level === undefined) return;
      readout.textContent = "Row " + row * image.step + ", column " + column * image.step + ": " + (level === 255 ? "unknown" : (level / 254).toFixed(2));
    });
    const scale = element("i");
    scale.style.background = "linear-gradient(to right," + (image.picture ? "#000,#fff" : stops.map((stop) => "rgb(" + stop.join(",") + ")").join(",")) + ")";
    const frameNode = element("div", { "data-chart": "image" }, canvas);
    node.append(frameNode, element("div", { class: "scale", "aria-hidden": "true" }, "0", scale, "1"), readout);
    cards.append(node);
  }
  page.append(cards);
}

const titled = (name) => name.charAt(0).toUpperCase() + name.slice(1);

function addTrace(parent, trace) {
  const rhat = trace.name.startsWith("R-hat"), curves = trace.series.length, many = curves > 6;
  const values = trace.series.flat().filter((value) => Number.isFinite(value));
  let highest = -Infinity;
  for (const value of values) highest = Math.max(highest, value);
  const middle = values.slice().sort((a, b) => a - b)[Math.floor(values.length / 2)] || 1;
  const roof = [1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10].find((level) => level >= 1 + 8 * (middle - 1)) || Infinity;
  const cut = rhat && highest > roof;  // the first, large values would flatten the rest
  let caption = trace.caption || (rhat ? "Near 1 the chains agree; below the dashed line at 1.01 is good." + (cut ? " Early values beyond the frame are cut off." : "")
    : curves > 1 ? "One line per chain. Mixed chains overlap and look like noise; a slope or separate bands mean they have not mixed."
      : "A level, noisy line is what a settled run looks like.");
  if (trace.every > 1) caption += " One point in " + trace.every + " is drawn.";
  if (trace.curves > curves) caption += " The first " + curves + " of " + whole(trace.curves) + " curves are drawn.";
  const node = card(titled(trace.name) + " over the run", caption);
  const label = (i) => trace.labels[i] || "chain " + i;
  addChart(node, trace.name, "Line chart of " + trace.name + " against " + (trace.axis || "sweep") + "s, " + curves + (curves === 1 ? " curve" : " curves"), "low", (c) => ({
    grid: { ...frame, top: !many && curves > 1 ? 34 : 14 },
    legend: !many && curves > 1 ? { top: 0, left: 0, type: "scroll", icon: "roundRect", itemHeight: 3 } : undefined,
    tooltip: { trigger: many ? "item" : "axis", confine: true, valueFormatter: (value) => figures(value, 6) },
    xAxis: { type: "value", name: trace.axis || "sweep", nameLocation: "middle", nameGap: 26, min: "dataMin", max: "dataMax", splitLine: { show: false }, axisLabel: { hideOverlap: true } },
    yAxis: { type: "value", scale: true, ...(rhat ? { min: 1, max: cut ? roof : undefined } : {}) },
    series: trace.series.map((values, i) => ({
      type: "line", name: label(i), showSymbol: values.length < 3, symbolSize: 5, data: values.map((value, t) => [trace.sweep[t], Number.isFinite(value) ? value : null]), clip: true,
      lineStyle: many ? { width: 0.8, opacity: 0.4, color: c.accent } : { width: 1.5, color: curves === 1 ? c.accent : undefined },
      itemStyle: many || curves === 1 ? { color: c.accent } : {},
      emphasis: many ? { lineStyle: { width: 2, opacity: 1, color: c.second } } : { disabled: true },
      triggerLineEvent: many,
      markLine: rhat && i === 0 ? { silent: true, symbol: "none", label: { formatter: "1.01", color: c.muted, position: "insideStartTop" }, lineStyle: { color: c.second, type: "dashed" }, data: [{ yAxis: 1.01 }] } : undefined,
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
  const step = data.autocorrelation_step;
  const first = rho.findIndex((value) => value < 0.05);
  const gone = first * step;
  const node = card("Autocorrelation of the energy", first < 0 ? "It has not died away within " + whole((rho.length - 1) * step) + " sweeps: successive draws tell little new."
    : "Below 0.05 after " + whole(gone) + (gone === 1 ? " sweep" : " sweeps") + "; draws further apart than that are nearly independent.");
  addChart(node, "autocorrelation", "Bar chart of the autocorrelation of the energy by lag in sweeps", "low", (c) => ({
    grid: { ...frame, top: 14 },
    tooltip: { trigger: "axis", confine: true, axisPointer: { type: "line" }, valueFormatter: (value) => figures(value, 3) },
    xAxis: { type: "category", data: rho.map((_, lag) => lag * step), name: "lag in sweeps", nameLocation: "middle", nameGap: 26, axisLabel: { hideOverlap: true } },
    yAxis: { type: "value", max: 1 },
    series: [{ type: "bar", name: "autocorrelation", data: rho, barMaxWidth: 8, itemStyle: { color: c.accent } }],
  }));
  tableBelow(node, ["Lag", "Autocorrelation"], () => rho.map((value, lag) => [whole(lag * step), figures(value, 3)]));
  parent.append(node);
}

function addSlowest(parent, find) {
  const slowest = data.slowest.slice(0, 20);
  if (!slowest.length) return;
  const node = card("The slowest variables", "Effective sample size: how many independent draws the run is worth for this variable. Below 400, run longer."
    + (find ? " Click a bar to see the variable in the table." : ""));
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

function addExtras() {
  if (data.tables.length || data.figures.length) heading("Further results");
  for (const table of data.tables) {
    const node = card(table.title, table.caption);
    const numeric = (column) => table.rows.every((row) => /^[-+\u2212]?[\d.,]*\d(e[-+]?\d+)?%?( *\u00b1.*)?$|^[-\u2013]?$/i.test(row[column] || ""));
    node.append(plainTable(table.header, table.rows, numeric));
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
