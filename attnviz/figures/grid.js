// Paints all heads of a model on one canvas, layers down and heads across, from the bytes that grid.py makes.
// A click, or Enter on the head that the arrow keys moved to, hands (layer, head) to Python.

const LEFT = 30;
const TOP = 26;
const GAP = 3;
const MIN_CELL = 22;

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const grid = readGrid(data);
  const canvas = parentElement.querySelector("canvas");
  const note = parentElement.querySelector(".note");
  const state = { layer: grid.selected[0], head: grid.selected[1] ?? 0, pointed: null };
  const pictures = paintHeads(grid);
  const draw = () => drawGrid(canvas, grid, pictures, state);

  const point = (layer, head) => {
    state.pointed = [layer, head];
    draw();
    showNote(note, canvas, grid, layer, head);
  };
  canvas.onpointermove = (event) => {
    const cell = cellAt(canvas, grid, event);
    if (cell) point(...cell);
    else canvas.onpointerleave();
  };
  canvas.onpointerleave = () => {
    state.pointed = null;
    note.hidden = true;
    draw();
  };
  canvas.onclick = (event) => {
    const cell = cellAt(canvas, grid, event);
    if (cell) setTriggerValue("picked", cell);
  };
  canvas.onkeydown = (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.key === "Enter" && state.pointed) setTriggerValue("picked", state.pointed);
    if (event.key === "Escape") canvas.onpointerleave();
    if (!step) return;
    event.preventDefault();
    const [layer, head] = state.pointed ?? [state.layer, state.head];
    point(clamp(layer + step[0], grid.layers), clamp(head + step[1], grid.heads));
  };
  canvas.onblur = canvas.onpointerleave;
  canvas.setAttribute("aria-label", `${grid.layers} layers by ${grid.heads} heads. Arrow keys move, Enter opens a head.`);
  const observer = new ResizeObserver(draw);
  observer.observe(parentElement.querySelector(".grid"));
  draw();
  return () => observer.disconnect();
}

const clamp = (value, size) => Math.min(Math.max(value, 0), size - 1);

function readGrid(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  return { ...header, pixels: bytes.subarray(4 + length) };
}

// One small canvas a head, a pixel a weight; drawGrid enlarges them without smoothing.
function paintHeads(grid) {
  const size = grid.rows * grid.columns;
  return Array.from({ length: grid.layers * grid.heads }, (_, index) => {
    const picture = new OffscreenCanvas(grid.columns, grid.rows);
    const image = new ImageData(grid.columns, grid.rows);
    for (let pixel = 0; pixel < size; pixel++) {
      const colour = 3 * grid.pixels[index * size + pixel];
      for (let channel = 0; channel < 3; channel++) image.data[4 * pixel + channel] = grid.colours[colour + channel];
      image.data[4 * pixel + 3] = 255;
    }
    picture.getContext("2d").putImageData(image, 0, 0);
    return picture;
  });
}

function measure(canvas, grid) {
  const width = Math.max(canvas.clientWidth, LEFT + grid.heads * (MIN_CELL + GAP));
  const cell = Math.min((width - LEFT) / grid.heads - GAP, 120);
  const height = Math.max(cell * Math.min(grid.rows / grid.columns, 1.6), 12);
  return { width, cell, height, total: TOP + grid.layers * (height + GAP) };
}

function drawGrid(canvas, grid, pictures, state) {
  const { width, cell, height, total } = measure(canvas, grid);
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(total * ratio);
  canvas.style.height = `${(total * canvas.clientWidth) / width}px`;
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  context.imageSmoothingEnabled = false;
  context.font = `14px ${getComputedStyle(canvas).fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const x = (head) => LEFT + head * (cell + GAP);
  const y = (layer) => TOP + layer * (height + GAP);
  const every = cell < 18 ? 2 : 1;
  const chosen = (layer, head) => layer === state.layer && (grid.selected[1] === null || head === state.head);
  for (let head = 0; head < grid.heads; head += every) {
    context.fillStyle = grid.selected[1] === head ? grid.accent : grid.faint;
    context.fillText(head, x(head) + cell / 2, TOP / 2);
  }
  for (let layer = 0; layer < grid.layers; layer++) {
    context.fillStyle = state.layer === layer ? grid.accent : grid.faint;
    context.fillText(layer, LEFT / 2, y(layer) + height / 2);
    for (let head = 0; head < grid.heads; head++) {
      context.drawImage(pictures[layer * grid.heads + head], x(head), y(layer), cell, height);
      const pointed = state.pointed && layer === state.pointed[0] && head === state.pointed[1];
      if (!pointed && !chosen(layer, head)) continue;
      context.strokeStyle = pointed ? grid.text : grid.accent;
      context.lineWidth = 2;
      context.strokeRect(x(head) - 1, y(layer) - 1, cell + 2, height + 2);
    }
  }
}

function cellAt(canvas, grid, event) {
  const { width, cell, height } = measure(canvas, grid);
  const scale = width / canvas.clientWidth;
  const head = Math.floor((event.offsetX * scale - LEFT) / (cell + GAP));
  const layer = Math.floor((event.offsetY * scale - TOP) / (height + GAP));
  return head >= 0 && head < grid.heads && layer >= 0 && layer < grid.layers ? [layer, head] : null;
}

function showNote(note, canvas, grid, layer, head) {
  const { entropy, query, key, weight } = grid.notes[layer * grid.heads + head];
  const link = weight ? `\n${query} → ${key}  ${weight.toFixed(3)}` : "";
  note.textContent = `L${layer}·H${head}  entropy ${entropy.toFixed(2)} bits${link}`;
  note.style.whiteSpace = "pre";
  note.hidden = false;
  const { width, cell, height } = measure(canvas, grid);
  const scale = canvas.clientWidth / width;
  const left = (LEFT + (head + 0.5) * (cell + GAP)) * scale - note.offsetWidth / 2;
  note.style.left = `${Math.max(0, Math.min(left, canvas.clientWidth - note.offsetWidth))}px`;
  note.style.top = `${(TOP + (layer + 1) * (height + GAP) + 4) * scale}px`;
}
