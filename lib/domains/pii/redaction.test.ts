import { describe, expect, it, test } from 'vitest'
import { drawn, plantedCorpus } from '#lib/testing/planted-texts.ts'
import { processorTime } from '#lib/testing/processor-time.ts'
import { worstScans } from '#lib/testing/worst-scans.ts'
import { redact } from './redaction.ts'
import { scan } from './scanner.ts'
import { TextScanner } from './streaming.ts'

describe('redaction', () => {
  test.each([
    ['a@x.example, b@x.example, A@X.example', '‹email:1›, ‹email:2›, ‹email:1›'],
    ['DE89370400440532013000 = DE89 3704 0044 0532 0130 00', '‹iban:1› = ‹iban:1›'],
    ['4111-1111-1111-1111 and 4111111111111111', '‹card:1› and ‹card:1›'],
    ['(212) 555-2368, +1 212 555 2368', '‹phone:1›, ‹phone:1›'],
    ['nothing to see', 'nothing to see'],
    ['', ''],
  ])('redacts %s', (text, expected) => {
    expect(redact(text).text).toBe(expected)
  })
  it('removes every finding and keeps the rest of the text unchanged', () => {
    const { text } = plantedCorpus(3, 60)
    const { text: clean, findings } = redact(text)
    expect(findings.length).toBeGreaterThan(20)
    expect(scan(clean)).toEqual([])
    const between = findings.map(({ end }, at) => text.slice(end, findings[at + 1]?.start))
    for (const piece of between) expect(clean).toContain(piece)
  })
})

describe('redaction of a text that arrives in chunks', () => {
  const whole = Array.from({ length: 30 }, (_, at) => plantedCorpus(100 + at, 60).text).join('\n')
  test.each([1, 2, 3])(
    'has the same findings in any division into chunks as in the entire text (seed %i)',
    (seed) => {
      const d = drawn(seed)
      const scanner = new TextScanner()
      const parts = []
      for (let at = 0; at < whole.length; ) {
        const size = 1 + d.below(seed === 1 ? 7_000 : 400_000)
        parts.push(scanner.push(whole.slice(at, at + size)))
        at += size
      }
      parts.push(scanner.end())
      expect(parts.map(({ text }) => text).join('')).toBe(whole)
      expect(parts.flatMap(({ findings }) => findings)).toEqual(scan(whole))
      expect(parts.map(({ redacted }) => redacted).join('')).toBe(redact(whole).text)
    },
    240_000,
  )
  it('keeps one portion in memory, not the entire text', () => {
    const scanner = new TextScanner()
    const chunk = 'An ordinary line without anything in it.\n'.repeat(1_000)
    let [sent, max] = [0, 0]
    let reported = 0
    for (let at = 0; at < 100; at++) {
      sent += chunk.length
      reported += scanner.push(chunk).text.length
      max = Math.max(max, sent - reported)
    }
    expect(max).toBeLessThan(512 * 1024)
    expect(reported + scanner.end().text.length).toBe(sent)
  }, 240_000)
})

describe('hostile text', () => {
  const work = (text: string) => processorTime(() => scan(text, { strategy: true, strategyRules: true }))
  // Four times the text takes four times the work if it is linear, and sixteen times if it is quadratic.
  test.each(worstScans)(
    'is scanned in linear time: $name',
    ({ make }) => {
      const growth = () => work(make(64 * 1024)) / Math.max(work(make(16 * 1024)), 2_000)
      // Garbage collection only adds time, so the minimum of several attempts counts.
      const seen = [growth()]
      while (Math.min(...seen) > 8 && seen.length < 5) seen.push(growth())
      expect(Math.min(...seen)).toBeLessThan(9)
    },
    240_000,
  )
})
