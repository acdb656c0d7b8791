// Builds the page from top to bottom.
"use strict";

addOverview();
addImages();
addDiagnostics(addMarginals());
addExtras();
addFooter();
drawAll();

let drawnWidth = innerWidth;
window.addEventListener("resize", () => {
  if (innerWidth === drawnWidth) return;
  drawnWidth = innerWidth;
  charts.forEach((entry) => entry.chart.resize());
});
matchMedia("screen and (prefers-color-scheme: dark)").addEventListener("change", drawAll);
