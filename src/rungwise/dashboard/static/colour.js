// Colours that people who see fewer of them can tell apart, in light and in dark.

const LIGHT = {
  ink: "#1c2333", soft: "#5a6478", faint: "#c3cad6", grid: "#e6e9f0", card: "#ffffff", accent: "#2f4ba0",
  best: "#c2410c", marks: ["#0072b2", "#d55e00", "#009e73", "#b0478a", "#8a6d00", "#3b8ec2", "#555f70"],
  ramp: ["#1a2c6b", "#2c5aa0", "#3a8a9e", "#6fae7d", "#c2b849", "#e08a2c"],
};
const DARK = {
  ink: "#e8ecf4", soft: "#a3adc0", faint: "#4a556b", grid: "#2a3345", card: "#171e2c", accent: "#8fb0ff",
  best: "#ff9f5a", marks: ["#56b4e9", "#f0904d", "#2fc493", "#e08ac0", "#e6c34a", "#8cc6f0", "#aab3c2"],
  ramp: ["#ffd166", "#f4a259", "#d17b88", "#a06bb5", "#6a78c9", "#4d6fb0"],
};

export function palette() {
  return isDark() ? DARK : LIGHT;
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

// A colour between the first (0) and the last (1) of the ramp.
export function ramp(share) {
  const colours = palette().ramp;
  const place = Math.min(Math.max(share, 0), 1) * (colours.length - 1);
  const index = Math.min(Math.floor(place), colours.length - 2);
  return mix(colours[index], colours[index + 1], place - index);
}

function mix(one, other, share) {
  const parts = [1, 3, 5].map((at) => {
    const a = parseInt(one.slice(at, at + 2), 16);
    const b = parseInt(other.slice(at, at + 2), 16);
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}

// What became of a job, and of a trial; each has a sign too, so that colour is never alone.
export const HOW = {
  paused: [0, "paused at a rung"],
  stopped: [6, "stopped"],
  completed: [2, "trained to the maximum"],
  failed: [1, "failed"],
  lost: [4, "lost, started again"],
  ended: [3, "ended by itself"],
  "": [5, "running"],
};

export function howColour(how) {
  return palette().marks[(HOW[how] || HOW.ended)[0]];
}
