// What the other scripts share: the data, making elements, and charts in the colours of the page. Text of the
// model enters the page only as text nodes or canvas text, never as markup.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const charts = [];

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

const rounded = (value, decimals) => (value === null ? "\u2013" : value.toFixed(decimals));

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

// Columns for which isNumber(column) holds are set to the right.
function plainTable(header, rows, isNumber) {
  const side = (column) => (isNumber(column) ? { class: "number" } : {});
  return element("div", { class: "scroll", tabindex: "0" }, element("table", {},
    element("thead", {}, element("tr", {}, ...header.map((text, c) => element("th", { scope: "col", ...side(c) }, text)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, c) => element("td", side(c), cell)))))));
}

// The same data as a table, for those who cannot see the chart; built when it is opened.
function tableBelow(node, header, makeRows) {
  const details = element("details", {}, element("summary", {}, "Show as a table"));
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector("table")) details.append(plainTable(header, makeRows(), (column) => column > 0));
  });
  node.append(details);
}

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
  entry.chart.getZr().flush();
  if (entry.click) entry.chart.on("click", entry.click);
}

function drawAll() {
  charts.forEach(draw);
}
