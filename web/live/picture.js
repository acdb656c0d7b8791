// The picture: the state as it changes beside the running mean; temperature, field, and a brush that holds pixels.
import { button, element, figure, percent, post, request, say, slider, whole } from "/tools.js";

// Shades run from deep blue to paper, held ones from rust to apricot; states without an order have a hue each.
const cold = [[22, 48, 84], [243, 239, 229]], warm = [[132, 48, 12], [255, 184, 120]];
const hues = [[68, 119, 170], [238, 136, 102], [204, 187, 68], [68, 170, 136], [170, 102, 153], [102, 204, 238], [153, 119, 85], [187, 187, 187]];
const paper = cold[1];
const mix = ([from, to], t) => from.map((value, i) => Math.round(value + (to[i] - value) * t));
const pack = ([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0;

function colour(pixels, bytes, palette, bits) {
  if (!bits) for (let i = 0; i < pixels.length; ++i) pixels[i] = palette[bytes[i]];
  else {
    // Eight pixels of a byte at once, two by two; then those that are left.
    const two = new BigUint64Array(Uint32Array.from({ length: 8 }, (_, i) => palette[127 * (i >> 1 >> (i & 1) & 1)]).buffer);
    const pairs = new BigUint64Array(pixels.buffer, 0, pixels.length >> 1), whole = pixels.length >> 3;
    for (let at = 0, i = 0; at < whole; ++at, i += 4) {
      const byte = bytes[at];
      pairs[i] = two[byte & 3];
      pairs[i + 1] = two[byte >> 2 & 3];
      pairs[i + 2] = two[byte >> 4 & 3];
      pairs[i + 3] = two[byte >> 6];
    }
    for (let i = 8 * whole; i < pixels.length; ++i) pixels[i] = palette[127 * (bytes[whole] >> (i & 7) & 1)];
  }
}

// A frame as it comes (drover/serve/live_picture.hpp): what it says, and the pixels of state and mean.
function frameOf(buffer) {
  const length = new DataView(buffer).getUint32(0, true), said = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const bytes = new Uint8Array(buffer, 4 + length), pixels = said.bits ? Math.ceil(said.across * said.down / 8) : said.across * said.down;
  return { said, state: bytes.subarray(0, pixels), mean: said.mean_across ? bytes.subarray(pixels) : null };
}

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
    const one = { node, canvas, cursor, draw, width: 1, height: 1, room: () => Math.ceil(frame.clientWidth * devicePixelRatio) };
    let image = null, pixels = null;
    // A picture of width x height, of which across x down pixels have come.
    function draw(bytes, width, height, palette, bits = false, across = width, down = height) {
      if (!image || image.width !== across || image.height !== down || one.width !== width || one.height !== height) {
        canvas.width = across;
        canvas.height = down;
        one.width = width;
        one.height = height;
        image = context.createImageData(across, down);
        pixels = new Uint32Array(image.data.buffer);
        frame.style.setProperty("--shape", String(width / height));
      }
      colour(pixels, bytes, palette, bits);
      context.putImageData(image, 0, 0);
    }
    return one;
  }
  const now = plane("Now", shape.grid ? "The state of one chain. Paint on it." : "One image per chain. Paint on any of them: the pixel is held in all.", "The state as it is sampled. Arrows move the brush, Space paints, Delete sets free");
  const mean = plane(shape.levels ? "Running mean" : "Most probable state", shape.levels ? "Of the distributions the pixels were drawn from, over all chains." : "Of each pixel, from what was sampled so far; the paler, the less sure.", "The running mean. Arrows move the brush, Space paints, Delete sets free");
  const planes = element("div", { class: "planes" });
  if (shape.seen) {
    const noisy = plane("What was seen", "The image as it came, noise and all.", "The noisy image");
    const grey = Uint32Array.from({ length: 256 }, (_, byte) => pack(mix(cold, byte / 255)));
    request("/api/picture/seen").then((response) => response.arrayBuffer()).then((bytes) => noisy.draw(new Uint8Array(bytes), shape.width, shape.height, grey));
    planes.append(noisy.node);
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
  function tell(text) {
    if (trouble.textContent === text) return;
    trouble.textContent = text;
    trouble.hidden = !text;
    if (text) say(text);
  }

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
    group("Save", element("div", { class: "buttons" }, button("State as PNG", () => save("state.png")), button("Mean as PNG", () => save("mean.png"))))));

  // All pixels of the picture as it is now, whatever is seen of it.
  async function save(name) {
    const { said, state, mean: means } = frameOf(await (await request("/api/picture")).arrayBuffer()), isState = name === "state.png";
    const width = isState ? said.width : shape.width, height = isState ? said.height : shape.height;
    const whole = element("canvas", { width, height }), data = new ImageData(width, height);
    colour(new Uint32Array(data.data.buffer), isState ? state : means, isState ? statePalette : meanPalette, isState && said.bits);
    whole.getContext("2d").putImageData(data, 0, 0);
    whole.toBlob((blob) => {
      const link = element("a", { href: URL.createObjectURL(blob), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // ---- the brush ----------------------------------------------------------------------------------------------
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
  function show({ said, state, mean: means }) {
    now.draw(state, said.width, said.height, statePalette, said.bits, said.across, said.down);
    if (means) mean.draw(means, shape.width, shape.height, meanPalette, false, said.mean_across, said.mean_down);
    paused = said.paused;
    if (told.paused !== paused) hold.textContent = paused ? "Go on" : "Pause";
    if (document.activeElement !== method && method.value !== said.method) method.value = said.method;
    temperature.follow(Math.log10(said.temperature));
    field.follow(said.field);
    ++rate.frames;
    const time = performance.now();
    if (time - rate.since > 1000) { rate.value = 1000 * rate.frames / (time - rate.since); rate.frames = 0; rate.since = time; }
    if (told.held !== said.held) place.dataset.held = said.held;
    window.droverFrames = (window.droverFrames || 0) + 1;
    window.droverShown = [time, said.sweeps];
    if (time - told.time < 1000 && told.paused === paused && told.held === said.held) return;  // what changes faster cannot be read
    told = { time, paused, held: said.held };
    const pairs = [["State", paused ? "paused" : "sampling"], ["Sampler", said.sampler], ["Sweeps", whole(said.sweeps)], ["Sweeps a second", said.sweeps_per_second < 1000 ? figure(said.sweeps_per_second, 3) : whole(said.sweeps_per_second)],
      ["Updates per ns", figure(said.updates_per_nanosecond, 3)], ["Pictures a second", paused ? "–" : figure(rate.value, 3)],
      ...(shape.levels ? [["Mean level", percent(said.mean_level) + " %"]] : []), ["Held pixels", whole(said.held)]];
    facts.replaceChildren(...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  }
  let open = true, reader = null, next = null, seen = { after: "0", mean: "0" };
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  // The newest frame is shown when the browser paints; one that came before it is not.
  function take(frame) {
    tell(frame.said.error || "");
    if (frame.said.error) return;
    seen = { after: frame.said.version, mean: frame.said.mean_version };
    if (next && !frame.mean && next.mean) frame = { ...frame, mean: next.mean, said: { ...frame.said, mean_across: next.said.mean_across, mean_down: next.said.mean_down } };
    if (!next) requestAnimationFrame(() => { const newest = next; next = null; if (open) show(newest); });
    next = frame;
  }
  // Frames that come one after another, each behind its length; the answer ends after a second.
  async function stream() {
    const response = await request("/api/pictures?" + new URLSearchParams({ ...seen, across: now.room() }));
    if (!response.ok) throw new Error(JSON.parse(await response.text()).error);
    reader = response.body.getReader();
    let part = new Uint8Array(4), filled = 0, isLength = true;
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      if (!open || document.hidden) { await reader.cancel(); return; }
      for (let at = 0; at < chunk.value.length;) {
        const count = Math.min(part.length - filled, chunk.value.length - at);
        part.set(chunk.value.subarray(at, at + count), filled);
        at += count;
        filled += count;
        if (filled < part.length) break;
        const length = isLength ? new DataView(part.buffer).getUint32(0, true) : 0;
        if (!isLength) take(frameOf(part.buffer));
        isLength = length === 0;  // an empty part is a beat
        part = new Uint8Array(length || 4);
        filled = 0;
      }
    }
  }
  async function follow() {
    while (open) {
      try {
        if (document.hidden) { await pause(500); continue; }
        const begun = performance.now();
        await stream();
        if (trouble.textContent && performance.now() - begun < 1000) await pause(1000);
      } catch (error) {
        if (!open) return;
        tell(error instanceof TypeError ? "The connection is lost; trying again." : error.message);
        await pause(1000);
      }
    }
  }
  follow();
  return { close() { open = false; if (reader) reader.cancel().catch(() => {}); } };
}
