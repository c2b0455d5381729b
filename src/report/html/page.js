// The report page: a list of findings with filters, and one of them in full with its timeline.
// The result is in the element "result", as `heddle report --format json` writes it (without the
// witnesses' positions). Nothing is loaded from anywhere.
'use strict';
(() => {
const result = JSON.parse(document.getElementById('result').textContent);
const $ = id => document.getElementById(id);

// An element with attributes and children; text children are text, never markup. A style goes
// through the element's own: a page that forbids inline styles ignores the attribute.
function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes || {}))
    if (k === 'style') e.style.cssText = v;
    else if (v !== undefined && v !== null && v !== false) e.setAttribute(k, v === true ? '' : v);
  for (const c of children.flat(9)) if (c !== null && c !== undefined && c !== false) e.append(c);
  return e;
}
const capital = s => s.charAt(0).toUpperCase() + s.slice(1);
const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

const MEANING = {
  confirmed: 'it happened on the real program',
  witnessed: 'a reordering of the recorded events leads there, and the independent checker accepted it',
  observed: 'all synchronisation of this execution was recorded, and none of it orders the two accesses: by the C and C++ standards the execution has this data race',
  guaranteed: 'no choice of which write each read saw would order the two accesses',
  maybe: 'no synchronisation that was recorded orders the two accesses',
  predicted: 'synchronisation orders the two accesses in this recording; the engines hold another order possible, but no schedule shows it',
  possible: 'an engine holds an order possible in which nothing orders the two accesses, but no schedule shows it',
  potential: 'no common lock protects the two accesses, but something else might order them',
};

// A race that engines only predicted: happens-before orders the two accesses, or was not asked.
const OBSERVING = ['fasttrack', 'hb', 'shb', 'sshb', 'litehb', 'fullhb'];
function isPredicted(d) {
  return d.strength === 'maybe' && d.accesses && !d.engines.some(e => OBSERVING.includes(e));
}
function meaningOf(d) {
  if (d.strength === 'observed' && (d.accesses || []).some(a => (a.thread_name || '').startsWith('OpenMP ')))
    return 'all synchronisation of this execution was recorded, and none of it orders the two accesses: OpenMP lets two threads make them, whichever did so here';
  if (d.strength === 'observed' && d.kind === 'fd-race')
    return 'all synchronisation of this execution was recorded, and none of it orders closing the descriptor and using it';
  if (!isPredicted(d)) return MEANING[d.strength] || '';
  return MEANING[result.engines.some(e => OBSERVING.includes(e.name)) ? 'predicted' : 'possible'];
}

// ---- findings: races, then deadlocks ----

const place = s => {
  const own = (s.stack || []).find(f => f.file && !/^\/usr\/(include|lib)/.test(f.file));
  return own ? `${own.file}:${own.line}${own.column ? ':' + own.column : ''}` : s.location;
};
const short = p => p.replace(/^.*\/(?=[^/]+$)/, '');
const findings = [
  ...result.races.map((r, i) => ({
    kind: 'race', n: i + 1, data: r, title: r.kind ? `${r.kind} on ${r.variable}` : r.variable, sides: r.accesses,
    where: r.accesses.map(a => `${a.op} ${short(place(a))}`).join('  ·  ') })),
  ...result.deadlocks.map((d, i) => ({
    kind: 'deadlock', n: result.races.length + i + 1, data: d,
    title: 'deadlock: ' + d.requests.map(r => r.lock).join(', '), sides: d.requests,
    where: d.requests.map(r => short(place(r))).join('  ·  ') })),
];
for (const f of findings) {
  f.id = f.data.id;
  f.text = [f.id, f.title, f.data.strength, ...(f.data.engines || []), ...f.sides.flatMap(s =>
    [s.thread, s.thread_name, s.op, s.location, s.function, ...(s.locks || []),
     ...(s.stack || []).flatMap(x => [x.function, x.file])])].filter(Boolean).join('\n').toLowerCase();
}

// ---- the list ----

const state = { text: '', strengths: new Set(), engine: '', current: null, shown: [] };

