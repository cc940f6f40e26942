import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SanitizationError } from './sanitization-error.ts'
import { isSourceText, sanitize } from './sanitizer.ts'
import type { TextKind } from './tags.ts'

const KINDS: TextKind[] = ['plain', 'markdown']

describe('gaps of removed markup', () => {
  it.each([
    ['Dose 1<br>5 mg', 'Dose 1 5 mg'],
    ['Dose 1<br/>\n5 mg', 'Dose 1\n5 mg'],
    ['<table><tr><td>Warn</td><td>5</td><td>10</td></tr></table>', 'Warn 5 10'],
    ['<ul><li>stop 1</li><li>0 retries</li></ul>', 'stop 1 0 retries'],
    ['<ul>\n<li>stop 1</li><li>0 retries</li>\n</ul>', '\nstop 1\n0 retries\n'],
    ['One.\n<p>Two 2</p><p>3 three</p>', 'One.\nTwo 2\n3 three'],
    ['10<sup>6</sup> and x<sup>2</sup>, H<sub>2</sub>O', '10 6 and x2, H2O'],
    ['limit 1<script>5</script>', 'limit 1 5'],
    ['1<img src=x>2<select><option>3</option><option>4</option></select>', '1 2 3 4'],
    ['<math><mn>1</mn><mn>2</mn></math>', '1 2'],
    // Inline elements and comments join, as a browser joins them.
    ['1<b>2</b><i>3</i><span class="x">4</span>5', '12345'],
    ['1<!-- x -->2<wbr>3', '123'],
    // A line that must stay one line gets a space.
    ['| 1<br>2 | 3 |\n|--|--|\n', '| 1 2 | 3 |\n|--|--|\n'],
    ['# A<br>b\n\ntext', '# A b\n\ntext'],
    ['---\nname: a<br>b\n---\ntext', '---\nname: a b\n---\ntext'],
    ['a<br>- b\n', 'a - b\n'],
  ])('%j becomes %j', (before, after) => {
    for (const kind of KINDS) expect(sanitize(before, kind).text).toBe(after)
  })

  it('reports positions of the original text after a gap', () => {
    expect(sanitize('a<br>b<td>c <i>d</i>', 'plain').places.map(({ place }) => place)).toEqual([1, 6, 12, 16])
    expect(() => sanitize('a<br>b<br>c [INST]', 'plain')).toThrow(expect.objectContaining({ place: 12 }))
  })
})

