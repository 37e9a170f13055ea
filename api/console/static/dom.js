// Pieces of the page. Whatever comes from outside becomes text and nothing else: the
// page's policy lets no script make markup out of it.

export const $ = (id) => document.getElementById(id);

// plain shows the characters that turn the direction of what stands around them as
// the box of what cannot be shown: with them a title could reorder the sentence that is confirmed.
const plain = (value) => String(value ?? '').replace(/[\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

// text writes only what changed, so that nobody loses a selection.
export function text(node, value) {
  const now = plain(value);
  if (node.textContent !== now) node.textContent = now;
}

export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

// mark sets or takes away an attribute data-….
export function mark(node, name, value) {
  if (value === '' || value === undefined) delete node.dataset[name];
  else if (node.dataset[name] !== value) node.dataset[name] = value;
}

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.map((child) => (child instanceof Node ? child : plain(child))));
  return node;
}

// keyed makes the children of parent follow a list: who is there already stays where
// the focus is, and is filled again.
export function keyed(parent, list, key, make, fill) {
  const old = new Map(Array.from(parent.children, (child) => [child.dataset.key, child]));
  let place = parent.firstElementChild;
  for (const item of list) {
    const name = key(item);
    let child = old.get(name);
    old.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
    }
    if (child === place) place = place.nextElementSibling;
    else parent.insertBefore(child, place);
    fill(child, item);
  }
  for (const child of old.values()) child.remove();
}

// row makes a row of a table; the first cell is its heading.
export function row(cells) {
  const tr = el('tr', { role: 'row' });
  cells.forEach((name, i) => {
    const cell = i === 0 ? el('th', { role: 'rowheader', scope: 'row' }) : el('td', { role: 'cell' });
    cell.dataset.cell = name;
    tr.append(cell);
  });
  return tr;
}

export const cell = (tr, name) => tr.querySelector(`[data-cell="${name}"]`);
