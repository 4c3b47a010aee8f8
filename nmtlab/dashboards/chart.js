// A plotly figure that follows its model and reports clicks.
const shared = (globalThis.nmtlabPlotly ??= Promise.withResolvers());
const CONFIG = { displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

async function render({ model, el }) {
  const plot = document.createElement("div");
  plot.className = "nmtlab-chart";
  el.append(plot);
  const plotly = globalThis.Plotly ?? (await shared.promise); // Voila's template loads it
  let drawn = 0;
  let width = 0; // of the last drawing; 0 if the current figure has not been drawn
  const draw = async () => {
    const { data, layout } = figureOf(model.get("spec"), plot);
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", model.get("label") || "figure");
    plot.hidden = !data.length; // no figure yet
    width = plot.offsetWidth;
    if (!width) return; // a hidden chart has no width yet and would be drawn twice
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
  const ignoreScheme = onScheme(draw);
  return () => {
    ignoreScheme();
    fit.disconnect();
    plotly.purge(plot);
  };
}

export default { render };