function makeList() {
  $('list').append(...findings.map(f => {
    f.link = el('a', { href: '#' + f.id },
      el('span', { class: 'what' }, el('span', { class: 'mono' }, '#' + f.n), el('b', {}, f.title),
        el('span', { class: 'strength ' + f.data.strength }, f.data.strength)),
      el('span', { class: 'where mono' }, f.where));
    f.row = el('li', {}, f.link);
    return f.row;
  }));
}

function makeFilters() {
  const strengths = [...new Set(findings.map(f => f.data.strength))];
  for (const s of strengths) {
    const b = el('button', { type: 'button', 'aria-pressed': 'false', 'data-strength': s },
      `${s} ${findings.filter(f => f.data.strength === s).length}`);
    b.addEventListener('click', () => {
      if (!state.strengths.delete(s)) state.strengths.add(s);
      b.setAttribute('aria-pressed', String(state.strengths.has(s)));
      filter();
    });
    $('filters').insertBefore(b, $('count'));
  }
  const engines = [...new Set(findings.flatMap(f => f.data.engines || []))];
  if (engines.length > 1) {
    const select = el('select', { id: 'engine', 'aria-label': 'found by engine' },
      el('option', { value: '' }, 'any engine'), engines.map(e => el('option', { value: e }, e)));
    select.addEventListener('change', () => { state.engine = select.value; filter(); });
    $('filters').insertBefore(select, $('count'));
  }
  $('search').addEventListener('input', () => { state.text = $('search').value.trim().toLowerCase(); filter(); });
}

function filter() {
  const words = state.text.split(/\s+/).filter(Boolean);
  state.shown = findings.filter(f => {
    const shown = words.every(w => f.text.includes(w)) &&
      (!state.strengths.size || state.strengths.has(f.data.strength)) &&
      (!state.engine || (f.data.engines || []).includes(state.engine));
    if (f.row.hidden === shown) f.row.hidden = !shown;
    return shown;
  });
  $('count').textContent = findings.length ? `${state.shown.length} of ${findings.length}` : '';
}

function move(by) {
  const at = state.shown.indexOf(state.current);
  const next = state.shown[Math.max(0, Math.min(state.shown.length - 1, at < 0 ? 0 : at + by))];
  if (next) show(next, true);
}

function show(f, scroll) {
  if (state.current) state.current.link.removeAttribute('aria-current');
  state.current = f;
  f.link.setAttribute('aria-current', 'true');
  if (scroll) f.link.scrollIntoView({ block: 'nearest' });
  if (location.hash !== '#' + f.id) history.replaceState(null, '', '#' + f.id);
  $('detail').replaceChildren(...detail(f).filter(Boolean));
  timeline.attach();
}

// ---- one finding ----

function sourceOf(s) {
  if (!s.source) return null;
  return el('pre', { class: 'source', title: s.source.location }, s.source.text.map((line, i) =>
    el('span', { class: i === s.source.marked ? 'marked' : null },
      el('i', {}, String(s.source.line + i)), line)));
}

const frameText = x => x.file ? `${x.file}:${x.line}` : x.location || '';
function stackOf(stack, omitted) {
  if (!stack || !stack.length) return null;
  return el('ol', { class: 'stack mono', start: '0' }, stack.map(x => el('li', {},
    x.function || '?', x.inlined ? ' (inlined)' : '', ' ', el('span', { class: 'at' }, frameText(x)))),
    omitted ? el('li', {}, `… ${omitted} more`) : null);
}

function locksOf(s) {
  const held = s.held || [];
  if (!held.length) return 'none';
  return held.map((l, i) => [i ? ', ' : '', el('code', {}, l.lock), l.shared ? ' shared' : '',
    l.location ? ` (taken at ${short(l.location)})` : '']);
}

