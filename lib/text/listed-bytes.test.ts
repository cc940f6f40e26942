import { describe, expect, it } from 'vitest'
import { editText, readerText, searchViews } from './views.ts'

const erased = 'My fever began in April, and the clinic kept me for nine days.'
const other = 'Größere Worte eines anderen stehen hier.'
const bytesOf = (text: string) => [...Buffer.from(text)]
const hex = (byte: number) => byte.toString(16).padStart(2, '0')
const chunks = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, n) => list.slice(n * size, n * size + size))
const offset = (n: number, digits: number) => (n * 16).toString(16).padStart(digits, '0')
const shown = (bytes: number[]) =>
  bytes.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')

const base32 = (text: string | Uint8Array) => {
  const bits = [...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  const signs = (bits.match(/.{1,5}/g) ?? []).map(
    (five) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five.padEnd(5, '0'), 2)] ?? '',
  )
  return signs.join('').padEnd(Math.ceil(signs.length / 8) * 8, '=')
}

const dumps = {
  xxd: (bytes: number[]) =>
    chunks(bytes, 16)
      .map((line, n) => {
        const groups = chunks(line, 2).map((pair) => pair.map(hex).join(''))
        return `${offset(n, 8)}: ${groups.join(' ').padEnd(40)} ${shown(line)}`
      })
      .join('\n'),
  'hexdump -C': (bytes: number[]) =>
    `${chunks(bytes, 16)
      .map((line, n) => {
        const halves = chunks(line, 8).map((half) => half.map(hex).join(' '))
        return `${offset(n, 8)}  ${halves.join('  ').padEnd(48)}  |${shown(line)}|`
      })
      .join('\n')}\n${bytes.length.toString(16).padStart(8, '0')}\n`,
  hexdump: (bytes: number[]) =>
    `${chunks(bytes, 16)
      .map((line, n) => {
        const words = chunks(line, 2).map(([first = 0, second = 0]) => hex(second) + hex(first))
        return `${offset(n, 7)} ${words.join(' ')}`
      })
      .join('\n')}\n${bytes.length.toString(16).padStart(7, '0')}\n`,
}
/** The bytes in capitals; their offsets and characters remain. */
const inCapitals = (dump: string) => dump.replace(/(?<=^[0-9a-f]{8}: ).{40}/gm, (bytes) => bytes.toUpperCase())

