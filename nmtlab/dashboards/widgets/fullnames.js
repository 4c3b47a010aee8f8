// The full name of a run as a tooltip of its short one, anywhere in the page.
const PLACES = "td, th, option, .traces, .annotation";
const bare = (text) => text.replace(/\s+/g, ""); // plotly breaks long names into lines

// A legend may say more than the name: "tied (2 spikes)".
const named = (place, short) => {
  const text = bare(place.textContent);
  return place.matches(".traces") ? text.startsWith(bare(short)) : text === bare(short);
};

function render({ model, el }) {
  el.hidden = true;
  const explain = (event) => {
    const place = event.target.closest?.(PLACES);
    if (!place) return;
    const all = Object.entries(model.get("names")).sort(([a], [b]) => b.length - a.length);
    const [, full] = all.find(([short]) => named(place, short)) ?? [];
    if (!full) return;
    if (place instanceof HTMLElement) return void (place.title = full);
    place.querySelector("title")?.remove();
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = full;
    place.prepend(title);
  };
  document.addEventListener("mouseover", explain);
  return () => document.removeEventListener("mouseover", explain);
}

export default { render };