describe('text that only looks like markup', () => {
  it.each([
    'Class<?> a = one(); keep this; Class<?> b = two();',
    'Map<?, ?> all; List<? extends Shape> shapes; Comparator<? super A> by',
    'Pods: <none>',
    'mount <object> at <dir>',
    'enter <small number> and <strong password> for <head commit>',
    'typename a<b>::type and Vec<Vec<s>>',
    'commit <title>: <body>, then press <del> in <template>',
    'paste <output of the long command on the host> here',
    'write <a short description of the change> or <time in seconds>',
    'open <dir/file> or <source/path/to.txt>',
    'run \\<output of the long command on the affected host>',
    'write \\<div\\> and \\</div>',
    'SELECT X FROM T WHERE A < B AND C > D',
    'SELECT X FROM T WHERE A<B AND C>D',
    'SELECT X FROM T WHERE A <B\n  OR C> D',
    "SELECT X FROM T WHERE A<B AND NAME='x' AND C>D",
    "SELECT X FROM T WHERE A<B AND ACTION='x' AND C>D",
    'WHERE X<HR AND Y>DT AND Q<TIME OR R>SUB',
    'IF I<S THEN P>Q',
    'when a <b ORDER BY c, stop',
    'Text:\n\n    <img src="a.png" alt="first">\n    <b>x</b>\n\n    <!-- kept -->\n\nend',
    'Text:\n\n\t<i>x</i>\n',
    '    <div class="card">\n      <p>Dose 5 mg</p>\n    </div>\n\nThe end.',
    '\n\t<b>x</b>\n',
    '# Heading\n    <div>\n',
    'Text:\n\n***\n    <b>x</b>\n',
    '---\n    <div>',
    'Text:\n\n---\n    <b>x</b>\n\nThe end.',
  ])('%j is unchanged', (text) => {
    for (const kind of KINDS) expect(sanitize(text, kind).text).toBe(text)
  })

  it.each([
    // Not certainly an indented block: the continuation of a paragraph, a list, a footnote or an admonition.
    ['Text:\n    <b>x</b>', 'Text:\n    x'],
    ['- item\n\n    <b>x</b>', '- item\n\n    x'],
    ['Text:\n# no heading for some\n    <b>x</b>', 'Text:\n# no heading for some\n    x'],
    // Front matter or a table, which a line below ends.
    ['---\n    <b>x</b>\n---', '---\n    x\n---'],
    ['---\r\n    <b>x</b>\r\n...\r\n\r\nText', '---\r\n    x\r\n...\r\n\r\nText'],
    ['---\n    <b>x</b>\n-<i></i>--', '---\n    x\n---'],
    ['Text:\n\n---\n    <b>x</b>\n\n  --- ---', 'Text:\n\n---\n    x\n\n  --- ---'],
    ['- item\n# Heading\n    <b>x</b>', '- item\n# Heading\n    x'],
    ['[^1]: note\n\n    <b>x</b>', '[^1]: note\n\n    x'],
    ['!!! note\n\n    <b>x</b>', '!!! note\n\n    x'],
    // A reader that trims the text makes the first block ordinary markup: only harmless tags are kept in it.
    ['    <img src=x onerror=alert(1)>', '    '],
    ['    <b onclick="x">x</b>', '    x'],
    ['    <div>\n    <script>x</script>\n    </div>', '    \n    x\n    '],
    ['    <div><!-- x --></div>', '    '],
    ['    <div\n    title=x>y', '    y'],
    // A tag that begins before the block reaches into it.
    ['Text <img\n\n    src=x onerror=alert(1)> end', 'Text end'],
    ['Text <im<b>g\n\n    src=x onerror=alert(1)> end', 'Text end'],
    ['\\<img src=x onerror=alert(1)>', '\\'],
    ['\\<script>x', '\\x'],
    ['\\\\<b>x', '\\\\x'],
    ['<div hidden>x</div>', 'x'],
    ['<small>x and <strong hidden>y', 'x and y'],
    ['<small class="x">y <head onclick=x z>z', 'y z'],
    ['word<b>: x</b>', 'word: x'],
    ['<strong data-x y z>t</strong> rest', 't rest'],
    ['text <small note here>then</small> end', 'text then end'],
    ['<big style foo>x', 'x'],
    ['<strong autofocus contenteditable x>y', 'y'],
    ['<strong x-y z>t', 't'],
    ['<details open>x<video controls muted>', 'x'],
    ['<output of="x">', ''],
    ['<Image alt="one and two">', ''],
    ['<b style="x" && y>z', 'z'],
    ['<a href=x and y>z', 'z'],
    ['word<? hidden words ?>', 'word'],
  ])('%j becomes %j', (before, after) => {
    for (const kind of KINDS.filter((kind) => kind === 'markdown' || !before.includes('<?')))
      expect(sanitize(before, kind).text.replace(/ {2,}end/, ' end')).toBe(after)
  })
})

/** Parts of a text with the facts that a reader sees in them, in order. Facts of one part are apart from those of the next. */
type Part = { text: string; facts: string[] }
const fact = fc.oneof(
  fc.integer({ min: 0, max: 99_999 }).map(String),
  fc.constantFrom('dose', 'limit', 'retries', 'Warn', 'mg', 'naïve', '重试', 'следующий'),
)
const join = (parts: readonly Part[], between = ''): Part => ({
  text: parts.map(({ text }) => text).join(between),
  facts: parts.flatMap(({ facts }) => facts),
})
const word = fact.map((text): Part => ({ text, facts: [text] }))
const inline = fc
  .tuple(word, fc.constantFrom('b', 'i', 'em', 'strong', 'span class="x"', 'a href="/x?a>b"', 'code', 'u'))
  .map(([{ text, facts }, tag]): Part => ({ text: `<${tag}>${text}</${tag.split(' ')[0]}>`, facts }))
