// Small plots of the last minutes: lines of our own, in SVG.

const SVG = 'http://www.w3.org/2000/svg';
const KEPT = 180; // looks, one a second
const FEWEST = 60; // fill the width, so that a young plot is seen
const [WIDTH, HEIGHT] = [180, 36];

// Trails are the last values of many names; what is missing is a gap.
export class Trails {
  #of = new Map();

  // add takes in the values of one look, by name.
  add(values) {
    for (const name of values.keys()) if (!this.#of.has(name)) this.#of.set(name, []);
    for (const [name, trail] of this.#of) {
      const value = values.get(name);
      trail.push(Number.isFinite(value) ? value : null);
      if (trail.length > KEPT) trail.shift();
      if (trail.every((v) => v === null)) this.#of.delete(name);
    }
  }

  of(name) {
    return this.#of.get(name) || [];
  }

  clear() {
    this.#of.clear();
  }
}

// spark makes an empty plot. It is for the eye: the number beside it says the same.
export function spark() {
  const svg = document.createElementNS(SVG, 'svg');
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', class: 'spark', 'aria-hidden': 'true' })) svg.setAttribute(name, value);
  for (const part of ['area', 'line']) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('class', part);
    svg.append(path);
  }
  return svg;
}

// draw shows a trail, the newest at the right, from 0 or the least below it to the
// most, or to top.
export function draw(svg, trail, top = 0) {
  const known = trail.filter((v) => v !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(top, low + 1e-9, ...known);
  const apart = WIDTH / (Math.max(FEWEST, trail.length) - 1);
  const x = (i) => (WIDTH - (trail.length - 1 - i) * apart).toFixed(1);
  const y = (v) => (HEIGHT - 2 - ((v - low) / (high - low)) * (HEIGHT - 4)).toFixed(1);
  let line = '';
  let area = '';
  for (let i = 0; i < trail.length; i++) {
    if (trail[i] === null) continue;
    const begins = i === 0 || trail[i - 1] === null;
    const at = `${x(i)},${y(trail[i])}`;
    line += `${begins ? 'M' : 'L'}${at}`;
    area += begins ? `M${x(i)},${HEIGHT}L${at}` : `L${at}`;
    if (i === trail.length - 1 || trail[i + 1] === null) area += `L${x(i)},${HEIGHT}Z`;
  }
  const [filled, drawn] = svg.children;
  if (drawn.getAttribute('d') !== line) {
    drawn.setAttribute('d', line);
    filled.setAttribute('d', area);
  }
  svg.dataset.points = String(known.length);
}
