// Builds the page from top to bottom.
"use strict";

addOverview();
addNetwork();
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

// Paper is light: redraw before it is printed, and back.
function setPrinting(on) {
  document.documentElement.classList.toggle("printing", on);
  drawAll();
}
window.addEventListener("beforeprint", () => setPrinting(true));
window.addEventListener("afterprint", () => setPrinting(false));
