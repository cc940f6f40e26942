import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { editText, viewsOf } from '#lib/text/views.ts'
import { tokenize } from '#lib/text/words.ts'
import { cutStrings } from '../values/value-decider.ts'
import { cutFrom } from './derived-text.ts'
import { Fingerprints, mergeSpans } from './fingerprints.ts'

const scripts: Record<string, string[]> = {
  Latin: 'morning window clinic river Friday lantern second bitter cousin thunder basement letter'.split(' '),
  German: 'Straße Größe Übelkeit schläft Mädchen Töchter gemütlich Fieber wohnt Köln weiß müde'.split(' '),
  Czech: 'příliš žluťoučký kůň úpěl ďábelské ódy nemoc pacient včera večer doktor město'.split(' '),
  Cyrillic: 'вчера больной доктор улица сестра письмо зима дерево лампа город утром ночью'.split(' '),
  Greek: 'σπίτι γιατρός χθες νύχτα πόλη μητέρα γράμμα δέντρο θάλασσα άρρωστος πυρετός λόγος'.split(' '),
  Arabic: 'مريض أمس طبيب مدينة رسالة شتاء شجرة مصباح أخت بيت ليل صباح'.split(' '),
  Han: '我从春天开始就患有罕见的疾病住在医院七号房间晚上睡不好觉也吃不下饭没有人知道'.split(''),
  Thai: 'ฉันป่วยตั้งแต่ฤดูใบไม้ผลินอนไม่หลับทุกคืนที่โรงพยาบาล'.split(''),
}
const isJoined = (script: string) => script === 'Han' || script === 'Thai'
const bytesOf = (text: string) => [...Buffer.from(text)]
const hex = (value: number, length = 2) => value.toString(16).padStart(length, '0')
const chunks = (text: string, size: number) => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
const isPlain = (byte: number) =>
  (byte >= 48 && byte <= 57) || (byte >= 65 && byte <= 90) || (byte >= 97 && byte <= 122)
const everyWord = (text: string, between: string) => text.replaceAll(' ', between)
const quotedPrintable = (text: string) =>
  text
    .split('\n')
    .map((line) => {
      const signs = bytesOf(line).map((byte) =>
        (byte > 32 && byte < 127 && byte !== 61) || byte === 32
          ? String.fromCharCode(byte)
          : `=${hex(byte).toUpperCase()}`,
      )
      let out = ''
      let width = 0
      for (const sign of signs) {
        if (width + sign.length > 70) {
          out += '=\n'
          width = 0
        }
        out += sign
        width += sign.length
      }
      return out
    })
    .join('\n')
const inside = (text: string, sign: string) => text.replace(/\p{L}{2}(?=\p{L}{2})/gu, (pair) => pair + sign)

