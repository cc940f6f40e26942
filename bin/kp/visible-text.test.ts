import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { escapedJson, jsonText, visible, visibleLines } from './visible-text.ts'

/** Characters that control a terminal or a bidi renderer. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const dangerous = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const dangerousButLineEnds = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/
const anyText = fc.string({ unit: 'binary', maxLength: 200 })
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001b[2J',
        '\u001b]0;x\u0007',
        '\u009b31m',
        '\u202e',
        '\u2066',
        '\r',
        '\b',
        '\u007f',
        '\n',
        'a',
        '漢',
      ),
      anyText,
    ),
  )
  .map((parts) => parts.join(''))

describe('visible', () => {
  test.each([
    ['\u001b[31mred', '␛[31mred'],
    ['a\nb\tc\r', 'a␊b␉c␍'],
    ['\u0000\u007f', '␀␡'],
    ['\u009b31m', '\\u009b31m'],
    ['abc\u202edef', 'abc\\u202edef'],
    ['\u{e0041}', '\\udb40\\udc41'],
    ['a\u2028b\ufeffc', 'a\\u2028b\\ufeffc'],
  ])('shows %j as %j', (text, shown) => expect(visible(text)).toBe(shown))

  test('keeps ordinary text of all languages', () => {
    for (const text of ['naïve – “quoted”', '知识', 'می\u200cخواهم', '👩\u200d👩\u200d👧', 'مرحبا'])
      expect(visible(text)).toBe(text)
  })

  test('removes every character that controls a terminal', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(visible(text)).not.toMatch(dangerous)
        expect(visibleLines(text)).not.toMatch(dangerousButLineEnds)
      }),
    )
  })

  test('is deterministic and idempotent', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const once = visible(text)
        expect(visible(text)).toBe(once)
        expect(visible(once)).toBe(once)
      }),
    )
  })

  test('takes linear time', () => {
    const time = (length: number) => {
      const text = '\u202e\u001b['.repeat(length / 3)
      const started = process.cpuUsage()
      visible(text)
      // Processor time, because other processes may take the processor.
      return process.cpuUsage(started).user / 1000
    }
    time(100_000)
    const [small, large] = [100_000, 1_000_000].map((length) => Math.min(time(length), time(length), time(length)))
    expect(large).toBeLessThan(Math.max(100, (small ?? 0) * 40))
  })
})

describe('jsonText', () => {
  test('returns JSON equal to JSON.stringify without control characters', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), hostile, (value, text) => {
        const both = { value, [text]: text }
        const made = jsonText(both)
        expect(made).not.toMatch(dangerousButLineEnds)
        expect(JSON.parse(made)).toEqual(JSON.parse(JSON.stringify(both)))
      }),
    )
  })

  test('escapedJson keeps the line breaks of JSON Lines', () => {
    const lines = [{ a: '\u202e\n' }, { b: '\u009b' }].map((value) => `${JSON.stringify(value)}\n`).join('')
    const made = escapedJson(lines)
    expect(made).toBe('{"a":"\\u202e\\n"}\n{"b":"\\u009b"}\n')
  })
})
