// Figures, times and configurations as a person reads them: the only place that formats them.

export const NONE = "–";

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(0, digits - 1)).replace(/\.?0+e/, "e").replace("e+", "e");
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(digits)));
}

export function count(value) {
  return value === null || value === undefined ? NONE : Number(value).toLocaleString("en", { maximumFractionDigits: 1 });
}

export function plural(value, noun) {
  return `${count(value)} ${noun}${value === 1 ? "" : "s"}`;
}

// An amount of training: 81 epochs, or just 81 where its unit has no name.
export function amount(value, unit) {
  if (unit === "resource" || value === null || value === undefined) return count(value);
  return `${count(value)} ${value === 1 ? unit.replace(/s$/, "") : unit}`;
}

// Where in a training something was: at 81 epochs, at resource 81.
export function place(value, unit) {
  return `at ${unit === "resource" ? `resource ${count(value)}` : amount(value, unit)}`;
}

export function percent(share) {
  return share === null || share === undefined ? NONE : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${(seconds / 86400).toFixed(1)} days`;
}

export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  let rest = value;
  for (const unit of ["bytes", "kB", "MB", "GB"]) {
    if (rest < 1000) return `${rest < 10 && unit !== "bytes" ? rest.toFixed(1) : Math.round(rest)} ${unit}`;
    rest /= 1000;
  }
  return `${rest.toFixed(1)} TB`;
}

// A time of the study's file, in the time zone of whoever looks.
export function localTime(text) {
  const time = new Date(text);
  return text && !Number.isNaN(time.getTime()) ? time.toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : "";
}

export function value(item) {
  if (typeof item === "number") return Number.isInteger(item) ? String(item) : number(item);
  if (typeof item === "string") return item;
  return item === undefined ? "" : JSON.stringify(item);
}

export function config(object) {
  return Object.entries(object).map(([name, item]) => `${name}=${value(item)}`).join("  ");
}