function sideOf(s, label) {
  const row = (name, ...value) => [el('dt', {}, name), el('dd', {}, ...value)];
  return el('section', { class: 'side' },
    el('h4', {}, `${label}: ${s.op} by ${s.thread}${s.thread_name ? ` (${s.thread_name})` : ''}`),
    el('code', {}, place(s)), s.function ? [' in ', el('code', {}, s.function)] : null,
    sourceOf(s),
    el('dl', {},
      s.value !== undefined ? row('value', el('code', {}, s.old !== undefined ? `${s.value} over ${s.old}` : s.value)) : null,
      s.bytes ? row('size', plural(s.bytes, 'byte')) : null,
      s.order ? row('order', s.order) : null,
      s.locks_unknown ? null : row('locks held', locksOf(s)),
      s.lock ? row('waits for', el('code', {}, s.lock), s.holder ? `, held by ${s.holder.thread} (taken at ${short(s.holder.location)})` : '') : null,
      s.created ? row('thread', `created by ${s.created.thread} at ${short(s.created.location)}`) : null,
      row('event', String(s.event))),
    stackOf(s.stack, s.stack_omitted));
}

// Another race without which this one would be ordered.
function causeOf(d) {
  const id = d.follows_from || d.may_follow_from, cause = findings.find(f => f.id === id);
  return el('p', {}, `${d.may_follow_from ? 'May follow' : 'Follows'} from race ${cause ? cause.n : id + ', which is not listed'}: ` +
    `if ${cause ? cause.title : 'its accesses'} were atomic${d.may_follow_from ? ' and the read saw the write' : ''}, this would be ordered.`);
}

function detail(f) {
  const d = f.data;
  const engines = d.engines || [];
  const labels = f.kind === 'race' ? ['first', 'second'] : d.requests.map((_, i) => 'request ' + (i + 1));
  return [
    el('h2', {}, f.kind === 'race' ? 'Data race on ' : '', f.title, ' ',
      el('span', { class: 'strength ' + d.strength }, d.strength)),
    el('p', { class: 'meaning' }, `${capital(meaningOf(d))}. Seen ${plural(d.count, 'time')}, found by ${engines.join(', ')}` +
      `${d.decided_by && engines.length > 1 ? `; decided by ${d.decided_by}` : ''}. `, el('code', {}, d.id)),
    d.doubt && !isPredicted(d) ? el('p', {}, `Not observed: ${d.doubt}.`) : null,
    d.follows_from || d.may_follow_from ? causeOf(d) : null,
    d.strength === 'observed' && d.independent ? el('p', {}, 'Independent: fixing another race would not order the two accesses.') : null,
    el('div', { class: 'sides' }, f.sides.map((s, i) => sideOf(s, labels[i]))),
    d.thread_local_of ? el('p', {}, `Thread-local storage of ${d.thread_local_of}.`) : null,
    d.allocated ? el('p', {}, d.allocated.is_stack ? `${d.allocated.maybe_thread_local ? 'Stack or thread-local memory' : 'Stack'} of ${d.allocated.thread}.`
      : `Byte ${d.allocated.offset} of ${d.allocated.bytes} allocated by ${d.allocated.thread} at `,
      d.allocated.is_stack ? null : el('code', {}, d.allocated.location)) : null,
    timeline.make(f),
  ];
}

// ---- the timeline: a lane per thread, time goes down ----

