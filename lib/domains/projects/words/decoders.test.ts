import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { codings } from '#lib/text/base64.ts'
import { decoders } from '#lib/text/decoding.ts'
import { packings } from '#lib/text/packed.ts'
import { readings } from '#lib/text/readings.ts'
import { formats, viewsOf } from '#lib/text/views.ts'
import { Fingerprints } from './fingerprints.ts'

const sentence = 'my fever began in April and the clinic kept me for nine days'
const words = sentence.split(' ')
const numbers = Array.from({ length: 200 }, (_, n) => `line ${n ** 3} of the page`).join('\n')
const packed = (pack: (text: string) => Uint8Array) => `zip ${Buffer.from(pack(sentence)).toString('base64')} end`
const signs = (write: (letter: string) => string) => sentence.replace(/[aeio]/g, write)
const accented = 'mötte große Bären über schönen Flüssen früh'
const lines = words
  .map((word, n) => JSON.stringify({ n, id: `c${n}`, word, ...(n % 2 === 0 && { isFinal: true }) }))
  .join('\n')
const code = (letter: string) => letter.charCodeAt(0).toString(16)

const parts = (size: number) => sentence.match(new RegExp(`.{1,${size}}`, 'g')) ?? []

/** For each decoder, a text in which only it finds the sentence. */
const tables: [of: string, table: Map<string, unknown>, texts: Record<string, string>][] = [
  [
    'the scanner',
    decoders,
    {
      'character references': signs((letter) => `&#x${code(letter)};`),
      'sections of XML': `<note>${parts(5)
        .map((part) => `<![CDATA[${part}]]>`)
        .join('')}</note>`,
      'lists of bytes': `stdout: [${[...Buffer.from(sentence)].join(' ')}] end`,
      elements: `<p>${words.join('</p><hr class="line between"><p>')}</p>`,
      'code points in brackets': signs((letter) => `<U+00${code(letter)}>`),
      'links and mentions': words.map((word) => `[[Page about it|${word}]]`).join(' '),
      'doubled quotation marks': `id,note\n7,"${lines.replaceAll('"', '""')}"\n`,
      TeX: signs((letter) => `\\"{${letter}}`).replaceAll(' ', ' \\emph{} '),
      'escapes with a backslash': signs((letter) => `\\x${code(letter)}`),
      'UTF-16 that was read byte by byte': [...sentence].map((letter) => `${letter}\0`).join(''),
      'percent-encoding': signs((letter) => `%${code(letter)}`),
      'words of email headers': `=?iso-8859-1?B?${Buffer.from(accented, 'latin1').toString('base64')}?=`,
      'quoted-printable': accented.replace(/[ßäöü]/g, (letter) => encodeURIComponent(letter).replaceAll('%', '=')),
      'codes of terminals': signs((letter) => `\u001b[1m${letter}\u001b[0m`),
      'doubled apostrophes': "it's my fever, it's the clinic's fault, and that's all".replaceAll("'", `'"'"'`),
      'invisible characters': signs((letter) => `${letter}\u200b\u00ad`),
      'UTF-8 that was read as Latin-1': Buffer.from(accented).toString('latin1'),
      'styled letters': signs((letter) => String.fromCodePoint(letter.charCodeAt(0) - 97 + 0x24d0)),
    },
  ],
  [
    'whole values',
    formats,
    {
      'dumps of bytes': [
        'begin 644 note.txt',
        `M;7D@9F5V97(@8F5G86X@:6X@07!R:6P@86YD('1H92!C;&EN:6,@:V5P="!M`,
        '/92!F;W(@;FEN92!D87ES',
        '`',
        'end',
      ].join('\n'),
      RTF: `{\\rtf1\\ansi ${signs((letter) => `\\'${code(letter)}`)}}`,
      JSON: (sentence.match(/.{1,6}/g) ?? []).map((piece) => `0:${JSON.stringify(piece)}`).join('\n'),
      'literals of programs': `[${words.map((word, n) => `(${n}, 'x', '${word}')`).join(', ')}]`,
    },
  ],
  [
    'runs of letters and digits',
    codings,
    {
      Base32: 'NV4SAZTFOZSXEIDCMVTWC3RANFXCAQLQOJUWYIDBNZSCA5DIMUQGG3DJNZUWGIDLMVYHIIDNMUQGM33SEBXGS3TFEBSGC6LT',
      Base64: Buffer.from(sentence).toString('base64'),
      hexadecimal: Buffer.from(sentence).toString('hex'),
    },
  ],
  [
    'compressed data',
    packings,
    {
      gzip: packed(gzipSync),
      zlib: packed(deflateSync),
      // Of a short text, it would write the letters as they are.
      Zstandard: packed((text) => zstdCompressSync(`${text}. ${numbers}`)),
      DEFLATE: packed(deflateRawSync),
    },
  ],
  [
    'what is between words',
    readings,
    {
      folds: `BEGIN:VCARD\r\n${[`NOTE:`, ...parts(4)].join('\r\n ')}\r\nEND:VCARD`,
      columns: words.map((word, n) => `${n / 2};${n / 2 + 0.4};${word};speaker`).join('\n'),
      'spelled words': words.map((word) => [...word].join('.')).join(' '),
      tokens: words.map((word) => (word.length > 3 ? `${word.slice(0, 2)} ##${word.slice(2)}` : word)).join(' '),
      changes: words.map((word, n) => (n % 2 === 0 ? `[-another one-] {+${word}+}` : word)).join(' '),
      formats: words.map((word, n) => (n % 4 === 0 ? `${word} [${n + 1}]` : word)).join(' '),
      prefixes: [0, 4, 8]
        .map((at) => `2026-01-02T10:30:00Z INFO [worker-1] ${words.slice(at, at + 4).join(' ')}`)
        .join('\n'),
      'lines twice': [0, 2, 4, 6, 8, 10]
        .flatMap((at) => Array.from({ length: 2 }, () => words.slice(at, at + 2).join(' ')))
        .join('\n'),
      labels: ['Anna', 'Anna Lee', 'Lee']
        .map((name, n) => `${name}: ${words.slice(n * 4, n * 4 + 4).join(' ')}`)
        .join('\n'),
      hyphens: sentence.replace('April', 'Ap-\nril').replace('clinic', 'cli-\nnic'),
      identifiers: sentence.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase()),
      refrains: words.map((word, n) => `(T${n} ${word})`).join(' '),
    },
  ],
]

const erased = new Fingerprints(Buffer.alloc(8, 7))
for (const text of [sentence, "it's my fever, it's the clinic's fault, and that's all", accented]) erased.add(text)
const isFound = (text: string): boolean => {
  // The views of the latest text are retained.
  viewsOf('')
  return erased.runsIn(text).length > 0
}
/** Runs without one entry of a table. */
function without<T>(table: Map<string, unknown>, name: string, run: () => T): T {
  const all = [...table]
  table.delete(name)
  try {
    return run()
  } finally {
    // The order of the entries matters.
    table.clear()
    for (const [key, value] of all) table.set(key, value)
  }
}

describe.each(tables)('the decoders of %s', (_of, table, texts) => {
  it.each([...table.keys()])('find a sentence in %s, and no other decoder does', (name) => {
    const text = texts[name] ?? ''
    expect(isFound(text)).toBe(true)
    // What is repeated is also left out of formats that another decoder reads.
    const isFoundOtherwise = () =>
      name === 'refrains' ? isFound(text) : without(readings, 'refrains', () => isFound(text))
    expect(without(table, name, isFoundOtherwise)).toBe(false)
    expect(isFound(text)).toBe(true)
  })
})
