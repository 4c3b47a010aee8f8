// Figures in the colours of the page, light or dark. DARK, which precedes this, has the dark partner of each colour.
const LIGHT = Object.fromEntries(Object.entries(DARK).map(([light, dark]) => [dark, light]));

const isDark = (element) => {
  const scheme = getComputedStyle(element).colorScheme;
  return scheme === "dark" || (scheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches);
};

const partnerOf = (colour, partners) => {
  const numbers = colour.match(/^rgba?\((\d+), ?(\d+), ?(\d+)(?:, ?([\d.]+))?\)$/);
  if (!numbers) return partners[colour] ?? colour;
  const hex = "#" + numbers.slice(1, 4).map((part) => Number(part).toString(16).padStart(2, "0")).join("");
  if (!(hex in partners)) return colour;
  const parts = [1, 3, 5].map((place) => parseInt(partners[hex].slice(place, place + 2), 16));
  return `rgba(${parts},${numbers[4] ?? 1})`;
};

// Only what a key calls a colour is one: a text may be the word "#ffffff".
const recoloured = (value, partners, key = "") => {
  if (typeof value === "string") return key.includes("color") ? partnerOf(value, partners) : value;
  if (Array.isArray(value)) return value.map((one) => recoloured(one, partners, key));
  if (!value || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, recoloured(one, partners, name)]));
};

const figureOf = (spec, element) => (isDark(element) ? recoloured(JSON.parse(spec), DARK) : JSON.parse(spec));

// Calls `answer` when the scheme may have changed; returns a function that ends this.
const onScheme = (answer) => {
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const chosen = new MutationObserver(answer);
  preferred.addEventListener("change", answer);
  for (const one of [document.documentElement, document.body]) {
    chosen.observe(one, { attributeFilter: ["style", "data-jp-theme-light"] });
  }
  return () => {
    preferred.removeEventListener("change", answer);
    chosen.disconnect();
  };
};
