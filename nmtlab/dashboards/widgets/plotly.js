// Plotly's script precedes this. All charts of the page wait for it, so it is sent once and not per chart.
const shared = (globalThis.nmtlabPlotly ??= Promise.withResolvers());
shared.resolve(globalThis.Plotly);
export default { render: ({ el }) => (el.hidden = true) };
