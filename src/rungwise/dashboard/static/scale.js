// Scales: from values to places and back, with marks that a person would choose.

export function linear(low, high, from, to) {
  const span = high - low || 1;
  const at = (value) => from + ((value - low) / span) * (to - from);
  at.invert = (place) => low + ((place - from) / (to - from || 1)) * span;
  at.ticks = (most) => linearTicks(low, high, most);
  at.domain = [low, high];
  return at;
}

export function log(low, high, from, to) {
  const start = Math.log(low);
  const span = Math.log(high) - start || 1;
  const at = (value) => from + ((Math.log(Math.max(value, low * 1e-9)) - start) / span) * (to - from);
  at.invert = (place) => Math.exp(start + ((place - from) / (to - from || 1)) * span);
  at.ticks = (most) => logTicks(low, high, most);
  at.domain = [low, high];
  return at;
}

export function ordinal(options, from, to) {
  const places = new Map(options.map((option, index) => [JSON.stringify(option), index]));
  const step = options.length > 1 ? (to - from) / (options.length - 1) : 0;
  const at = (value) => {
    const index = places.get(JSON.stringify(value));
    if (index === undefined) return null;
    return options.length > 1 ? from + index * step : (from + to) / 2;
  };
  at.ticks = (most) => {
    const every = Math.max(1, Math.ceil(options.length / Math.max(1, most)));
    return options.filter((_, index) => index % every === 0);
  };
  at.options = options;
  return at;
}

export function linearTicks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) {
    ticks.push(Number((index * step).toPrecision(12)));
  }
  return ticks;
}

function logTicks(low, high, most) {
  const first = Math.floor(Math.log10(low));
  const last = Math.ceil(Math.log10(high));
  const factors = last - first <= most / 3 ? [1, 2, 5] : [1];
  let ticks = [];
  for (let power = first; power <= last; power += 1) {
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(12)));
  }
  ticks = ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
  if (ticks.length < 2) return linearTicks(low, high, most);
  const every = Math.ceil(ticks.length / Math.max(1, most));
  return ticks.filter((_, index) => index % every === 0);
}

// The scale of a parameter, as the study describes it; options that it does not list are added.
export function forParameter(parameter, values, from, to) {
  if (parameter.kind === "options") {
    const known = new Set(parameter.options.map((option) => JSON.stringify(option)));
    const more = [];
    for (const value of values) {
      const key = JSON.stringify(value);
      if (value !== undefined && !known.has(key)) {
        known.add(key);
        more.push(value);
      }
    }
    if (more.length && !parameter.options.length && more.every((value) => typeof value === "number")) {
      return linear(Math.min(...more), Math.max(...more), from, to);
    }
    return ordinal([...parameter.options, ...more], from, to);
  }
  const make = parameter.kind === "log" ? log : linear;
  return make(parameter.low, parameter.high, from, to);
}

export function quantile(sorted, share) {
  if (!sorted.length) return null;
  const place = (sorted.length - 1) * share;
  const low = Math.floor(place);
  const high = Math.ceil(place);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
}

export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || value === undefined || Number.isNaN(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}
