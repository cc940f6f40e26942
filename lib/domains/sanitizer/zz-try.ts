import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitize } from '#lib/domains/sanitizer/sanitizer.ts'

const T = [
  '<',
  '<',
  '>',
  '>',
  '/',
  'b',
  'a',
  'script',
  'div',
  'x',
  'k',
  '!',
  '--',
  '-',
  '<!--',
  '-->',
  '?',
  '?>',
  '"',
  "'",
  '=',
  ' onclick=1',
  ' href=',
  ' ',
  '\n',
  '\n\n',
  '`',
  '`',
  '``',
  '```',
  '\n```\n',
  '\n  ```\n',
  '\n~~~\n',
  '- ',
  '1. ',
  '# ',
  '> ',
  '|',
  '\n|--|--|\n',
  '\\',
  '\u0338',
  '\u212a',
  '\u1fef',
  '\u037e',
  'lin',
  'e\u0301',
  '\u0301',
  '<b>',
  '</b>',
  '<String>',
  '&&',
  'SYS',
  '<div',
  '\n<div',
  '<b ',
  'http:',
  '@',
  '.c',
  '    ',
  '\t',
  '\r',
]
let seed = +process.argv[2]!
const rnd = () => {
  seed = (seed * 1664525 + 1013904223) >>> 0
  return seed / 2 ** 32
}
let rej = 0,
  bad = 0,
  disarmed = 0,
  N = +process.argv[3]!
for (let i = 0; i < N; i++) {
  const n = 1 + Math.floor(rnd() * (i % 3 ? 12 : 30))
  let s = ''
  for (let j = 0; j < n; j++) s += T[Math.floor(rnd() * T.length)]
  for (const k of ['plain', 'markdown'] as const) {
    try {
      const r = sanitize(s, k)
      const q = sanitize(r.text, k)
      if (q.text !== r.text || q.normalized) {
        bad++
        if (bad < 8) console.log(k, JSON.stringify(s), JSON.stringify(r.text), JSON.stringify(q.text))
      }
      if (r.text !== s) {
        // oracle: no known tag / comment outside code
        if (/<!--/.test(r.text) && k === 'plain') {
          bad++
          console.log('COMMENT', JSON.stringify(s), JSON.stringify(r.text))
        }
        const m = k === 'plain' && /<\/?(?:script|div|br|img)(?=[\s/>])[^>]*>/i.exec(r.text)
        if (m) {
          bad++
          console.log('TAG', JSON.stringify(s), JSON.stringify(r.text))
        }
        const h = k === 'plain' && /<[a-z][^>]*[\s/"']on[a-z]+\s*=[^>]*>/i.exec(r.text)
        if (h) {
          bad++
          console.log('HANDLER', JSON.stringify(s), JSON.stringify(r.text))
        }
      }
    } catch (e) {
      if (!SanitizationError.is(e)) {
        console.log(JSON.stringify(s))
        throw e
      }
      rej++
    }
  }
}
console.log({ rej, bad, N })
