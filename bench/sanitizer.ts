import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'
import type { BenchRow } from './row.ts'

type Kind = 'markdown' | 'plain'

const KIB = 1024
const SMALL = 256 * KIB
const SIZES = [SMALL, 2 * SMALL, 4 * SMALL]
/** A fourfold size takes four times as long for linear work, and sixteen times for quadratic work. */
const LIMIT = 6
/** Maximum milliseconds per mebibyte. */
const MOST_MILLISECONDS = 300

const ASCII = `The build failed because the lock file named another version than the manifest does. Compare both, then run the
installation again (it takes about a minute). If x < y the retry is cheap; otherwise raise the limit to 30 seconds first.\n`
const MIXED = `Der Übersetzer meldet „unbekanntes Symbol“ – 构建失败，因为锁文件过期了。Проверьте версию и повторите. می‌خواهم ✅ 👩‍💻 naïve café.\n`
const MARKDOWN = `## Steps\n1. Run \`npm ci\` and read <b>every</b> warning.\n\n\`\`\`html\n<div class="x">kept</div>\n\`\`\`\n\nThen <!-- a note --> go on.\n\n`

const repeat = (unit: string, size: number) => unit.repeat(Math.ceil(size / unit.length)).slice(0, size)
const nest = (open: string, middle: string, close: string, size: number) => {
  const depth = Math.floor((size - middle.length) / (open.length + close.length))
  return open.repeat(depth) + middle + close.repeat(depth)
}
const fences = (size: number) => {
  let text = ''
  for (let length = Math.floor(Math.sqrt(size)); length > 3; length -= 1) text += `${'`'.repeat(length)}x\n`
  return text + repeat('```\n', size - text.length)
}
const runs = (size: number) => {
  let text = ''
  for (let length = 1; text.length < size; length += 1) text += `${'`'.repeat(length)}a`
  return text
}

