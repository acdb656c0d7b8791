// Line charts that are drawn anew some times a second, on a canvas (uPlot).
import uPlot from "/uplot.js";
import { element, figure, whole } from "/tools.js";

const hues = ["#4477aa", "#ee8866", "#44aa88", "#aa6699", "#bb9933", "#66aadd", "#997755", "#888888"];
const axisName = "draws of each chain";
const drawn = new Set();
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const one of drawn) one.reset(); });

// settings: line (a level to mark), floor (the lowest value shown), cut (the highest), show (a value as text).
export function chart(title, words, settings = {}) {
  const box = element("div", { class: "plot", role: "img", "aria-label": title });
  const figures = element("p", { class: "hint reading", "aria-hidden": "true" }, axisName);
  const node = element("section", { class: "card" }, element("h2", {}, title), element("p", { class: "hint" }, words), box, figures);
  let plot = null, columns = null;

  function range(_, low, high) {
    if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
    if (settings.line !== undefined) { low = Math.min(low, settings.floor); high = Math.max(high, settings.line * 1.002); }
    if (settings.cut !== undefined) high = Math.min(high, settings.cut);
    const room = 0.05 * (high - low || Math.abs(high) || 1);
    return [settings.floor !== undefined ? settings.floor : low - room, high + room];
  }
  function make() {
    const axis = () => ({ stroke: colour("muted"), font: "11px system-ui, sans-serif", grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 } });
    const level = (u) => {
      if (settings.line === undefined) return;
      const y = u.valToPos(settings.line, "y", true), c = u.ctx;
      c.save();
      c.strokeStyle = colour("second");
      c.setLineDash([5, 4]);
      c.beginPath();
      c.moveTo(u.bbox.left, y);
      c.lineTo(u.bbox.left + u.bbox.width, y);
      c.stroke();
      c.restore();
    };
    plot = new uPlot({
      width: Math.max(240, box.clientWidth), height: 190, legend: { show: false }, cursor: { points: { show: columns.length < 5 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range } },
      axes: [{ ...axis(), size: 30, values: (_, ticks) => ticks.map((value) => (value >= 1e6 ? figure(value / 1e6, 4) + " M" : whole(value))), space: 70 }, { ...axis(), size: 62, values: (_, ticks) => ticks.map((value) => (Math.abs(value) >= 1e4 && Math.abs(value) < 1e6 ? whole(value) : figure(value, 5))) }],
      series: [{}, ...columns.slice(1).map((_, c) => ({ stroke: columns.length > 2 ? hues[c % hues.length] : colour("accent"), width: 1.2, points: { show: false }, spanGaps: false }))],
      hooks: { draw: [level], setCursor: [(u) => read(u)] },
    }, columns, box);
    box.dataset.curves = columns.length - 1;
  }
  function read(u) {
    const at = u.cursor.idx;
    figures.textContent = at === null || at === undefined ? axisName : "draw " + whole(u.data[0][at]) + ": " + u.data.slice(1).map((values) => settings.show(values[at])).join(", ");
  }
  const one = {
    node,
    draw(next) {
      const enough = next[0].length >= 2 && next.slice(1).some((values) => values.some(Number.isFinite));
      if (!enough) {
        if (plot) plot.destroy();
        plot = null;
        box.replaceChildren(element("p", { class: "empty" }, "not enough draws yet"));
        box.dataset.curves = 0;
        return;
      }
      const again = !plot || columns.length !== next.length;
      columns = next;
      if (!again) return plot.setData(columns, !(plot.cursor.drag && plot.select.width > 0));
      if (plot) plot.destroy();
      box.replaceChildren();
      make();
    },
    reset() { if (plot) { plot.destroy(); box.replaceChildren(); make(); } },
    close() { drawn.delete(one); sized.disconnect(); if (plot) plot.destroy(); },
  };
  const sized = new ResizeObserver(() => plot && plot.setSize({ width: Math.max(240, box.clientWidth), height: 190 }));
  sized.observe(box);
  drawn.add(one);
  return one;
}
