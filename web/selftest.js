// Opened with #selftest at the end of its address, the page records its own errors and how many coloured
// pixels each canvas shows (axes and labels are grey), and leaves both as JSON in <pre id="selftest">, where a headless browser's dump finds them.
"use strict";
if (location.hash === "#selftest") {
  const errors = [];
  window.addEventListener("error", (event) => errors.push(event.message));
  window.addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
  document.addEventListener("securitypolicyviolation", (event) => errors.push("blocked " + event.blockedURI));
  for (const level of ["error", "warn"]) console[level] = (...words) => errors.push(words.join(" "));
  window.addEventListener("load", () => setTimeout(() => {
    const canvases = Array.from(document.querySelectorAll("canvas"), (canvas) => {
      const bytes = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      let pixels = 0;
      for (let i = 0; i < bytes.length; i += 4) {
        const [red, green, blue] = [bytes[i], bytes[i + 1], bytes[i + 2]];
        pixels += bytes[i + 3] > 60 && Math.max(red, green, blue) - Math.min(red, green, blue) > 40;
      }
      const named = canvas.closest("[data-chart]");
      return { chart: named ? named.dataset.chart : "", pixels: pixels };
    });
    const result = document.createElement("pre");
    result.id = "selftest";
    result.hidden = true;
    result.textContent = JSON.stringify({
      errors: errors, canvases: canvases, wide: document.documentElement.scrollWidth > innerWidth,
      title: document.title, scripts: document.scripts.length, images: document.images.length,
    });
    document.body.append(result);
  }, 300));
}
