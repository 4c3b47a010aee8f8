// Behind this stands plotly's own script. Charts of the page wait for it: it is sent once, not once a chart.
const shared = (globalThis.nmtlabPlotly ??= Promise.withResolvers());
shared.resolve(globalThis.Plotly);
export default { render: ({ el }) => (el.hidden = true) };