const phrase = fc.array(fc.oneof(word, inline), { minLength: 1, maxLength: 3 }).map((parts) => join(parts, ' '))
const block = fc
  .tuple(
    fc.array(phrase, { minLength: 1, maxLength: 4 }),
    fc.constantFrom('p', 'li', 'div', 'h2', 'td', 'th', 'dd', 'option'),
  )
  .map(([parts, tag]) => join(parts.map(({ text, facts }) => ({ text: `<${tag}>${text}</${tag}>`, facts }))))
const broken = fc
  .tuple(
    fc.array(phrase, { minLength: 2, maxLength: 4 }),
    fc.constantFrom('<br>', '<br/>', '<BR />', '<hr>', '<p>', '<li>'),
  )
  .map(([parts, tag]) => join(parts, tag))
const prose = fc
  .tuple(
    word,
    fc.constantFrom('<none>', '<dir>', 'A < B AND C > D', 'A<B AND C>D', 'Class<?>', 'List<String>', '<a long name>'),
  )
  .map(
    ([{ text, facts }, retained]): Part => ({
      text: `${text} ${retained}`,
      facts: [...facts, ...retained.split(/\s+/)],
    }),
  )
const composition = fc
  .array(fc.tuple(fc.oneof(block, broken, prose, phrase), fc.constantFrom('\n', '\n\n', ' ')), {
    minLength: 1,
    maxLength: 6,
  })
  .map((parts) => join(parts.map(([{ text, facts }, end]) => ({ text: text + end, facts }))))

describe('compositions of markup and prose', () => {
  it.each(KINDS)('sanitize keeps every fact, in order and apart from the next, in %s', (kind) => {
    fc.assert(
      fc.property(composition, ({ text, facts }) => {
        const once = sanitize(text, kind).text
        expect(once.split(/\s+/).filter((part) => part !== '')).toEqual(facts)
        expect(sanitize(once, kind).text).toBe(once)
      }),
      { seed: 20_261_128, numRuns: 2000 },
    )
  })
})

const component = `import { useState } from 'react'
export function Panel({ rows }: { rows: string[] }) {
  const [count, setCount] = useState(0)
  return (
    <section className="panel" onClick={() => setCount(count + 1)}>
      {rows.map((row) => <p key={row}>{row}</p>)}
    </section>
  )
}
`
const vue = `<template>
  <!-- list -->
  <ul><li v-for="row in rows" @click="open(row)">{{ row.name }}</li></ul>
</template>

<script setup lang="ts">
const rows = defineProps<{ rows: Row[] }>()
</script>
`
const java = `package org.example.queue;
import java.util.List;
/** Orders by <b>cost</b>.<p>Stable. */
public final class Queue<A extends Comparable<? super A>> {
  private final List<A> open = List.of();
}
`

describe('source files pasted as prose', () => {
  it.each([
    ['TSX', component],
    ['Vue', vue],
    ['Java', java],
  ])('%s is unchanged, except in strict mode', (_, text) => {
    expect(sanitize(text, 'plain').text).toBe(text)
    expect(sanitize(text, 'plain', { strict: true }).text).not.toBe(text)
  })

  it.each([
    '<script>import("x")</script>',
    '<script>\nalert(1)\n</script>',
    '<template>\n<img src=x onerror=alert(1)>\n</template>',
    'Read this first.\nimport x from "y"\nThen <b>every</b> word of the page.\nAnd the next line.\n',
    '<p>export const x = 1</p>',
  ])('%j is prose', (text) => {
    expect(isSourceText(text)).toBe(false)
  })

  it('is recognized in linear time', () => {
    for (const unit of ['import {', 'export const a = ', '<template>\n', 'import a from\n', '} from ', '\t \n']) {
      const before = process.cpuUsage()
      try {
        sanitize(`${unit.repeat(Math.ceil(500_000 / unit.length))}<b>`, 'plain')
      } catch (error) {
        if (!SanitizationError.is(error)) throw error
      }
      // Quadratic work takes more than a minute.
      expect(process.cpuUsage(before).user).toBeLessThan(5_000_000)
    }
  })
})