/** Inputs that make a careless sanitizer slow. */
const WORST: { name: string; make: (size: number) => string }[] = [
  { name: '<<<<', make: (size) => repeat('<', size) },
  { name: '<!--', make: (size) => repeat('<!--', size) },
  { name: '<!-', make: (size) => repeat('<!-', size) },
  { name: '<a ', make: (size) => repeat('<a ', size) },
  { name: '<a …>', make: (size) => `${repeat('<a ', size)}>` },
  { name: '<x on', make: (size) => repeat('<x on', size) },
  { name: '<b>', make: (size) => repeat('<b>', size) },
  { name: '<b && ', make: (size) => `${repeat('<b && ', size)}>` },
  { name: '<k & ', make: (size) => `${repeat('<k & <b>', size)}>` },
  { name: 'nested tags', make: (size) => nest('<', '<b>', 'b>', size) },
  { name: 'nested comments', make: (size) => nest('<!-', '<!-- -->', '- -->', size) },
  { name: 'nested handlers', make: (size) => nest('<', '<x onclick=1>', 'x onclick=1>', size) },
  { name: 'crossed tags', make: (size) => nest('<scr', '<b>', 'ipt>', size) },
  { name: 'unclosed quotes', make: (size) => repeat('<a x="', size) },
  { name: 'flipping quotes', make: (size) => repeat(`<a =" <a =' " ' `, size) },
  { name: 'quoted ends', make: (size) => repeat('<a x=">" ', size) },
  { name: '<?', make: (size) => repeat('<?a ', size) },
  { name: '<http:', make: (size) => repeat('<http:a', size) },
  { name: 'backtick runs', make: runs },
  { name: 'fences', make: fences },
  { name: 'spans', make: (size) => `${repeat('`a` ', size)}<b>` },
  { name: 'spans and tags', make: (size) => repeat('`<b>``<b>', size) },
  { name: 'spans and comments', make: (size) => repeat('`<!--`-->', size) },
  { name: 'list fences', make: (size) => repeat('- a\n  ```\n<b>\n', size) },
  { name: 'rulers', make: (size) => repeat('|-', size) },
  { name: 'blank lines', make: (size) => repeat('\n', size) },
  { name: 'spaces', make: (size) => repeat(' ', size) },
  { name: 'spaces in brackets', make: (size) => `[${repeat(' ', size)}<b>` },
  { name: 'ignore all all', make: (size) => `ignore ${repeat('all ', size)}` },
  { name: 'ignore ignore', make: (size) => repeat('ignore all the ', size) },
  { name: 'ignore + spaces', make: (size) => repeat(`ignore${' '.repeat(2000)}`, size) },
  { name: 'ignore + spaces, once', make: (size) => `ignore${repeat(' ', size)}` },
  { name: 'do not', make: (size) => repeat('do not ', size) },
  { name: 'system system', make: (size) => repeat('"system ', size) },
  { name: '####', make: (size) => repeat('#', size) },
  { name: '<|', make: (size) => repeat('<|a', size) },
  { name: 'combining marks', make: (size) => `a${repeat('\u0316\u0301', size)}` },
  { name: 'short heaps of marks', make: (size) => repeat(`a${'\u0301\u0316'.repeat(15)}`, size) },
  { name: 'unfinished emoji', make: (size) => repeat('👩\u200d', size) },
  { name: 'emoji', make: (size) => repeat('👩\u200d💻❤\ufe0f', size) },
  { name: 'flags', make: (size) => `🏴${repeat('\u{e0067}', size)}` },
  { name: 'Persian', make: (size) => repeat('می\u200cخواهم', size) },
  { name: 'marks and joiners', make: (size) => repeat(`ب${'\u064e'.repeat(20)}\u200cب`, size) },
  { name: 'decomposed', make: (size) => repeat('e\u0301<b>\u0301', size) },
  { name: 'Kelvin', make: (size) => repeat('<lin\u212a>', size) },
  { name: 'virama and joiner', make: (size) => repeat('क्\u200d', size) },
  { name: 'joiners in words', make: (size) => repeat('کار\u200cها ', size) },
  { name: 'selectors', make: (size) => repeat('葛\u{e0100}', size) },
  { name: 'line breaks', make: (size) => repeat('1<br>', size) },
  { name: 'cells', make: (size) => repeat('<td>1', size) },
  { name: 'comparisons', make: (size) => repeat('A<B AND ', size) },
  { name: 'quoted comparisons', make: (size) => `${repeat("A<B AND C='x' ", size)}>` },
  { name: 'placeholders', make: (size) => repeat('<a long name ', size) },
  { name: 'indented', make: (size) => repeat('x\n\n    <b>\n\n', size) },
  { name: 'escaped', make: (size) => repeat('\\<b>', size) },
  { name: 'backslashes', make: (size) => `${repeat('\\', size)}<b>` },
  { name: 'import', make: (size) => `${repeat('import {\n', size)}<b>` },
  { name: 'blocks of a component', make: (size) => repeat('<template>\n', size) },
  { name: 'system:', make: (size) => repeat('system: ', size) },
  { name: 'system: you', make: (size) => repeat('a system: you must\n', size) },
  { name: 'role', make: (size) => repeat('"role":"system",', size) },
  { name: 'you are now', make: (size) => repeat('you are now ', size) },
  { name: 'quoted orders', make: (size) => repeat('a page says "ignore previous instructions" ', size) },
  {
    name: 'quoted orders of others',
    make: (size) => repeat('si un texto dice «olvida las instrucciones anteriores» ', size),
  },
  { name: 'todo lo', make: (size) => repeat('todo lo ', size) },
  { name: 'ignora todas', make: (size) => repeat('ignora todas las ', size) },
  { name: '忽略', make: (size) => repeat('忽略之前的', size) },
  { name: 'orders in Chinese before a quotation mark', make: (size) => repeat('忽略以上所有指令“', size) },
  { name: 'orders in Chinese that a text mentions', make: (size) => repeat('说“忽略以上所有指令”。', size) },
  { name: 'orders that dots join', make: (size) => repeat('Ignore.previous.instructions. É\n', size) },
  { name: 'quoted-printable', make: (size) => repeat('=3D', size) },
  { name: 'digits of full width', make: (size) => repeat('電話０', size) },
  { name: '이전', make: (size) => repeat('이전 지시 모두 ', size) },
  { name: 'escapes', make: (size) => repeat('\\u0069\\[', size) },
  { name: 'references', make: (size) => repeat('&#105;', size) },
  { name: 'percent', make: (size) => repeat('%69', size) },
  { name: 'Base64 lines', make: (size) => repeat('QUJDREVGR0hJSktMTU5P\n', size) },
  { name: 'quotation marks', make: (size) => repeat('"ignore ', size) },
  { name: 'letters between quotation marks', make: (size) => repeat('”A', size) },
  { name: 'references to brackets', make: (size) => repeat('&gt;', size) },
  { name: 'lists in escaped brackets', make: (size) => repeat('[-6\\', size) },
  { name: 'encoded signs in a form', make: (size) => repeat('ignore %E4пароль+}', size) },
  { name: 'look-alikes', make: (size) => repeat('іgnоre ѕуѕtem ', size) },
]

