// A plotly figure that always shows what its model says, and tells of clicks.
const shared = (globalThis.nmtlabPlotly ??= Promise.withResolvers());
const CONFIG = { displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

async function render({ model, el }) {
  const plot = document.createElement("div");
  plot.className = "nmtlab-chart";
  el.append(plot);
  const plotly = globalThis.Plotly ?? (await shared.promise); // Voila's page has it from the start
  let drawn = 0;
  let width = 0; // that the last drawing has; 0 if what is to be shown is not drawn
  const draw = async () => {
    const { data, layout } = JSON.parse(model.get("spec"));
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", layout.title?.text ?? "figure");
    plot.hidden = !data.length; // nothing is asked yet
    width = plot.offsetWidth;
    if (!width) return; // a drawing before it is shown has another width, and would be made twice
    await plotly.react(plot, data, layout, CONFIG);
    if (!drawn) plot.on("plotly_click", clicked);
    plot.dataset.drawn = ++drawn;
  };
  const clicked = ({ points: [point] }) =>
    model.send({ customdata: point.customdata ?? null, x: point.x, y: point.y, meta: point.data.meta ?? null });
  const fit = new ResizeObserver(() => {
    if (plot.offsetWidth === width || !plot.offsetWidth) return;
    if (!width) return draw();
    width = plot.offsetWidth;
    plotly.Plots.resize(plot);
  });
  draw();
  fit.observe(plot);
  model.on("change:spec", draw);
  return () => {
    fit.disconnect();
    plotly.purge(plot);
  };
}

export default { render };