/** How programs print bytes. */
const forms: Record<string, (text: string) => string> = {
  'a list': (text) => JSON.stringify(bytesOf(text)),
  'a list over lines': (text) => JSON.stringify({ data: bytesOf(text) }, null, 2),
  'a list in lines of twelve': (text) =>
    `Uint8Array(9) [\n${chunks(bytesOf(text), 12)
      .map((line) => `  ${line.map((byte) => String(byte).padStart(3)).join(', ')}`)
      .join(',\n')}\n]`,
  'bytes with a sign': (text) => `[${bytesOf(text).map((byte) => (byte << 24) >> 24)}]`,
  'a record with offsets': (text) => JSON.stringify({ body: Uint8Array.from(bytesOf(text)) }),
  'a record with offsets over lines': (text) => JSON.stringify({ body: Uint8Array.from(bytesOf(text)) }, null, 2),
  'an array of C': (text) =>
    `char a[] = {\n${chunks(bytesOf(text), 12)
      .map((line) => `  ${line.map((byte) => `0x${hex(byte)}`).join(', ')}`)
      .join(',\n')}\n};`,
  'a buffer of Node': (text) => `<Buffer ${bytesOf(text).map(hex).join(' ')}>`,
  'pairs with colons': (text) => bytesOf(text).map(hex).join(':'),
  'pairs with hyphens': (text) => bytesOf(text).map(hex).join('-').toUpperCase(),
  'pairs with prefixes': (text) =>
    bytesOf(text)
      .map((byte) => `0x${hex(byte)}`)
      .join(', '),
  'a number of SQL': (text) => `VALUES (7, 0x${Buffer.from(text).toString('hex').toUpperCase()})`,
  'digits in lines': (text) =>
    (
      Buffer.from(text)
        .toString('hex')
        .match(/.{1,60}/g) ?? []
    ).join('\n'),
  'Base32 in lines': (text) => (base32(text).match(/.{1,64}/g) ?? []).join('\r\n'),
  'Base32 in short lines': (text) => (base32(text).match(/.{1,40}/g) ?? []).join('\n'),
  xxd: (text) => dumps.xxd(bytesOf(text)),
  'hexdump -C': (text) => dumps['hexdump -C'](bytesOf(text)),
  hexdump: (text) => dumps.hexdump(bytesOf(text)),
  'xxd in capitals': (text) => inCapitals(dumps.xxd(bytesOf(text))),
  'hexdump in capitals': (text) => dumps.hexdump(bytesOf(text)).toUpperCase(),
  uuencode: (text) => `begin 644 note.txt\n${uuencoded(bytesOf(text)).join('\n')}\n\`\nend\n`,
  'units of UTF-16 after a percent sign': (text) =>
    text.replace(/[^\w ]/g, (sign) => `%u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`),
}
/** Bytes that contain no text; the same ones in every run. */
const randomBytes = (count: number) => {
  let state = 7
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 16) & 255
  })
}
const uuencoded = (bytes: number[]) =>
  chunks(bytes, 45).map(
    (line) =>
      String.fromCharCode(32 + line.length) +
      chunks(line, 3)
        .flatMap(([one = 0, two = 0, three = 0]) => [
          one >> 2,
          ((one & 3) << 4) | (two >> 4),
          ((two & 15) << 2) | (three >> 6),
          three & 63,
        ])
        .map((value) => (value === 0 ? '`' : String.fromCharCode(32 + value)))
        .join(''),
  )
/** How programs print bytes that contain no text. */
const binaryForms: Record<string, (bytes: number[]) => string> = {
  hexdump: (bytes) => dumps.hexdump(bytes),
  xxd: (bytes) => dumps.xxd(bytes),
  'hexdump -C': (bytes) => dumps['hexdump -C'](bytes),
  'a dump without one offset': (bytes) => dumps.hexdump(bytes).replaceAll('40 ', '41 '),
  uuencode: (bytes) => `begin 644 a.bin\n${uuencoded(bytes).join('\n')}\n\`\nend\n`,
  'uuencode without its end': (bytes) => `begin 644 a.bin\n${uuencoded(bytes).join('\n')}`,
  'a list': (bytes) => JSON.stringify(bytes),
  'an array of C': (bytes) => `{${bytes.map((byte) => `0x${hex(byte)}`).join(', ')}}`,
  'a list without brackets': (bytes) => bytes.map((byte) => `0x${hex(byte)}`).join(', '),
  'a record': (bytes) => JSON.stringify({ body: Uint8Array.from(bytes) }),
  pairs: (bytes) => bytes.map(hex).join(' '),
  'pairs in strings': (bytes) => JSON.stringify(chunks(bytes, 20).map((line) => line.map(hex).join(' '))),
  'digits in lines': (bytes) =>
    (
      bytes
        .map(hex)
        .join('')
        .match(/.{1,64}/g) ?? []
    ).join('\n'),
  'Base32 in lines': (bytes) => (base32(Uint8Array.from(bytes)).match(/.{1,64}/g) ?? []).join('\n'),
  'Base64 in lines': (bytes) =>
    (
      Buffer.from(bytes)
        .toString('base64')
        .match(/.{1,76}/g) ?? []
    ).join('\n'),
  'letters in lines that end with a control character': (bytes) =>
    (
      Buffer.from(bytes.map((_, at) => (at < bytes.length - 1 ? 97 + (at % 26) : 1)))
        .toString('hex')
        .match(/.{1,64}/g) ?? []
    ).join('\n'),
}
const cutFrom = (text: string, words: string) =>
  editText(text, (one) =>
    searchViews(one, (view) => {
      const start = view.indexOf(words)
      return start < 0 ? [] : [{ start, end: start + words.length }]
    }),
  )