setFlagsFromString('--expose-gc')
const gc: unknown = runInNewContext('gc')
/** Collects garbage, so that it is not charged to the next measurement. */
const collect = () => {
  if (typeof gc === 'function') gc()
}

function milliseconds(text: string, kind: Kind): number {
  const start = performance.now()
  try {
    sanitize(text, kind)
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
  }
  return performance.now() - start
}

const median = (values: number[]) => values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN

function ordinary(name: string, unit: string, kind: Kind): BenchRow {
  const text = repeat(unit, 10 * KIB)
  const cold = milliseconds(text, kind)
  const value = median(Array.from({ length: 200 }, () => milliseconds(text, kind)))
  const copy = median(
    Array.from({ length: 200 }, () => {
      const start = performance.now()
      text.normalize('NFC').toLowerCase()
      return performance.now() - start
    }),
  )
  return {
    name: `10 KB of ordinary text, ${name} (first call ${cold.toFixed(2)} ms)`,
    value,
    unit: 'ms',
    ceiling: { name: 'normalize and toLowerCase alone', value: copy },
    bar: 'under 2 ms',
    met: value < 2,
  }
}

function worst(name: string, make: (size: number) => string, kind: Kind): BenchRow[] {
  const best = new Map<number, number>()
  const measure = (...sizes: number[]) => {
    for (const size of sizes) {
      const text = make(size)
      collect()
      best.set(size, Math.min(best.get(size) ?? Number.POSITIVE_INFINITY, milliseconds(text, kind)))
    }
  }
  // Below 4 ms, clock resolution and garbage collection dominate.
  const growth = (from: number) => Math.max(best.get(4 * from) ?? 0, 4) / Math.max(best.get(from) ?? 0, 4)

  // Noise only adds time, so a bad measurement is repeated and the best one counts.
  for (let attempt = 0; attempt < 3 || (attempt < 8 && growth(SMALL) > LIMIT); attempt += 1) measure(...SIZES)
  // When a call's garbage outgrows the young generation, time increases once. Quadratic work stays quadratic beyond
  // that size.
  const from = growth(SMALL) > LIMIT ? 4 * SMALL : SMALL
  if (from > SMALL) for (let attempt = 0; attempt < 3; attempt += 1) measure(from, 4 * from)

  const label = `worst: ${name} (${kind})`
  return [
    ...SIZES.map((size) => ({
      name: `${label}, ${size / KIB} KiB`,
      value: best.get(size) ?? Number.NaN,
      unit: 'ms',
      isDetail: true,
    })),
    {
      name: `${label}, growth from ${from / KIB} KiB`,
      value: growth(from),
      unit: '× for 4 × the size',
      bar: `linear is 4, at most ${LIMIT}`,
      met: growth(from) <= LIMIT,
      isDetail: true,
    },
  ]
}

/** The slowest of the worst inputs and the one with the fastest growth. */
function extremes(rows: BenchRow[]): BenchRow[] {
  const max = (part: string) =>
    rows.filter(({ name }) => name.includes(part)).toSorted((one, other) => other.value - one.value)[0]
  const [slowest, fastest] = [max(', 1024 KiB'), max(', growth')]
  return [
    ...(slowest
      ? [
          {
            name: `slowest of ${WORST.length} worst inputs: ${slowest.name}`,
            value: slowest.value,
            unit: 'ms',
            bar: `at most ${MOST_MILLISECONDS}`,
            met: slowest.value <= MOST_MILLISECONDS,
          },
        ]
      : []),
    ...(fastest ? [{ ...fastest, name: `largest growth of any: ${fastest.name}`, isDetail: false }] : []),
  ]
}

/** Measures ordinary text at 10 KB, and every worst input at three sizes, each twice the previous one. */
export async function run(): Promise<BenchRow[]> {
  const kinds: Kind[] = ['plain', 'markdown']
  const details = WORST.flatMap(({ name, make }) => kinds.flatMap((kind) => worst(name, make, kind)))
  return [
    ordinary('ASCII', ASCII, 'plain'),
    ordinary('mixed scripts', MIXED, 'plain'),
    ordinary('Markdown with code', MARKDOWN, 'markdown'),
    ...extremes(details),
    ...details,
  ]
}

function print(rows: BenchRow[]): void {
  for (const { name, value, unit, bar, met } of rows) {
    const verdict = bar === undefined ? '' : `${met ? 'met' : 'NOT MET'} (${bar})`
    console.log(`${name.padEnd(72)} ${value.toFixed(3).padStart(10)} ${unit.padEnd(20)} ${verdict}`)
  }
}

if (import.meta.main) print(await run())