const timeline = (() => {
  const LANES = 6;
  let steps = [], observed = false, at = 0, timer = null, ends = 2, grid = null, cells = [];

  // What an operation does: "w(x=1)", "acq(L)", "load.acq(x=1)", "fork(T1)".
  function parse(operation) {
    const m = /^t?([a-z]+)(?:\.\w+)?(?:\((.*)\))?$/.exec(operation) || [];
    const target = (m[2] || '').replace(/[=:].*$/, '');
    return { op: m[1] || '', target };
  }

  function order() {
    const list = steps.slice();
    list.sort((a, b) => observed ? a.event - b.event : a.step - b.step);
    return list;
  }

  // Edges of the shown order: who released what another took, forked, wrote what another read.
  function edgesOf(list) {
    const edges = [], released = new Map(), written = new Map(), forked = new Map(), last = new Map();
    list.forEach((s, i) => {
      const { op, target } = s.parsed;
      if (!last.has(s.thread) && forked.has(s.thread)) edges.push([forked.get(s.thread), i, 'thread']);
      if (op === 'join' && last.has(target)) edges.push([last.get(target), i, 'thread']);
      if (op.startsWith('acq') && released.has(target) && list[released.get(target)].thread !== s.thread)
        edges.push([released.get(target), i, 'lock']);
      if (['r', 'load', 'rmw'].includes(op) && written.has(target) && list[written.get(target)].thread !== s.thread)
        edges.push([written.get(target), i, 'flow']);
      if (op.startsWith('rel')) released.set(target, i);
      if (['w', 'store', 'rmw'].includes(op)) written.set(target, i);
      if (op === 'fork') forked.set(target, i);
      last.set(s.thread, i);
    });
    return edges;
  }

  function draw() {
    const list = order();
    const threads = [...new Set(steps.map(s => s.thread))];
    grid.style.gridTemplateColumns = `auto repeat(${threads.length}, minmax(max-content, 1fr))`;
    cells = list.map((s, i) => {
      const box = el('span', { class: 'step', style: `--lane: var(--t${threads.indexOf(s.thread) % LANES})`, title: s.location },
        el('code', {}, s.operation), el('span', { class: 'at mono' }, short(s.location)));
      if (s.racing) box.classList.add('race');
      box.addEventListener('click', () => go(i));
      return box;
    });
    grid.replaceChildren(el('div', { class: 'head' }, observed ? 'event' : 'step'),
      ...threads.map(t => el('div', { class: 'head' }, t)),
      ...list.flatMap((s, i) => [el('div', { class: 'number' }, String(observed ? s.event : s.step)),
        ...threads.map(t => el('div', { class: 'cell' }, t === s.thread ? cells[i] : null))]));
    drawEdges(edgesOf(list));
    mark();
  }

  function drawEdges(edges) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const base = grid.getBoundingClientRect();
    for (const [from, to, kind] of edges) {
      const a = cells[from].getBoundingClientRect(), b = cells[to].getBoundingClientRect();
      const right = a.left < b.left;
      const x1 = (right ? a.right : a.left) - base.left, y1 = (a.top + a.bottom) / 2 - base.top;
      const x2 = (right ? b.left : b.right) - base.left, y2 = (b.top + b.bottom) / 2 - base.top;
      const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
      const bend = Math.max(20, Math.abs(x2 - x1) / 2) * (right ? 1 : -1);
      path.setAttribute('d', `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`);
      path.setAttribute('class', kind);
      svg.append(path);
    }
    grid.append(svg);
  }

  function mark() {
    cells.forEach((c, i) => {
      c.classList.toggle('later', i > at);
      c.classList.toggle('now', i === at);
    });
    const status = $('step-status');
    if (status) status.textContent = `step ${at + 1} of ${cells.length}`;
  }

  function go(i) {
    at = Math.max(0, Math.min(cells.length - 1, i));
    mark();
  }

  function play() {
    const button = $('play');
    if (timer) {
      clearInterval(timer);
      timer = null;
    } else {
      if (at >= cells.length - 1) go(0);
      timer = setInterval(() => { if (at >= cells.length - 1) play(); else go(at + 1); }, 500);
    }
    if (button) { button.textContent = timer ? 'pause' : 'play'; button.setAttribute('aria-pressed', String(!!timer)); }
  }

  function toggle() {
    observed = !observed;
    for (const b of document.querySelectorAll('[data-order]'))
      b.setAttribute('aria-pressed', String((b.dataset.order === 'observed') === observed));
    draw();
    go(cells.length - 1);
  }

  function buttons() {
    const b = (id, label, action) => {
      const e = el('button', { type: 'button', id }, label);
      e.addEventListener('click', action);
      return e;
    };
    const o = (name, label) => {
      const e = el('button', { type: 'button', 'data-order': name, 'aria-pressed': String((name === 'observed') === observed) }, label);
      e.addEventListener('click', () => { if ((name === 'observed') !== observed) toggle(); });
      return e;
    };
    return el('div', { class: 'bar' }, o('witness', 'the schedule'), o('observed', 'as observed'),
      b('first', '|◀', () => go(0)), b('back', '◀', () => go(at - 1)), b('next', '▶', () => go(at + 1)),
      b('last', '▶|', () => go(cells.length - 1)), b('play', 'play', play),
      el('span', { class: 'at', id: 'step-status', 'aria-live': 'polite' }));
  }

  function make(f) {
    if (timer) play();
    grid = null;
    observed = false;
    ends = f.kind === 'race' ? 2 : f.data.requests.length;
    const schedule = f.data.schedule || [];
    if (!schedule.length) return el('p', { class: 'legend' }, 'There is no schedule for this one.');
    const racing = new Set(f.sides.map(s => s.event));
    steps = schedule.map((s, i) => ({ ...s, parsed: parse(s.operation),
      racing: i >= schedule.length - ends && racing.has(s.event) }));
    grid = el('div', { class: 'lanes', id: 'lanes' });
    const whole = schedule[schedule.length - 1].step + 1;
    return el('section', {}, el('h3', {}, f.kind === 'race' ? 'A schedule that makes them meet' : 'A schedule that ends there'),
      ...(f.data.changes || []).map(c => el('p', { class: 'legend' }, `If ${c.thread || 'a thread'} reads ${c.variable || 'memory'}` +
        (c.value === undefined ? ' otherwise' : ` = ${c.value}`) + (c.written_at ? ` (written at ${c.written_at})` : '') +
        (c.recorded === undefined ? '' : ` instead of ${c.recorded}`) +
        (c.branch_at ? `, the branch at ${c.branch_at} still holds.` : ', no branch before the two accesses goes another way.'))),
      buttons(), el('div', { class: 'lanes-scroll' }, grid),
      el('p', { class: 'legend' }, whole > schedule.length ? `${schedule.length} of ${whole} steps: near the end, the last ones of each thread and where another takes over. ` : '',
        el('b', { style: 'color: var(--t3)' }, '— '), 'lock handed over  ', el('b', { style: 'color: var(--t0)' }, '— '), 'thread started or joined  ',
        el('b', { style: 'color: var(--t1)' }, '- - '), 'written and read'));
  }

  return {
    make, toggle, play,
    attach() { if (grid) { draw(); go(cells.length - 1); } },
    redraw() { if (grid) { const keep = at; draw(); go(keep); } },
    step(by) { if (grid) go(at + by); },
    get at() { return at; },
  };
})();