describe('bytes as programs print them', () => {
  it.each(Object.entries(forms))('are read as a text and written again in the same form: %s', (_name, write) => {
    const text = write(`${erased} ${other}`)
    expect(readerText(text)).toContain(`${erased} ${other}`)
    const rest = cutFrom(text, erased) ?? ''
    // A list has its numbers in one line afterwards.
    const flat = (one: string) => one.replace(/\s+/g, ' ').trim()
    expect(flat(rest)).toBe(flat(write(` ${other}`)))
  })
  it.each(Object.entries(forms))('leave the words before and after them: %s', (_name, write) => {
    const text = `Words before it.\n\n${write(`${erased} ${other}`).trimEnd()}\n\nWords after it.`
    const rest = cutFrom(text, erased) ?? ''
    expect(readerText(rest)).toContain('Words before it.')
    expect(readerText(rest)).toContain('Words after it.')
    expect(readerText(rest)).toContain(other)
  })

  it.each([
    'de la ca de fa ce ab ed ba da fe ad be ea ec ac',
    `aa:bb:cc:dd:ee:ff ${'00 01 02 03 04 05 06 07 '.repeat(4)}`,
    JSON.stringify(Array.from({ length: 40 }, (_, n) => n * 7)),
    JSON.stringify(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [n, n % 9]))),
    '00000000: a row of another table  and its words\n00000010: a further row  with more words\n',
    '20260102: be ad fe 12  a row of days\n20260103: ad be 12 13  a further row\n',
    'begin 644 lines of a story\nMany words follow here, and none of them is a line of a file\nend\n',
  ])('are not seen in other texts: %s', (text) => {
    const words = (one: string) => one.match(/\p{L}+/gu) ?? []
    expect(words(readerText(text))).toEqual(words(text))
  })

  it.each(['49 20 68 65 ', '49:', '0x49,', '00000000: 4920 ', '[73,', '[\n73,\n', '{"0":73,', 'begin 644 a\nM49\n'])(
    'take linear time when they never end: %s',
    (unit) => {
      const used = (size: number) => {
        const text = `${unit.repeat(size / unit.length)} ${size}`
        const before = process.cpuUsage()
        readerText(text)
        return process.cpuUsage(before).user
      }
      used(65_536)
      // Quadratic work would take 256 times as long.
      expect(used(1_048_576)).toBeLessThan(Math.max(2_000_000, used(65_536) * 100))
    },
  )

  it.each(Object.entries(binaryForms))(
    'take linear time when they contain no text: %s',
    (_name, write) => {
      const used = (size: number) => {
        const perByte = write(randomBytes(4_096)).length / 4_096
        const text = write(randomBytes(Math.floor(size / perByte)))
        const before = process.cpuUsage()
        readerText(text)
        return process.cpuUsage(before).user
      }
      const few = used(32_768)
      // Quadratic work takes 64 times as long, and half a minute at least. The same work takes up to twice the processor time on a busy machine.
      expect(used(262_144)).toBeLessThan(Math.max(10_000_000, few * 40))
    },
    60_000,
  )

  it.each(Object.entries(dumps))('are read where a text begins in bytes that contain none: %s', (_name, write) => {
    const text = write([...randomBytes(4_096), ...bytesOf(`${erased} ${`${other} `.repeat(8)}`)])
    expect(readerText(text)).toContain(`${erased} ${other}`)
    expect(readerText(cutFrom(text, erased) ?? '')).toContain(other)
  })
  it.each([
    ['digits', 'hex', 64],
    ['Base64', 'base64', 76],
  ] as const)('are read in lines after others of the same width that contain none: %s', (_name, encoding, width) => {
    const binary = Buffer.from(randomBytes(width * 600))
      .toString(encoding)
      .slice(0, width * 600)
    const text = Buffer.from(`${erased} ${other}`.repeat(8)).toString(encoding)
    const lines = ((binary + text).match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join('\n')
    expect(readerText(lines)).toContain(`${erased} ${other}`)
  })
})
