/** Dark or light: as the system says, or as the user chose on this page before. */
const KEY = "k8ts-theme";

export function applyTheme(): void {
  document.documentElement.dataset.theme = currentTheme();
}

export function toggleTheme(): void {
  localStorage.setItem(KEY, currentTheme() === "dark" ? "light" : "dark");
  applyTheme();
}

function currentTheme(): "dark" | "light" {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "dark" || chosen === "light") return chosen;
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}
