import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled, pythonExecutable } from '#lib/testing/services/installed.ts'
import { examineSkill } from '../knowledge/skills/preparation.ts'
import { SanitizationError } from './sanitization-error.ts'
import { sanitize, sanitizeFields } from './sanitizer.ts'

const maxBytes = 60_000
const extension = /\.(?:[cm]?[jt]sx?|json|md|py|vue|svelte|java|cpp|h|sql|css)$/

/** Files of packages in a folder, breadth first, limited per folder and in total. */
function filesIn(root: string, max: number): string[] {
  const found: string[] = []
  const folders = existsSync(root) ? [root] : []
  for (const folder of folders) {
    if (found.length >= max) break
    let here = 0
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory() && folders.length < max) folders.push(path)
      else if (entry.isFile() && extension.test(entry.name) && here < 4 && statSync(path).size <= maxBytes) {
        found.push(path)
        here += 1
      }
    }
  }
  return found
}
const packages = isInstalled('python') ? join(dirname(pythonExecutable()), '../lib') : undefined
const read = (path: string) => readFileSync(path, 'utf8').replace(/^\uFEFF/, '')

const own: Record<string, string> = {
  'button.tsx': `import { type ReactNode } from 'react'
export function Panel<T,>({ items, render }: { items: readonly T[]; render: (item: T) => ReactNode }) {
  if (items.length < 1 && !render) return <></>
  return (
    <section className="panel" onClick={() => console.log(items.length > 3 ? 'many' : 'few')}>
      {/* <!-- not a comment of HTML --> */}
      {items.map((item) => <p key={String(item)}>{render(item)}</p>)}
      <img src={logo} alt="a < b" onError={hide} />
    </section>
  )
}
`,
  'page.vue': `<script setup lang="ts">
const rows = ref<Array<Path>>([])
</script>
<template>
  <!-- list -->
  <ul><li v-for="row in rows" :key="row.id" @click="open(row)">{{ row.name }}</li></ul>
</template>
<style scoped>a > b { color: red }</style>
`,
  'card.svelte': `<script>export let title = '<untitled>'</script>
{#if title.length < 40}<h1 on:click={edit}>{title}</h1>{:else}<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>{/if}
`,
  'Queue.java': `/** Orders by <b>cost</b>. */
public final class Queue<A extends Comparable<? super A>> {
  private final PriorityQueue<Path> open = new PriorityQueue<>(Map.Entry.<Path, Long>comparingByValue());
  static <I, O> O apply(Function<I, ? extends O> f, I i) { return f.apply(i); }
}
`,
  'tuple.cpp': `#include <map>
#include <string>
template <std::size_t I, typename... T> auto pick(std::tuple<T...> t) { return std::get<I>(t); }
int main() { std::map<std::string, std::vector<int>> m; for (int i=0;i<10 && i>-1;i++) std::cout << (i<b && c>d) << std::endl; }
`,
  'report.sql': `SELECT '<a href="' || url || '">' || name || '</a>' FROM links WHERE hits <> 0 AND cost < 5 AND cost > 1; -- <!-- -->
`,
}

/** Prose fields with pasted code that contains no markup. */
const pasted: Record<string, string> = {
  TypeScript: `const seen = new Map<string, Promise<unknown>>()
export async function load<T extends object>(paths: Array<Path>, one: (path: Path) => Promise<T>): Promise<Set<T>> {
  const queue: PriorityQueue<Image> = new PriorityQueue<Image>((a, b) => (a<b && b>a ? -1 : 1))
  for (let i=0; i<paths.length && i<10; i++) if (paths[i] <limit || n> 2) queue.push(<Image>paths[i])
  const named = /(?<a>\\d+)-(?<b>\\w+)/.exec(text) as RegExpExecArray<object>
  return useState<Button | undefined>(cast<unknown>(named))
}`,
  Java: `public static <A, B extends Comparable<B>> List<A> sort(Collection<Object> in, Comparator<? super A> by) {
  Map<String, List<Path>> byName = new HashMap<>();
  Optional<Object> first = in.stream().<Object>map(x -> x).filter(x -> x.hashCode()<limit && limit>0).findFirst();
  return Collections.<A>emptyList();
}`,
  'C++': `#include <map>
#include <set>
template <class T, std::size_t N> struct Ring { std::array<T, N> a; };
auto x = std::get<I>(t); auto y = static_cast<object>(z); std::vector<std::pair<int, Link>> v;
if (a<b && c>d || p<q) std::cout << std::hex << v.size() << "<eof>" << std::endl;`,
  Python: `match = re.search(r'(?P<a>\\w+)-(?P<time>\\d+)', line)
if a<b and c>d: print('<module>', f"{x:<10}|{y:>5}", sep='')
def load(path: "Path[str]") -> dict[str, "Set<Path>"]: ...
value = x <y or z> 3`,
  placeholders:
    'git rebase <base-branch> then cp <source> <path>, and mail <user@example.org>; see <https://example.org/a>',
}
const tokens = (text: string) => text.split(/\s+/)

/** Stages 3 to 5 also apply to code: invisible characters are not allowed there either. */
function retained(run: () => string): string | undefined {
  try {
    return run()
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    return undefined
  }
}

