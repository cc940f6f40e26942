// @ts-nocheck
import { createRequire } from 'node:module'

const require = createRequire('/tmp/cm/x.js')
const cm = require('commonmark')
const MD = require('markdown-it')
const parse5 = await import('/tmp/cm/node_modules/parse5/dist/index.js')

import { ELEMENTS } from '#lib/domains/sanitizer/elements.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'

const T = [
  '<',
  '>',
  '/',
  '<script>',
  '<b>',
  '<x onclick=1>',
  '<div',
  '\n<div',
  '<x a="',
  '"',
  '<!--',
  '-->',
  '<?',
  '<!X',
  '?>',
  '=',
  ' onclick=1 ',
  ' ',
  '\n',
  '\n',
  '\n\n',
  '`',
  '`',
  '``',
  '```',
  '\n```\n',
  '\n```js\n',
  '\n  ```\n',
  '\n   ```\n',
  '\n    ```\n',
  '\n     ```\n',
  '\n~~~\n',
  '\n````\n',
  '\n- ',
  '\n1. ',
  '\n  - ',
  '\n# ',
  '\n> ',
  '|',
  '\n|--|--|\n',
  '\\',
  'a',
  '\n  a',
  '\n   a',
  '\n    a',
  '\t',
  '\n\t',
  '\n  <script>',
  '\n===\n',
  '\n---\n',
  '[a](',
  '](',
  '<http://x.y>',
  '*',
  '_',
  '\n    <script>',
  '&lt;',
]
let seed = +process.argv[2]
const rnd = () => {
  seed = (seed * 1664525 + 1013904223) >>> 0
  return seed / 2 ** 32
}
const OK = new Set(
  'html head body p code pre em strong ul ol li h1 h2 h3 h4 h5 h6 blockquote hr a img table thead tbody tr th td br s #text #document'.split(
    ' ',
  ),
)
const r1 = new cm.Parser(),
  w1 = new cm.HtmlRenderer(),
  md = new MD({ html: true })
let bad = 0,
  N = +process.argv[3],
  kept = 0
for (let i = 0; i < N; i++) {
  const n = 2 + Math.floor(rnd() * 14)
  let s = ''
  for (let j = 0; j < n; j++) s += T[Math.floor(rnd() * T.length)]
  let out
  try {
    out = sanitize(s, 'plain').text
  } catch {
    continue
  }
  if (/<script>/.test(out)) kept++
  for (const [name, html] of [['raw', out]]) {
    const t = parse5.parse(html)
    let why = ''
    const walk = (n) => {
      if (n.nodeName === '#comment' && n.data[0] !== '?' && !n.data.startsWith('X') && !n.data.startsWith('['))
        why = 'comment'
      else if (
        n.tagName &&
        ELEMENTS.has(n.tagName) &&
        !['html', 'head', 'body'].includes(n.tagName) &&
        (n.tagName.length > 1 || n.attrs.some((a) => a.name === 'href'))
      )
        why = n.tagName
      for (const a of n.attrs ?? []) if (/^on/.test(a.name)) why = 'on'
      for (const c of n.childNodes ?? []) walk(c)
    }
    walk(t)
    if (why) {
      bad++
      if (bad <= 10)
        console.log(name, why, JSON.stringify(s), '\n   ', JSON.stringify(out), '\n   ', JSON.stringify(html))
    }
  }
}
console.log({ bad, N, kept })
