// What a page asks of the browser: its address, a sign of life while someone is looking, files to save.
const EVERY = 4000; // ms
const IDLE = 15 * 60000; // ms without a touch, after which the kernel is left alone and may be culled

function render({ model, el }) {
  el.classList.add("nmtlab-nothing");
  const voila = document.body.dataset.voila !== undefined;
  let touched = Date.now();
  const touch = () => (touched = Date.now());
  const signals = ["pointerdown", "keydown", "wheel"];
  signals.forEach((name) => document.addEventListener(name, touch, { passive: true }));

  const told = () => {
    if (!voila) return;
    const others = [...new URLSearchParams(location.search)].filter(([name]) => name === "token");
    const query = new URLSearchParams([...new URLSearchParams(model.get("query")), ...others]);
    history.replaceState(null, "", `?${query}`);
  };
  const save = ({ file, content }) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/html" }));
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  model.on("change:query", told);
  model.on("msg:custom", (message) => {
    if (message.save) save(message.save);
    if (message.copy && navigator.clipboard) navigator.clipboard.writeText(location.href);
  });
  model.send({ opened: voila ? location.search : "" });
  const timer = setInterval(() => {
    if (!document.hidden && Date.now() - touched < IDLE) model.send({ looking: true });
  }, EVERY);
  return () => {
    clearInterval(timer);
    signals.forEach((name) => document.removeEventListener(name, touch));
  };
}

export default { render };
