"use strict";
// What every page has: light or dark.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const name = document.getElementById("theme-name");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    name.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(isDark()));
  };
  const kept = () => {
    try { return localStorage.getItem("showthrough-theme"); } catch { return null; }
  };
  const keep = (theme) => {
    try { localStorage.setItem("showthrough-theme", theme); } catch { /* pages opened from disk may keep nothing */ }
  };
  const before = kept();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
})();
