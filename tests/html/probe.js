// Appended to a page by run.py: uses it as a person would, and leaves what it saw in #probe.
(async () => {
const faults = [];
const $ = id => document.getElementById(id);
const expect = (what, ok) => { if (!ok) faults.push(what); };
const press = (k, target) => (target || document.body).dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true }));
const frame = () => new Promise(r => setTimeout(r, 20));
const rows = () => [...document.querySelectorAll('#list li')].filter(r => !r.hidden);
const current = () => document.querySelector('#list a[aria-current=true]');
let slowest = 0;
try {
async function timed(name, action) {
  const start = performance.now();
  action();
  document.body.offsetHeight; // layout is part of it
  slowest = Math.max(slowest, performance.now() - start);
  await frame();
}
const total = EXPECTED.total;
expect('rows', rows().length === total);
expect('first is shown', current() && current().getAttribute('href') === '#' + EXPECTED.ids[0]);
expect('both sides', document.querySelectorAll('.side').length === 2);
expect('source is marked', document.querySelectorAll('pre.source .marked').length === 2);
expect('no overflow', document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1);
// keys move through the list
await timed('j', () => press('j'));
expect('j', current().getAttribute('href') === '#' + EXPECTED.ids[1]);
await timed('k', () => press('k'));
expect('k', current().getAttribute('href') === '#' + EXPECTED.ids[0]);
// the timeline
const cells = () => [...document.querySelectorAll('.lanes .step')];
const now = () => cells().findIndex(c => c.classList.contains('now'));
expect('lanes', document.querySelectorAll('.lanes .head').length === 1 + EXPECTED.threads);
expect('steps', cells().length === EXPECTED.steps);
expect('ends at the race', now() === EXPECTED.steps - 1);
expect('two race', document.querySelectorAll('.lanes .step.race').length === 2);
expect('edges', document.querySelectorAll('.lanes svg path').length >= 2);
expect('lock edge', document.querySelectorAll('.lanes svg path.lock').length === EXPECTED.lockEdges);
await timed('left', () => press('ArrowLeft'));
expect('left', now() === EXPECTED.steps - 2);
expect('later is faint', cells()[EXPECTED.steps - 1].classList.contains('later'));
await timed('right', () => press('ArrowRight'));
expect('right', now() === EXPECTED.steps - 1);
$('first').click();
expect('first button', now() === 0);
cells()[2].click();
expect('click on a step', now() === 2);
const witness = cells().map(c => c.textContent).join();
await timed('o', () => press('o'));
expect('observed order differs', cells().map(c => c.textContent).join() !== witness);
await timed('o', () => press('o'));
expect('and back', cells().map(c => c.textContent).join() === witness);
press(' ');
expect('plays', $('play').getAttribute('aria-pressed') === 'true');
press(' ');
expect('pauses', $('play').getAttribute('aria-pressed') === 'false');
// filters
press('/');
expect('/ focuses', document.activeElement === $('search'));
const type = text => { $('search').value = text; $('search').dispatchEvent(new Event('input', { bubbles: true })); };
await timed('type', () => type('variable_7'));
expect('text filter', rows().length === EXPECTED.seven);
press('Enter', $('search'));
expect('enter shows one', rows().some(r => r.contains(current())));
await timed('type', () => type('no such thing'));
expect('nothing', rows().length === 0);
await timed('clear', () => type(''));
expect('all again', rows().length === total);
const strength = document.querySelector('[data-strength=maybe]');
await timed('strength', () => strength.click());
expect('strength filter', rows().length === EXPECTED.maybe);
await timed('strength', () => strength.click());
$('engine').value = 'syncp';
await timed('engine', () => $('engine').dispatchEvent(new Event('change')));
expect('engine filter', rows().length === EXPECTED.syncp);
$('engine').value = '';
$('engine').dispatchEvent(new Event('change'));
// texts of the result are never markup
expect('no markup from data', !document.querySelector('main b.evil, #list b.evil') && !window.evil);
} catch (e) {
  faults.push(String(e));
}
const style = getComputedStyle(document.body);
document.body.append(Object.assign(document.createElement('pre'), { id: 'probe',
  textContent: JSON.stringify({ faults, slowest, colours: [style.color, style.backgroundColor] }) }));
})();