const files = sampled(
  'files of packages whose code the sanitizer keeps',
  [...filesIn('node_modules', 6000), ...(packages ? filesIn(packages, 2000) : [])],
  250,
)
const cases: [name: string, text: string][] = [
  ...Object.entries(own),
  ...files.map((path): [string, string] => [path, read(path)]),
]

describe('code', () => {
  it("is unchanged in a skill's file, in a fenced block and as a tool argument", () => {
    const altered: string[] = []
    let compared = 0
    for (const [name, text] of cases) {
      const composed = text.normalize('NFC')
      const fence = '`'.repeat(Math.max(3, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length + 1)))
      const inFence = `# Notes\n\n${fence}\n${composed}\n${fence}\n\nDone.\n`
      const asFile = retained(() => sanitize(text, 'code').text)
      if (asFile === undefined) continue
      compared += 1
      const argument = retained(() => JSON.stringify(sanitizeFields({ steps: [{ input: { source: text } }] }).value))
      if (asFile !== composed) altered.push(`${name} as a file`)
      if (argument !== JSON.stringify({ steps: [{ input: { source: composed } }] }))
        altered.push(`${name} as an argument`)
      for (const kind of ['markdown', 'plain'] as const)
        if (retained(() => sanitize(inFence, kind).text) !== inFence) altered.push(`${name} in a fence (${kind})`)
    }
    expect(altered).toEqual([])
    expect(compared).toBeGreaterThan(cases.length * 0.95)
  })

  it("is unchanged in a skill's files that are not Markdown", () => {
    const skill_md = '---\nname: parts\ndescription: Keeps its parts\n---\n# Parts\n'
    const sent = Object.entries(own).map(([path, content]) => ({ path, content }))
    const { skill } = examineSkill({ skill_md, files: sent }, { strict: false })
    expect(skill?.files.map(({ path, content }) => ({ path, content }))).toEqual(sent)
    expect(skill?.sanitizedPlaces).toEqual([])
  })

  it.each(Object.entries(pasted))('%s without markup keeps every token as prose', (_, text) => {
    for (const kind of ['plain', 'markdown'] as const) expect(tokens(sanitize(text, kind).text)).toEqual(tokens(text))
  })

  it('is also sanitized in strict mode', () => {
    expect(sanitize('a `<b>` c\n\n```\n<i>x</i>\n```\n', 'markdown', { strict: true }).text).toBe(
      'a `` c\n\n```\nx\n```\n',
    )
    expect(sanitize('<p>x</p>', 'code', { strict: true }).text).toBe('x')
    expect(sanitizeFields({ input: { command: '<b>x</b>' } }, { strict: true }).value).toEqual({
      input: { command: 'x' },
    })
  })
})

const fence = '\u0060\u0060\u0060'
it.each([
  ['a fence whose title contains a bar', `${fence}tsx filename="layout.tsx | page.tsx"\nreturn <div>x</div>\n${fence}`],
  [
    'fences after one whose title contains a bar',
    `${fence}tsx filename="a | b"\nx\n${fence}\n\n${fence}html filename="<head> output"\n<meta name="a" content="b" />\n${fence}`,
  ],
  [
    'an item of a list in an indented block',
    'A block:\n\n    ## Rules\n    - [Title](x) <!-- pin -->\n    <b>x</b>\n\nend',
  ],
  ['an indented block that begins with an item', 'A block:\n\n    - <b>x</b>\n    - <!-- y -->\n\nend'],
  [
    'a code span in an item after one with a broken span',
    '- one \u0060a\n      b\u0060 c\n- two\n      has \u0060<img src=x>\u0060 tags\n',
  ],
])('%s is kept', (_, text) => {
  expect(sanitize(text, 'markdown').text).toBe(text)
})

it('a table whose header opens a fence protects nothing', () => {
  const text = `${fence}a | b\n---|---\n<b>x</b>\n${fence}`
  expect(sanitize(text, 'markdown').text).toBe(text.replace('<b>x</b>', 'x'))
})

it('a placeholder with a colon is kept, and a link to a file is not', () => {
  expect(sanitize('one "<file:line>" each', 'markdown').text).toBe('one "<file:line>" each')
  expect(sanitize('open <file:///etc/passwd> now', 'markdown').text).not.toContain('file:')
})

it('a tag with a code span in a value is removed as a whole', () => {
  expect(sanitize('<Image\n  alt="the \u0060src\u0060 folder"\n  width="1"\n/>\n\nText', 'markdown').text).toBe(
    '\n\nText',
  )
})

it.each([
  ['<a name="min" href="#min">#</a> d3.<b>min</b>(<i>x</i>)', '\\# d3.min(x)'],
  ['<b>*</b> required', '\\* required'],
  ['text <b>#</b> x', 'text # x'],
  ['<b>#x</b> y', '#x y'],
  ['## <a name="x"></a>- y', '## - y'],
])('%j shows the same signs without its tags', (before, after) => {
  expect(sanitize(before, 'markdown').text).toBe(after)
  expect(sanitize(after, 'markdown').text).toBe(after)
})
