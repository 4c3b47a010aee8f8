// A plotly figure that always shows what its model says, and tells of clicks.
const shared = (globalThis.nmtlabPlotly ??= Promise.withResolvers());
const CONFIG = { displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] };

async function render({ model, el }) {
  const plot = document.createElement("div");
  plot.className = "nmtlab-chart";
  el.append(plot);
  const plotly = globalThis.Plotly ?? (await shared.promise); // Voila's page has it from the start
  let drawn = 0;
  const draw = async () => {
    const { data, layout } = JSON.parse(model.get("spec"));
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", layout.title?.text ?? "figure");
    plot.hidden = !data.length; // nothing is asked yet
    await plotly.react(plot, data, layout, CONFIG);
    plot.dataset.drawn = ++drawn;
  };
  await draw();
  const fit = new ResizeObserver(() => plot.offsetWidth && plotly.Plots.resize(plot)); // it may be drawn before it is shown
  fit.observe(plot);
  model.on("change:spec", draw);
  plot.on("plotly_click", ({ points: [point] }) =>
    model.send({ customdata: point.customdata ?? null, x: point.x, y: point.y, curve: point.curveNumber }),
  );
  return () => {
    fit.disconnect();
    plotly.purge(plot);
  };
}

export default { render };