// ---- keys ----

function key(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target.matches && e.target.matches('input, select')) {
    if (e.key === 'Escape' || (e.key === 'Enter' && e.target.id === 'search')) { e.target.blur(); if (e.key === 'Enter') move(0); }
    return;
  }
  const keys = {
    j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1),
    ArrowRight: () => timeline.step(1), ArrowLeft: () => timeline.step(-1),
    o: () => timeline.toggle(), ' ': () => timeline.play(), '/': () => $('search').focus(),
  };
  if (e.key === ' ' && e.target.matches && e.target.matches('button, a')) return;
  if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
}

function fillHeader() {
  const t = result.trace;
  const n = result.races.length, d = result.deadlocks.length;
  $('title').textContent = `${n || !d ? plural(n, 'race') : ''}${n && d ? ' and ' : ''}${d ? plural(d, 'deadlock') : ''} in ${t.path}`;
  document.title = $('title').textContent + ' - heddle';
  const incomplete = result.engines.flatMap(e => (e.undecided || []).map(u => `${e.name} is incomplete: ${u}`));
  $('facts').textContent = [plural(t.events, 'event'), plural(t.threads, 'thread'),
    'engines ' + result.engines.map(e => e.name).join(', '),
    ...incomplete,
    t.modules && t.modules.untraced.length ? plural(t.modules.untraced.length, 'module') + ' not traced' : '',
    result.suppressed ? `${result.suppressed} suppressed` : '', result.known ? `${result.known} known` : '',
    t.lost ? 'lost: ' + t.lost.reason : ''].filter(Boolean).join(' · ');
}

fillHeader();
makeList();
makeFilters();
filter();
document.addEventListener('keydown', key);
addEventListener('resize', () => timeline.redraw());
addEventListener('hashchange', () => {
  const f = findings.find(x => '#' + x.id === location.hash);
  if (f && f !== state.current) show(f, true);
});
const first = findings.find(f => '#' + f.id === location.hash) || findings[0];
if (first) show(first, false);
else $('detail').replaceChildren(el('p', { class: 'empty' }, 'No race was found.'));
})();