const everyFourth = (text: string, write: (word: string) => string) =>
  text.replace(/(?<=^| )[^\s[\]()<>|{}\\'",]+(?= |$)/g, (word, at: number) => (at % 4 === 0 ? write(word) : word))
const texNames: Record<string, string> = {
  '\\': '\\textbackslash{}',
  '~': '\\textasciitilde{}',
  '^': '\\textasciicircum{}',
}
/** A few words each; a text without spaces in pieces. */
const cues = (text: string) => text.split('\n').flatMap((line) => line.match(/(?:\S+ ?){1,3}/g) ?? [])
const pythonString = (text: string) =>
  `'${text
    .replace(/[\\']/g, (sign) => `\\${sign}`)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')}'`

const encodings: Record<string, (text: string) => string> = {
  'HTML lines': (text) =>
    `<div class="mail"><p>${text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('\n', '</p>\n<p>')
      .replace(/ /g, (_, at: number) => (at % 3 === 0 ? '<br>' : ' '))}</p></div>`,
  'inline tags': (text) =>
    `<html><body>${text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replace(/ (\p{L})/gu, (_, letter: string) => ` <b>${letter}</b>`)
      .replaceAll('\n', '<br>')}</body></html>`,
  'decimal references': (text) => text.replace(/[^\n-~]|[&' ]/gu, (sign) => `&#${sign.codePointAt(0)};`),
  'hexadecimal references': (text) =>
    text.replace(/[^\n-~]|[&]/gu, (sign) => `&#x${hex(sign.codePointAt(0) ?? 0, 4)};`).replaceAll(' ', '&nbsp;'),
  'percent-encoding': (text) => `https://example.com/search?q=${encodeURIComponent(text)}`,
  'form encoding': (text) => `q=${encodeURIComponent(text).replaceAll('%20', '+')}&page=2`,
  JSON: (text) => JSON.stringify({ id: 7, data: { note: text, ok: true } }),
  'JSON in ASCII': (text) =>
    JSON.stringify([{ text }]).replace(/[\u0080-\uffff]/g, (unit) => `\\u${hex(unit.charCodeAt(0), 4)}`),
  'server-sent events': (text) => `event: message\ndata: ${JSON.stringify({ delta: text })}\n\n`,
  'a log line': (text) =>
    `2026-01-02T10:30:00Z INFO call arguments=${JSON.stringify(JSON.stringify({ q: text }))} took 12 ms`,
  Base64: (text) => Buffer.from(text).toString('base64'),
  'a data URL': (text) => `{"url":"data:text/plain;base64,${Buffer.from(text).toString('base64')}"}`,
  Base64url: (text) => `token.${Buffer.from(text).toString('base64url')}.end`,
  'Base64 in lines': (text) => chunks(Buffer.from(text).toString('base64'), 76).join('\r\n'),
  hexadecimal: (text) => `\\x${Buffer.from(text).toString('hex')}`,
  'quoted-printable': quotedPrintable,
  'escaped bytes': (text) =>
    `b'${bytesOf(text)
      .map((byte) => (isPlain(byte) || byte === 32 ? String.fromCharCode(byte) : `\\x${hex(byte)}`))
      .join('')}'`,
  'octal escapes': (text) =>
    bytesOf(text)
      .map((byte) => (byte < 128 && byte !== 92 ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`))
      .join(''),
  'escaped code points': (text) => text.replace(/[^ -~]|\\/gu, (sign) => `\\u{${hex(sign.codePointAt(0) ?? 0, 1)}}`),
  'a shell word': (text) => text.replace(/[^\p{L}\p{N}\p{M}\n]/gu, (sign) => `\\${sign}`),
  CSV: (text) => `id,note\n7,"${text.replaceAll('"', '""')}"\n`,
  'soft hyphens': (text) => inside(text, '\u00ad'),
  'zero-width spaces': (text) => inside(text, '\u200b'),
  'terminal colors': (text) => everyWord(text, ' \u001b[1;31m').replaceAll('\n', '\u001b[0m\n'),
  'an XML section': (text) => `<note><![CDATA[${text}]]></note>`,
  'deltas of chat completions': (text) =>
    chunks(text, 4)
      .map(
        (piece, index) =>
          `data: ${JSON.stringify({ id: 'c-1', created: 1700, choices: [{ index, delta: { content: piece } }] })}`,
      )
      .join('\n\n'),
  'deltas of messages': (text) =>
    chunks(text, 5)
      .map((piece, index) => {
        const event = { type: 'content_block_delta', index, delta: { type: 'text_delta', text: piece } }
        return `event: content_block_delta\ndata: ${JSON.stringify(event)}`
      })
      .join('\n\n'),
  RTF: (text) =>
    `{\\rtf1\\ansi{\\fonttbl{\\f0 Arial;}}\\f0\\fs24 ${text
      .replace(/[\\{}]/g, (sign) => `\\${sign}`)
      .replace(/[\u0080-\uffff]/g, (unit) => {
        const code = unit.charCodeAt(0)
        return `\\u${code > 0x7fff ? code - 0x10000 : code}?`
      })
      .replaceAll('\n', '\\par\n')
      .replace(/(?<= )(\w{3,8})(?= )/g, '{\\b $1}')}}`,
  LaTeX: (text) =>
    `\\begin{document}\n${text
      .replace(/[\\~^#$%&_{}]/g, (sign) => texNames[sign] ?? `\\${sign}`)
      .replace(/(?<= )(\p{L}{3,12})(?= )/gu, '\\textbf{$1}')
      .replace(/[äöüëï]/g, (sign) => `{\\"${sign.normalize('NFD')[0]}}`)
      .replace(/[ěščřžňťď]/g, (sign) => `\\v{${sign.normalize('NFD')[0]}}`)
      .replaceAll('ß', '{\\ss}')}\n\\end{document}`,
  BBCode: (text) => `[quote="Somebody"]${everyFourth(text, (word) => `[b]${word}[/b]`)}[/quote]`,
  'Python calls': (text) =>
    `[HumanMessage(content=${pythonString(text)}, additional_kwargs={}, id='7f', tool_calls=[], example=False)]`,
  'gzip in Base64': (text) => JSON.stringify({ data: gzipSync(text).toString('base64') }),
  'zlib in Base64': (text) => `zip:${deflateSync(text).toString('base64')}`,
  'DEFLATE in Base64': (text) => JSON.stringify({ data: deflateRawSync(text).toString('base64') }),
  'Zstandard in Base64': (text) => JSON.stringify([zstdCompressSync(text).toString('base64')]),
  'UTF-16 byte by byte': (text) => (/^[\0-\x7f]*$/.test(text) ? text.replace(/[\s\S]/g, '$&\0') : text),
}
/** How people and programs write a text, before any encoding. */
const forms: Record<string, (text: string) => string> = {
  'deltas of a protocol of parts': (text) =>
    chunks(text, 6)
      .map((piece) => `0:${JSON.stringify(piece)}`)
      .join('\n'),
  'a Python tuple': (text) => `(${cues(text).map(pythonString).join(', ')},)`,
  'Python pairs': (text) =>
    `[${cues(text)
      .map((cue, n) => `(${n}, ${pythonString(cue)})`)
      .join(', ')}]`,
  'a Python string in pieces': (text) => `(${chunks(text, 9).map(pythonString).join('\n ')})`,
  'tokens with their times': (text) =>
    JSON.stringify(
      (text.match(/\s*[^\s]{1,7}/gu) ?? []).map((word, at) => ({
        start: at / 2,
        end: at / 2 + 0.4,
        word,
        speaker: 'A',
      })),
    ),
  'words in lines of JSON': (text) =>
    text
      .split(/\s+/)
      .map((word, n) => JSON.stringify({ n, word }))
      .join('\n'),
  'links of a chat': (text) => `<@U024BE7LH> ${everyFourth(text, (word) => `<https://example.com/a?b=1|${word}>`)}`,
  'links of Markdown': (text) => everyFourth(text, (word) => `[${word}](https://example.com/pages/1 "page")`),
  'links of a wiki': (text) => everyFourth(text, (word) => `[[Some page|${word}]]`),
  'links of an issue tracker': (text) => everyFourth(text, (word) => `[${word}|https://example.com/browse/AB-1]`),
  'emphasis inside words': (text) => text.replace(/(\p{L}{2})(\p{L}{2})(?!\p{M})/u, '$1**$2'),
  subtitles: (text) =>
    cues(text)
      .map((cue, n) => `${n + 1}\n00:00:0${n % 10},000 --> 00:00:0${(n + 1) % 10},500\n${cue}\n`)
      .join('\n'),
  'subtitles of a page': (text) =>
    `WEBVTT\n\n${cues(text)
      .map((cue, n) => `00:0${n % 10}.000 --> 00:0${(n + 1) % 10}.500 align:start\n${cue}\n`)
      .join('\n')}`,
  'styled subtitles': (text) =>
    cues(text)
      .map((cue) => `Dialogue: 0,0:00:01.00,0:00:03.00,Default,,0,0,0,,{\\i1}${cue}{\\i0}`)
      .join('\n'),
  'a string with plus signs': (text) =>
    chunks(text, 9)
      .map((piece) => JSON.stringify(piece))
      .join(' +\n  '),
  'a string of SQL': (text) =>
    chunks(text, 9)
      .map((piece) => `'${piece}'`)
      .join(' || '),
  'lines of a log': (text) =>
    cues(text)
      .map((cue, n) => `2026-01-02T10:30:0${n % 10}.123Z INFO [worker-1] ${cue}`)
      .join('\n'),
  'numbered lines': (text) =>
    cues(text)
      .map((cue, n) => `${String(n + 1).padStart(6)}\t${cue}`)
      .join('\n'),
  'a quoted answer': (text) => text.replace(/^/gm, '> > '),
  'a patch': (text) => `@@ -1,3 +1,4 @@\n${text.replace(/^/gm, '+')}`,
  'notes between words': (text) =>
    text.replace(/(?<=\p{L}) (?=\p{L})/gu, (_, at: number) => (at % 3 === 0 ? ' [1] ' : ' ')),
}
/** Only for words in an alphabet, before any other encoding: names of programs cannot contain other encodings. */
const asIdentifiers: Record<string, (text: string) => string> = {
  CamelCase: (text) => text.replace(/ (\p{L})/gu, (_, letter: string) => letter.toUpperCase()),
  snake_case: (text) => everyWord(text, '_'),
  'kebab-case': (text) => everyWord(text, '-'),
  'a slug': (text) => everyWord(text, '+'),
  'as it is': (text) => text,
}
/** Only for words in an alphabet, before any other encoding. */
const hyphenated = (text: string) => text.replace(/(\p{L}{3})(?=\p{L}{3})/u, '$1-\n')

const sentence = (script: string) =>
  fc
    .array(fc.constantFrom(...(scripts[script] ?? [])), {
      minLength: isJoined(script) ? 26 : 8,
      maxLength: isJoined(script) ? 40 : 14,
    })
    .map((words) => words.join(isJoined(script) ? '' : ' '))
interface Case {
  script: string
  erased: string
  other: string
  names: string[]
  isHyphenated: boolean
  identifier: string
  form: string
}
const cases: fc.Arbitrary<Case> = fc.constantFrom(...Object.keys(scripts)).chain((script) =>
  fc.record({
    script: fc.constant(script),
    erased: sentence(script),
    other: sentence(script).map((text) =>
      isJoined(script)
        ? text.replace(/^\p{M}+/u, '')
        : text
            .split(' ')
            .map((word) => `${word}xq`)
            .join(' '),
    ),
    names: fc.array(fc.constantFrom(...Object.keys(encodings)), { minLength: 1, maxLength: 3 }),
    isHyphenated: fc.boolean(),
    identifier: fc.constantFrom('as it is', 'as it is', 'as it is', ...Object.keys(asIdentifiers)),
    form: fc.constantFrom('as it is', 'as it is', ...Object.keys(forms)),
  }),
)
const encodedWith = (text: string, names: readonly string[]) =>
  names.reduce((inner, name) => (encodings[name] ?? forms[name] ?? asIdentifiers[name] ?? String)(inner), text)
const inParts = new Set(['a string with plus signs', 'a string of SQL', 'deltas of a protocol of parts'])
/** The erased words with those of another author, in a form and in encodings. */
function writtenOf({ script, erased, other, names, isHyphenated, identifier, form }: Case): {
  plain: string
  own: string
  value: string
} {
  const isWords = !isJoined(script) && form === 'as it is'
  const rewritten = isHyphenated ? hyphenated : (asIdentifiers[script === 'Arabic' ? 'as it is' : identifier] ?? String)
  const own = isWords ? rewritten(erased) : erased
  const plain = `${own}\n${other}.`
  // A form of lines has no further line breaks inside its prefixes. Escapes in the parts of a string would be undone with those around them.
  const max = form === 'as it is' ? names.length : inParts.has(form) ? 0 : 1
  const around = names.slice(0, max).filter((name) => form === 'as it is' || name !== 'HTML lines')
  return { plain, own, value: encodedWith(plain, [form, ...around]) }
}
const wordsOf = (text: string) => tokenize(text).map(({ word }) => word)
/** Whether the words follow each other in one of the decoded forms of a text. */
const canRead = (text: string, words: string): boolean =>
  [text, ...viewsOf(text).layers.map((layer) => layer.text)].some((view) =>
    ` ${wordsOf(view).join(' ')} `.includes(` ${wordsOf(words).join(' ')} `),
  )
const fingerprintsOf = (...texts: string[]) => {
  const found = new Fingerprints()
  for (const text of texts) found.add(text)
  return Fingerprints.fromBytes(found.toBytes())
}

/** A full run also reads the cases of its own seed, if it has one. */
const seeds = [1, 2, 3, 4, 5].concat(
  process.env.KP_FULL === '1' && process.env.KP_SEED !== undefined ? [sampleSeed] : [],
)

describe('runs in encoded texts', () => {
  it.each(seeds)(
    'are found and cut, and the words of another author in the same value remain, with seed %i',
    (seed) => {
      fc.assert(
        fc.property(cases, (one) => {
          const { erased, other } = one
          const names = [one.form, ...one.names]
          const words = fingerprintsOf(erased)
          const { plain, own, value } = writtenOf(one)
          // Equal words of both sentences may be a run of the first one.
          const isShared = words.runsIn(plain).some(({ end }) => end > own.length)
          const found = words.runsIn(value)
          expect(found.length, `${names.join(' in ')}: ${value}`).toBeGreaterThan(0)
          for (const { start, end } of found) expect(end).toBeGreaterThan(start)
          if (isShared) return
          const rest = cutStrings(value, (text) => mergeSpans(words.runsIn(text)))
          expect(rest, `${names.join(' in ')}: ${value}`).not.toBeNull()
          expect(words.runsIn(rest ?? '')).toEqual([])
          expect(canRead(rest ?? '', other), `${names.join(' in ')}: ${rest}`).toBe(true)
        }),
        { numRuns: sampledRuns('encoded texts', 5_000, 80), seed },
      )
    },
  )

  it.each([...Object.keys(encodings), ...Object.keys(forms)])(
    'are found in a source in %s when the derived text is plain',
    (name) => {
      for (const script of Object.keys(scripts)) {
        const text = (scripts[script] ?? []).slice(0, 40).join(isJoined(script) ? '' : ' ')
        expect(fingerprintsOf(encodedWith(`${text}\nmore`, [name])).runsIn(text).length, script).toBeGreaterThan(0)
      }
    },
  )

  it.each([
    ['deltas of messages', 'escaped bytes', 'HTML lines'],
    ['deltas of messages', 'LaTeX', 'HTML lines'],
    ['Zstandard in Base64', 'deltas of messages', 'octal escapes'],
    ['deltas of messages', 'deltas of messages', 'escaped code points'],
    ['decimal references', 'deltas of chat completions', 'Python calls'],
    ['Base64', 'RTF', 'form encoding'],
    ['RTF', 'UTF-16 byte by byte', 'LaTeX'],
    ['server-sent events', 'deltas of chat completions', 'RTF'],
    ['JSON in ASCII', 'deltas of messages', 'terminal colors'],
    ['JSON', 'deltas of chat completions', 'terminal colors'],
    ['hexadecimal', 'UTF-16 byte by byte', 'a log line'],
    ['BBCode', 'RTF', 'LaTeX'],
    ['Base64 in lines', 'inline tags', 'HTML lines'],
    ['kebab-case', 'UTF-16 byte by byte', 'Python calls', 'Base64'],
    ['snake_case', 'LaTeX', 'CSV'],
  ])('are found and cut in %s in %s in %s %s', (...names) => {
    for (const script of Object.keys(scripts)) {
      const all = scripts[script] ?? []
      const own = all.slice(0, 26).join(isJoined(script) ? '' : ' ')
      const other = 'lanternxq Fridayxq riverxq morningxq bitterxq windowxq'
      const words = fingerprintsOf(own)
      const value = encodedWith(`${own}\n${other}.`, names)
      const rest = cutStrings(value, (text) => mergeSpans(words.runsIn(text))) ?? ''
      expect(words.runsIn(value).length, script).toBeGreaterThan(0)
      expect(words.runsIn(rest), script).toEqual([])
      expect(canRead(rest, other), script).toBe(true)
    }
  })

  it.each([
    // Quoted-printable breaks the name of a property at another letter in the event before the other words.
    ['مريض مريض مريض مريض مريض مريض أخت مريض', `${'مريضxq '.repeat(7)}مريضxq`, 'deltas of chat completions'],
    // Only one code remains, at the end of a line.
    [
      'Straße '.repeat(8).trim(),
      'Kölnxq wohntxq müdexq müdexq wohntxq Straßexq Übelkeitxq Kölnxq Fieberxq weißxq',
      'Base64 in lines',
    ],
  ])('leave all words of another author readable in quoted-printable: %s', (erased, other, name) => {
    const words = fingerprintsOf(erased)
    const value = encodedWith(`${erased}\n${other}.`, [name, 'quoted-printable', 'HTML lines'])
    const rest = cutStrings(value, (text) => mergeSpans(words.runsIn(text))) ?? ''
    expect(words.runsIn(rest)).toEqual([])
    expect(canRead(rest, other)).toBe(true)
  })

  it('are never found in a text that shares no run with the erased text', () => {
    fc.assert(
      fc.property(cases, ({ script, erased, other, names }) => {
        if (isJoined(script) && fingerprintsOf(erased).runsIn(other).length > 0) return
        expect(fingerprintsOf(erased).runsIn(encodedWith(other, names)), names.join(' in ')).toEqual([])
        expect(fingerprintsOf(encodedWith(erased, names)).runsIn(other), names.join(' in ')).toEqual([])
      }),
      { numRuns: sampledRuns('texts of others', 5_000, 100), seed: 1 },
    )
  })
})

it.each(['numbered lines', 'lines of a log', 'subtitles', 'styled subtitles'])(
  'words that an author says twice are found in %s, and remain if they are somebody else’s',
  (form) => {
    const [erased, other] = [
      'garden lantern river garden lantern river winter harbor',
      'pillow copper needle window saddle kettle window saddle kettle cinder falcon meadow',
    ]
    const words = fingerprintsOf(erased)
    const value = forms[form]?.(`${erased}\n${other}.`) ?? ''
    expect(words.runsIn(value).length).toBeGreaterThan(0)
    const rest = cutStrings(value, (text) => mergeSpans(words.runsIn(text))) ?? ''
    expect(words.runsIn(rest)).toEqual([])
    expect(canRead(rest, other)).toBe(true)
  },
)

it('a run across hyphens at line ends is replaced as one', () => {
  const source = 'Iris Probe moved to 14 Mill Lane, second floor, and she starts on Friday morning'
  const words = fingerprintsOf(source)
  const wrapped = source.replace('second', 'sec-\nond').replace('Friday', 'Fri-\nday')
  expect(editText(wrapped, (text) => mergeSpans(words.runsIn(text)), '[erased]')).toBe('[erased]')
})

describe('JSON and markup', () => {
  const erased = 'I suffer from Morbus Crohn and sleep in room 77 since spring.'
  const cut = (text: string) => cutFrom(text, mergeSpans(fingerprintsOf(erased).runsIn(text)))
  it('remain valid when a run spans several strings of nested JSON', () => {
    const inner = JSON.stringify({
      a: { b: 'I suffer from Morbus' },
      c: ['Crohn and sleep in', 'room 77 since spring.'],
      d: 'mine',
    })
    const rest = JSON.parse(cut(JSON.stringify({ outer: inner, other: 'theirs' })) ?? '')
    expect(rest.other).toBe('theirs')
    expect(JSON.parse(rest.outer)).toEqual({ a: { b: '' }, c: ['', ''], d: 'mine' })
  })
  it('keep their tags when a run spans several elements', () => {
    expect(cut(`<p>I <b>suffer from</b> Morbus</p><p>Crohn and sleep in room 77 since spring.</p><p>theirs</p>`)).toBe(
      '<p> <b></b> </p><p></p><p>theirs</p>',
    )
  })
  it('of a source are not fingerprinted', () => {
    const page = (text: string) =>
      `<div style="margin: 0; padding: 0; font-family: Arial; color: red" class="a b c d e f"><p>${text}</p></div>`
    expect(fingerprintsOf(page(erased)).runsIn(page('Nothing of it.'))).toEqual([])
    const message = (content: string) =>
      JSON.stringify([{ type: 'message', role: 'user', model: 'x', format: 'text', id: 'msg_1', content }])
    expect(fingerprintsOf(message(erased)).runsIn(message('Nothing of it.'))).toEqual([])
  })
})

describe('fingerprints', () => {
  it('without a version find runs and names by the former folding', () => {
    const former = Fingerprints.fromBytes(Buffer.from(formerBytes, 'base64'))
    const text = 'The patient in room nine keeps a heron in the bathroom.'
    expect(former.runsIn(text).length).toBeGreaterThan(0)
    expect(former.runsIn(encodedWith(text, ['quoted-printable', 'JSON'])).length).toBeGreaterThan(0)
    expect(former.namesIn('Ask Jo Li').length).toBe(1)
    expect(former.runsIn('Somebody else has other words in this text.')).toEqual([])
    expect(Fingerprints.fromBytes(former.toBytes()).runsIn(text)).toEqual(former.runsIn(text))
  })
  it('of an unknown version are rejected', () => {
    const bytes = new Fingerprints().toBytes()
    bytes[0] = 99
    expect(() => Fingerprints.fromBytes(bytes)).toThrow(/format 99/)
  })
})
const formerBytes =
  'ASNFZ4mrze8AAAAAAAAAAAAAAAAAAABAAAAAAAAAAEDAOsZ5DCLTQljoa15CfwNDrKVdS9hYJkOSV94OUwksQxqONDaVsTNDXULCIM0zNUPjM62fS/42Qw=='
