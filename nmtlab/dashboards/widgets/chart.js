// A plotly figure that follows its model, reports clicks, and can be downloaded as SVG and PDF.
const shared = (globalThis.nmtlabPlotly ??= Promise.withResolvers());

const lettered = (letters) => ({
  svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 30 20"><text x="15" y="15" font-size="14"
    font-weight="bold" font-family="sans-serif" text-anchor="middle">${letters}</text></svg>`,
});

// Of downloaded figures, in the reader's units; remembered by the browser.
const SIZES = { width: { usual: 140, least: 40, most: 400, unit: "mm wide" }, font: { usual: 9, least: 4, most: 24, unit: "pt letters" } };
const sizeOf = (name) => Number(localStorage.getItem(`nmtlab-figure-${name}`)) || SIZES[name].usual;
const [PER_MM, PER_PT] = [96 / 25.4, 96 / 72]; // pixels

const sizeForm = () => {
  const form = document.createElement("div");
  form.className = "nmtlab-chart-size";
  form.hidden = true;
  form.append("Downloads: ");
  for (const [name, { least, most, unit }] of Object.entries(SIZES)) {
    const input = Object.assign(document.createElement("input"), { type: "number", min: least, max: most, value: sizeOf(name) });
    input.onchange = () => {
      input.value = Math.min(most, Math.max(least, input.value || SIZES[name].usual));
      localStorage.setItem(`nmtlab-figure-${name}`, input.value);
    };
    const label = document.createElement("label");
    label.append(input, ` ${unit} `);
    form.append(label);
  }
  return form;
};

const download = (content, type, file) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
};

async function render({ model, el }) {
  const plot = document.createElement("div");
  plot.className = "nmtlab-chart";
  const problem = document.createElement("div");
  problem.className = "nmtlab-message";
  problem.hidden = true;
  const sizes = sizeForm();
  el.append(sizes, plot, problem);
  const plotly = globalThis.Plotly ?? (await shared.promise); // Voila's template loads it
  let drawn = 0;
  let width = 0; // of the last drawing; 0 if the current figure has not been drawn
  let shown = {}; // of the model, in the last drawing
  let last = Promise.resolve(); // plotly does one thing at a time
  const inTurn = (job) => () => (last = last.then(job, job));
  const draw = inTurn(async () => {
    shown = { spec: model.get("spec"), marks: model.get("marks") };
    const { data, layout } = figureOf(shown.spec, plot);
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", model.get("label") || "figure");
    plot.hidden = !data.length; // no figure yet
    width = plot.offsetWidth;
    if (!width) return; // a hidden chart has no width yet and would be drawn twice
    problem.hidden = true;
    const shapes = [...(layout.shapes ?? []), ...figureOf(shown.marks, plot)];
    await plotly.react(plot, data, { ...layout, shapes }, config);
    if (!drawn) plot.on("plotly_click", clicked);
    plot.dataset.drawn = ++drawn;
  });
  const mark = () => {
    if (model.get("spec") === shown.spec && model.get("marks") !== shown.marks) draw(); // else drawn, or will be
  };
  const clicked = ({ points: [point] }) => {
    const { x, y, customdata = null, xaxis, yaxis, data } = point;
    model.send({ customdata, x, y, xaxis: xaxis._id, yaxis: yaxis._id, meta: data.meta ?? null });
  };
  // Plotly's own layers cover the labels of its axes, so that these get no clicks.
  const labelAt = ({ clientX, clientY }) => {
    for (const axis of Object.keys(plot.layout?.meta?.axes ?? {})) {
      for (const text of plot.querySelectorAll(`.${axis}tick text`)) {
        const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(text.getScreenCTM().inverse());
        const box = text.getBBox();
        const inside = x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
        if (inside) return { axis, value: text.parentNode.__data__.x };
      }
    }
  };
  plot.addEventListener("pointerdown", (event) => {
    const label = labelAt(event);
    if (label) model.send(label);
  });
  // On paper all keeps its size beside the letters, which have the size that is asked for.
  const paper = () => {
    const scale = (sizeOf("font") * PER_PT) / (plot.layout.template?.layout?.font?.size ?? 12);
    return { width: (sizeOf("width") * PER_MM) / scale, height: plot.offsetHeight, scale };
  };
  const visible = () => plot.data.map((trace) => trace.visible ?? true);
  const lightLayout = () => (isDark(plot) ? recoloured(plot.layout, LIGHT) : plot.layout); // for paper
  const asSvg = async () => {
    const data = JSON.parse(model.get("spec")).data.map((trace, place) => ({ ...trace, visible: visible()[place] }));
    const { width, height, scale } = paper();
    const drawn = { format: "svg", width, height, imageDataOnly: true };
    const text = await plotly.toImage({ data, layout: lightLayout() }, drawn);
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", `${sizeOf("width")}mm`);
    svg.setAttribute("height", `${((height * scale) / PER_MM).toFixed(2)}mm`);
    download(new XMLSerializer().serializeToString(svg), "image/svg+xml", "nmtlab-figure.svg");
  };
  const asPdf = () => model.send({ pdf: { layout: lightLayout(), visible: visible(), ...paper() } });
  const config = {
    displaylogo: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d"],
    modeBarButtonsToAdd: [
      { name: "svg", title: "Download as SVG", icon: lettered("SVG"), click: asSvg },
      { name: "pdf", title: "Download as PDF", icon: lettered("PDF"), click: asPdf },
      { name: "size", title: "Size of downloads", icon: lettered("mm"), click: () => (sizes.hidden = !sizes.hidden) },
    ],
  };
  const answered = ({ file, failed }, buffers) => {
    problem.textContent = failed ?? "";
    problem.hidden = !failed;
    if (file) download(buffers[0], "application/pdf", file);
  };
  const fit = new ResizeObserver(() => {
    if (plot.offsetWidth === width || !plot.offsetWidth) return;
    if (!width) return draw();
    width = plot.offsetWidth;
    plotly.Plots.resize(plot);
  });
  draw();
  fit.observe(plot);
  model.on("change:spec", draw);
  model.on("change:marks", mark);
  model.on("msg:custom", answered);
  const ignoreScheme = onScheme(draw);
  return () => {
    ignoreScheme();
    fit.disconnect();
    plotly.purge(plot);
  };
}

export default { render };
