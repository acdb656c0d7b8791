// The picture: the state as it changes beside the running mean; temperature, field, and a brush that holds pixels.
import { button, element, figure, percent, post, request, say, slider, whole } from "/tools.js";

// Shades run from deep blue to paper, held ones from rust to apricot; states without an order have a hue each.
const cold = [[22, 48, 84], [243, 239, 229]], warm = [[132, 48, 12], [255, 184, 120]];
const hues = [[68, 119, 170], [238, 136, 102], [204, 187, 68], [68, 170, 136], [170, 102, 153], [102, 204, 238], [153, 119, 85], [187, 187, 187]];
const paper = cold[1];
const mix = ([from, to], t) => from.map((value, i) => Math.round(value + (to[i] - value) * t));
const pack = ([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0;

export function pictureView(place, model) {
  const shape = model.picture;
  const stateColour = (k, held) => {
    const t = shape.states > 1 ? k / (shape.states - 1) : 0;
    if (shape.levels) return mix(held ? warm : cold, t);
    return held ? mix([hues[k], [255, 255, 255]], 0.35) : hues[k];
  };
  // How far the most probable state is from no more than its share.
  const sureness = (p) => Math.max(0, (p - 1 / shape.states) / (1 - 1 / shape.states));
  const statePalette = new Uint32Array(256), meanPalette = new Uint32Array(256);
  for (let byte = 0; byte < 256; ++byte) {
    const level = (byte & 127) / 127;
    statePalette[byte] = pack(stateColour(Math.round(level * (shape.states - 1)), byte > 127));
    meanPalette[byte] = pack(shape.levels ? mix(cold, byte / 255) : mix([paper, hues[byte >> 5]], sureness((byte & 31) / 31)));
  }

  // ---- planes -------------------------------------------------------------------------------------------------
  function plane(title, words, label) {
    const canvas = element("canvas", { class: "plane", tabindex: 0, role: "img", "aria-label": label });
    const cursor = element("div", { class: "brush", hidden: true, "aria-hidden": "true" });
    const frame = element("div", { class: "frame" }, canvas, cursor);
    const node = element("figure", { class: "card" }, element("figcaption", {}, element("h2", {}, title), element("p", { class: "hint" }, words)), frame);
    const context = canvas.getContext("2d", { alpha: false });
    const one = { node, canvas, cursor, draw, save, width: 1, height: 1 };
    let image = null, pixels = null, columns = null, last = null, room = 0;
    new ResizeObserver(() => { room = Math.ceil(frame.clientWidth * devicePixelRatio); }).observe(frame);
    // A picture larger than the place it is shown at is drawn with as many pixels as are seen.
    function draw(bytes, width, height, palette, bits) {
      last = { bytes, width, height, palette, bits };
      const across = room > 0 && room < width ? room : width, down = Math.max(1, Math.round(across * height / width));
      if (!image || image.width !== across || image.height !== down || one.width !== width) {
        canvas.width = across;
        canvas.height = down;
        one.width = width;
        one.height = height;
        image = context.createImageData(across, down);
        pixels = new Uint32Array(image.data.buffer);
        columns = Uint32Array.from({ length: across }, (_, x) => Math.floor((x + 0.5) * width / across));
        frame.style.setProperty("--shape", String(width / height));
      }
      if (bits) {
        const light = palette[127], dark = palette[0];
        for (let y = 0, i = 0; y < down; ++y) {
          const row = Math.floor((y + 0.5) * height / down) * width;
          for (let x = 0; x < across; ++x) { const at = row + columns[x]; pixels[i++] = bytes[at >> 3] >> (at & 7) & 1 ? light : dark; }
        }
      } else if (across === width) for (let i = 0; i < pixels.length; ++i) pixels[i] = palette[bytes[i]];
      else {
        for (let y = 0, i = 0; y < down; ++y) {
          const row = Math.floor((y + 0.5) * height / down) * width;
          for (let x = 0; x < across; ++x) pixels[i++] = palette[bytes[row + columns[x]]];
        }
      }
      context.putImageData(image, 0, 0);
    }
    function save(name) {  // all of it
      const { bytes, width, height, palette, bits } = last, whole = element("canvas", { width, height }), data = new ImageData(width, height);
      const target = new Uint32Array(data.data.buffer);
      for (let i = 0; i < target.length; ++i) target[i] = palette[bits ? 127 * (bytes[i >> 3] >> (i & 7) & 1) : bytes[i]];
      whole.getContext("2d").putImageData(data, 0, 0);
      whole.toBlob((blob) => {
        const link = element("a", { href: URL.createObjectURL(blob), download: name });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      });
    }
    return one;
  }
  const now = plane("Now", shape.grid ? "The state of one chain. Paint on it." : "One image per chain. Paint on any of them: the pixel is held in all.", "The state as it is sampled. Arrows move the brush, Space paints, Delete sets free");
  const mean = plane(shape.levels ? "Running mean" : "Most probable state", shape.levels ? "Of the distributions the pixels were drawn from, over all chains." : "Of each pixel, from what was sampled so far; the paler, the less sure.", "The running mean. Arrows move the brush, Space paints, Delete sets free");
  const planes = element("div", { class: "planes" });
  if (shape.seen) {
    const seen = plane("What was seen", "The image as it came, noise and all.", "The noisy image");
    const grey = Uint32Array.from({ length: 256 }, (_, byte) => pack(mix(cold, byte / 255)));
    request("/api/picture/seen").then((response) => response.arrayBuffer()).then((bytes) => seen.draw(new Uint8Array(bytes), shape.width, shape.height, grey));
    planes.append(seen.node);
  }
  planes.append(now.node, mean.node);

  // ---- what can be changed ------------------------------------------------------------------------------------
  let sending = false, changes = {};
  async function change(more) {
    const { strokes, ...rest } = more;
    if (more.clear) delete changes.strokes;
    Object.assign(changes, rest);
    if (strokes) changes.strokes = [...(changes.strokes || []), ...strokes];
    if (sending) return;
    sending = true;
    while (Object.keys(changes).length) {
      const next = changes;
      changes = {};
      try { await post("/api/picture/change", next); } catch (error) { tell(error.message); }
    }
    sending = false;
  }
  const trouble = element("p", { class: "bad", role: "alert", hidden: true });
  function tell(text) { trouble.textContent = text; trouble.hidden = !text; if (text) say(text); }

  // Ten to the power of the slider's value.
  const temperature = slider("Temperature", { min: -1, max: 1, step: 0.01, value: 0, show: (value) => figure(10 ** value, 3), change: (value) => change({ temperature: 10 ** value }) });
  const field = slider("Field", { min: -1.5, max: 1.5, step: 0.01, value: 0, show: (value) => (value > 0 ? "+" : "") + value.toFixed(2), change: (value) => change({ field: value }) });
  const size = slider("Brush", { min: 0, max: 1, step: 0.01, value: 0.35, show: () => Math.max(1, Math.round(2 * radius())) + " px", change: () => {} });
  const radius = () => Math.max(0.75, Math.min(shape.width, shape.height) / 6 * Number(size.input.value) ** 2);
  const hold = button("Pause", () => change({ paused: !paused }), { class: "main" });
  const method = element("select", { "aria-label": "Sampler", onchange: () => change({ method: method.value }) },
    element("option", { value: "chains", disabled: !shape.grid || shape.states !== 2 }, "64 chains, edited in place"), element("option", { value: "gibbs" }, "Gibbs sampling"));
  const seed = element("input", { type: "number", min: 0, step: 1, value: 1, "aria-label": "Seed" });
  const anew = button("Start anew", () => change({ seed: Math.max(0, Math.round(Number(seed.value) || 0)) }));

  let brush = shape.states - 1, paused = false;
  const swatches = element("div", { class: "swatches", role: "radiogroup", "aria-label": "What the brush does" });
  const choices = shape.states <= 8 ? Array.from({ length: shape.states }, (_, k) => k) : [0, Math.floor(shape.states / 2), shape.states - 1];
  const nameOf = (k) => (shape.states === 2 ? (k ? "Hold light" : "Hold dark") : "Hold " + k);
  for (const k of [...choices, -1]) {
    const swatch = button("", () => choose(k), { class: "swatch" + (k < 0 ? " free" : ""), role: "radio", "data-value": k, "aria-label": k < 0 ? "Set free" : nameOf(k), title: k < 0 ? "Set free" : nameOf(k) });
    if (k >= 0) swatch.style.background = "rgb(" + stateColour(k, true).join(",") + ")";
    else swatch.textContent = "Free";
    swatches.append(swatch);
  }
  function choose(k) {
    brush = k;
    for (const swatch of swatches.children) swatch.setAttribute("aria-checked", String(Number(swatch.dataset.value) === k));
  }
  choose(brush);
  const facts = element("dl", {});
  const group = (title, ...parts) => element("section", { class: "group" }, element("h2", {}, title), ...parts);
  place.append(planes, element("aside", { "aria-label": "Controls" }, trouble,
    group("Sampling", element("div", { class: "buttons" }, hold, anew, element("label", {}, "Seed ", seed)), element("label", { class: "wide" }, "Sampler ", method)),
    group("Model", temperature.node, field.node, element("div", { class: "buttons" }, button("Reset", () => { temperature.set(0); field.set(0); change({ temperature: 1, field: 0 }); }))),
    group("Paint", element("p", { class: "hint" }, "Painted pixels are held at a value; the others feel it."), swatches, size.node, element("div", { class: "buttons" }, button("Free all", () => change({ clear: true })))),
    group("Figures", facts),
    group("Save", element("div", { class: "buttons" }, button("State as PNG", () => now.save("state.png")), button("Mean as PNG", () => mean.save("mean.png"))))));

  // ---- the brush ----------------------------------------------------------------------------------------------
  let shown = null;  // the last frame's figures
  // Where a pointer is: in pixels of the image, and which image of the sheet.
  function locate(one, event) {
    const box = one.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * one.width, y = (event.clientY - box.top) / box.height * one.height;
    return within(one, x, y);
  }
  function within(one, x, y) {
    if (one === mean || shape.grid) return { x, y, image: 0 };
    const column = Math.floor(x / (shape.width + 1)), row = Math.floor(y / (shape.height + 1));
    return { x: x - column * (shape.width + 1), y: y - row * (shape.height + 1), image: row * 1000 + column };
  }
  function paint(from, to, value = brush) {
    const same = from && from.image === to.image ? from : to;
    change({ strokes: [[same.x, same.y, to.x, to.y, radius(), value]] });
  }
  function point(one, x, y) {  // where the brush is shown, in pixels of the canvas
    const box = one.canvas.getBoundingClientRect(), scale = box.width / one.width, diameter = 2 * radius() * scale;
    one.cursor.hidden = false;
    one.cursor.style.width = one.cursor.style.height = diameter + "px";
    one.cursor.style.transform = `translate(${x * scale - diameter / 2}px, ${y * scale - diameter / 2}px)`;
  }
  for (const one of [now, mean]) {
    let last = null, key = null;
    one.canvas.classList.add("paintable");
    one.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      one.canvas.setPointerCapture(event.pointerId);
      const here = locate(one, event);
      paint(null, here);
      last = here;
    });
    one.canvas.addEventListener("pointermove", (event) => {
      const box = one.canvas.getBoundingClientRect();
      point(one, (event.clientX - box.left) / box.width * one.width, (event.clientY - box.top) / box.height * one.height);
      if (!last) return;
      const here = locate(one, event);
      paint(last, here);
      last = here;
    });
    const lift = () => { last = null; };
    one.canvas.addEventListener("pointerup", lift);
    one.canvas.addEventListener("pointercancel", lift);
    one.canvas.addEventListener("pointerleave", () => { one.cursor.hidden = true; });
    one.canvas.addEventListener("keydown", (event) => {
      const step = Math.max(1, Math.round(radius())), moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
      key = key || { x: Math.floor(one.width / 2) + 0.5, y: Math.floor(one.height / 2) + 0.5 };
      if (moves[event.key]) {
        key.x = Math.min(one.width - 0.5, Math.max(0.5, key.x + moves[event.key][0]));
        key.y = Math.min(one.height - 0.5, Math.max(0.5, key.y + moves[event.key][1]));
        say("Column " + Math.floor(key.x) + ", row " + Math.floor(key.y));
      } else if (event.key === " " || event.key === "Enter") paint(null, within(one, key.x, key.y));
      else if (event.key === "Delete" || event.key === "Backspace") paint(null, within(one, key.x, key.y), -1);
      else return;
      event.preventDefault();
      point(one, key.x, key.y);
    });
    one.canvas.addEventListener("blur", () => { one.cursor.hidden = true; });
  }

  // ---- frames -------------------------------------------------------------------------------------------------
  let told = { time: -1000 };
  const rate = { frames: 0, since: performance.now(), value: null };
  function show(said, bytes) {
    const pixels = said.bits ? Math.ceil(said.width * said.height / 8) : said.width * said.height;
    now.draw(bytes.subarray(0, pixels), said.width, said.height, statePalette, said.bits);
    if (bytes.length > pixels) mean.draw(bytes.subarray(pixels), shape.width, shape.height, meanPalette);
    paused = said.paused;
    if (told.paused !== paused) hold.textContent = paused ? "Go on" : "Pause";
    if (document.activeElement !== method) method.value = said.method;
    temperature.follow(Math.log10(said.temperature));
    field.follow(said.field);
    ++rate.frames;
    const time = performance.now();
    if (time - rate.since > 1000) { rate.value = 1000 * rate.frames / (time - rate.since); rate.frames = 0; rate.since = time; }
    place.dataset.sweeps = said.sweeps;
    place.dataset.held = said.held;
    window.droverFrames = (window.droverFrames || 0) + 1;
    window.droverShown = [time, said.sweeps];
    if (time - told.time < 300 && told.paused === paused && told.held === said.held) return;  // what changes faster cannot be read
    told = { time, paused, held: said.held };
    const pairs = [["State", paused ? "paused" : "sampling"], ["Sampler", said.sampler], ["Sweeps", whole(said.sweeps)], ["Sweeps a second", figure(said.sweeps_per_second, 3)],
      ["Updates per ns", figure(said.updates_per_nanosecond, 3)], ["Pictures a second", paused ? "–" : figure(rate.value, 3)],
      ...(shape.levels ? [["Mean level", percent(said.mean_level) + " %"]] : []), ["Held pixels", whole(said.held)]];
    facts.replaceChildren(...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }
  let open = true, version = "0", turn = 0;
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  async function follow() {
    while (open) {
      const start = performance.now();
      try {
        if (document.hidden) { await pause(500); continue; }
        const response = await request("/api/picture?after=" + version + (paused || turn++ % 3 === 0 ? "" : "&state"));
        if (!open) return;
        if (response.status === 204) continue;
        if (!response.ok) throw new Error(JSON.parse(await response.text()).error);
        const buffer = await response.arrayBuffer(), length = new DataView(buffer).getUint32(0, true);
        const said = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
        version = said.version;
        tell(said.error || "");
        if (said.error) { await pause(1000); continue; }
        shown = said;
        await new Promise(requestAnimationFrame);
        if (open) show(said, new Uint8Array(buffer, 4 + length));
      } catch (error) {
        if (!open) return;
        tell(error instanceof TypeError ? "The connection is lost; trying again." : error.message);
        await pause(1000);
      }
      await pause(Math.max(0, 85 - (performance.now() - start)));
    }
  }
  follow();
  return { close() { open = false; } };
}
