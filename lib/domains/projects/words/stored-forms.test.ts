// The forms in which stores of applications hold a text, each with a reader that shares no code with the erasure.
import { describe, expect, it } from 'vitest'
import { cutStrings } from '../values/value-decider.ts'
import { Fingerprints, mergeSpans } from './fingerprints.ts'

interface StoredForm {
  write(text: string): string
  read(stored: string): string
}
const chunks = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, 'gu')) ?? []
const wordsOf = (text: string) => text.split(/\s+/)
const untagged = (stored: string) => stored.replace(/<[^<>]*>/g, '')
const runs = (open: string, between: string, close: string): StoredForm => ({
  write: (text) => open + chunks(text, 5).join(between) + close,
  read: untagged,
})
const folded = (head: string, size: number, fold: string, foot: string): StoredForm => ({
  write: (text) => `${head}${chunks(text.replaceAll('\n', '\\n'), size).join(fold)}${foot}`,
  read: (stored) => stored.replaceAll(fold, ''),
})
const bytes = (encode: (text: string) => Buffer, decode: (bytes: Buffer) => string = String): StoredForm => ({
  write: (text) => JSON.stringify({ id: 7, data: encode(text).toString('base64') }),
  read: (stored) => decode(Buffer.from(JSON.parse(stored).data, 'base64')),
})
const wide = (isBig: boolean, mark = ''): StoredForm =>
  bytes(
    (text) => (isBig ? Buffer.from(mark + text, 'utf16le').swap16() : Buffer.from(mark + text, 'utf16le')),
    (read) => (isBig ? read.swap16() : read).toString('utf16le'),
  )
/** A text after its length, as binary formats write it. */
const measured = (head: number[], lengthOf: (length: number) => number[], foot: number[] = []) =>
  bytes((text) => {
    const content = Buffer.from(text)
    return Buffer.concat([Buffer.from([...head, ...lengthOf(content.length)]), content, Buffer.from(foot)])
  })
const twoBytes = (length: number) => [length >> 8, length & 255]
const content = [...Buffer.from('content')]
/** Longer words are two tokens. */
const tokens = (mark: { first?: string; next?: string; last?: string }) => (text: string) =>
  wordsOf(text).flatMap((word) =>
    word.length > 6
      ? [`${mark.first ?? ''}${word.slice(0, 4)}${mark.last ?? ''}`, `${mark.next ?? ''}${word.slice(4)}`]
      : [`${mark.first ?? ''}${word}`],
  )
const pieces = tokens({ next: '##' })
const marked = tokens({ first: 'Ġ' })
const everyThird = (text: string, change: (word: string) => string) =>
  text
    .split('\n')
    .map((line) =>
      line
        .split(' ')
        .map((word, n) => (n % 3 === 1 ? change(word) : word))
        .join(' '),
    )
    .join('\n')
const cues = (text: string) => text.split('\n').flatMap((line) => line.match(/(?:\S+ ?){1,3}/g) ?? [])

const signsOfBase32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const base32 = (text: string) =>
  chunks([...Buffer.from(text)].map((byte) => byte.toString(2).padStart(8, '0')).join(''), 5)
    .map((bits) => signsOfBase32[Number.parseInt(bits.padEnd(5, '0'), 2)])
    .join('')
const fromBase32 = (encoded: string) => {
  const bits = [...encoded].map((sign) => signsOfBase32.indexOf(sign).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2))).toString()
}

const forms: Record<string, StoredForm> = {
  'a vCard': folded('BEGIN:VCARD\r\nVERSION:3.0\r\nNOTE:', 17, '\r\n ', '\r\nEND:VCARD\r\n'),
  'a calendar': folded(
    'BEGIN:VCALENDAR\nBEGIN:VEVENT\nDESCRIPTION;LANGUAGE=en:',
    23,
    '\n\t',
    '\nEND:VEVENT\nEND:VCALENDAR\n',
  ),
  'a field of a calendar': folded('SUMMARY:', 30, '\r\n ', '\r\n'),
  'an entry of a directory': folded('dn: cn=x\ndescription: ', 20, '\n ', '\n'),
  'the header of an email': {
    write: (text) => `Subject: ${text.replace(/ (?=\S+ \S+$|\S{7})/gm, '\r\n ')}\r\nX-Mailer: x\r\n`,
    read: (stored) => stored.replaceAll('\r\n', ''),
  },
  'a continued parameter': {
    write: (text) =>
      `attachment;\r\n ${chunks(text.replaceAll('\n', ' '), 20)
        .map((part, n) => `filename*${n}="${part}"`)
        .join(';\r\n ')}`,
    read: (stored) => stored.replace(/";\r\n filename\*\d+="/g, ''),
  },
  'runs of a document': runs(
    '<w:p><w:r><w:t>',
    '</w:t></w:r><w:r w:rsidR="00C3"><w:rPr><w:b/><w:sz w:val="24"/></w:rPr><w:t xml:space="preserve">',
    '</w:t></w:r></w:p>',
  ),
  'runs between marks of a spelling checker': runs(
    '<w:p><w:r><w:t>',
    '</w:t></w:r><w:proofErr w:type="spellEnd"/><w:bookmarkEnd w:id="0"/><w:r><w:t xml:space="preserve">',
    '</w:t></w:r></w:p>',
  ),
  'runs of slides': runs('<a:p><a:r><a:t>', '</a:t></a:r><a:r><a:rPr b="1"/><a:t>', '</a:t></a:r></a:p>'),
  'spans of a text document': runs(
    '<text:p><text:span text:style-name="T1">',
    '</text:span><text:span text:style-name="T2">',
    '</text:span></text:p>',
  ),
  'a cell of a spreadsheet': runs(
    '<sst><si><r><t>',
    '</t></r><r><rPr><b/></rPr><t xml:space="preserve">',
    '</t></r></si></sst>',
  ),
  'sections of XML': {
    write: (text) =>
      `<note>${chunks(text, 5)
        .map((part) => `<![CDATA[${part}]]>`)
        .join('')}</note>`,
    read: (stored) => stored.replace(/<!\[CDATA\[|\]\]>|<\/?note>/g, ''),
  },
  'tokens with a sign where a word continues': {
    write: (text) => JSON.stringify({ tokens: ['[CLS]', ...pieces(text), '[SEP]'] }),
    read: (stored) => JSON.parse(stored).tokens.join(' ').replaceAll(' ##', ''),
  },
  'the same tokens in a line': {
    write: (text) => pieces(text).join(' '),
    read: (stored) => stored.replaceAll(' ##', ''),
  },
  'the same tokens in Python': {
    write: (text) =>
      `[${pieces(text.replaceAll("'", ''))
        .map((piece) => `'${piece}'`)
        .join(', ')}]`,
    read: (stored) => stored.replace(/', '##/g, '').replace(/', '|[[\]']/g, ' '),
  },
  'tokens with a sign at the end': {
    write: (text) => tokens({ last: '@@' })(text).join(' '),
    read: (stored) => stored.replaceAll('@@ ', ''),
  },
  'tokens with a sign for the space': {
    write: (text) => JSON.stringify(marked(text)),
    read: (stored) => JSON.parse(stored).join('').replaceAll('Ġ', ' '),
  },
  'the same tokens with spaces': {
    write: (text) => marked(text).join(' '),
    read: (stored) => stored.replaceAll(' ', '').replaceAll('Ġ', ' '),
  },
  'UTF-16': wide(false),
  'UTF-16 with a mark': wide(false, '\ufeff'),
  'UTF-16, higher bytes first': wide(true),
  'UTF-16 with a mark, higher bytes first': wide(true, '\ufeff'),
  MessagePack: measured([0x81, 0xa7, ...content, 0xda], twoBytes),
  'MessagePack with a short text': measured([0x82, 0xa2, 105, 100, 7, 0xa7, ...content, 0xd9], (length) => [length]),
  CBOR: measured([0xa1, 0x67, ...content, 0x79], twoBytes),
  'Protocol Buffers': measured([8, 150, 1, 18], (length) => [(length & 127) | 128, length >> 7], [24, 1]),
  'MessagePack in hexadecimal': {
    write: (text) => {
      const own = Buffer.from(text)
      return Buffer.concat([Buffer.from([0x81, 0xa7, ...content, 0xda, ...twoBytes(own.length)]), own]).toString('hex')
    },
    read: (stored) => Buffer.from(stored, 'hex').toString(),
  },
  'a buffer in JSON': {
    write: (text) => JSON.stringify({ body: Buffer.from(text).toJSON() }),
    read: (stored) => Buffer.from(JSON.parse(stored).body.data).toString(),
  },
  'a list of bytes in a log': {
    write: (text) => `read body=[${[...Buffer.from(text)].join(' ')}] after 7 ms`,
    read: (stored) => Buffer.from((/\[(.*)\]/.exec(stored)?.[1] ?? '').split(' ').map(Number)).toString(),
  },
  'versions of words': {
    write: (text) => everyThird(text, (word) => `[-another-]{+${word}+}`),
    read: (stored) => stored.replace(/\[-another-\]|\{\+|\+\}/g, ''),
  },
  'versions of words whose author removed them': {
    write: (text) => everyThird(text, (word) => `{--${word}--}{++another++}`),
    read: (stored) => stored.replace(/\{--|--\}|\{\+\+another\+\+\}/g, ''),
  },
  'a patch': {
    write: (text) =>
      `--- a/x\n+++ b/x\n@@ -1,4 +1,5 @@\n${cues(text)
        .map((cue) => `-old line\n+${cue.trim()}`)
        .join('\n')}\n`,
    read: (stored) => stored.replace(/^(?:-.*|\+\+\+.*|@@.*)\n/gm, '').replace(/\n\+?/g, ' '),
  },
  'Base32 in a link': {
    write: (text) => `otp://x?note=${base32(text)}&y=1`,
    read: (stored) => fromBase32(/note=(\w*)/.exec(stored)?.[1] ?? ''),
  },
  'a string of CSS': {
    write: (text) =>
      `a{content:"${text.replace(/[^a-zA-Z0-9.]/gu, (sign) => `\\${(sign.codePointAt(0) ?? 0).toString(16).padStart(6, '0')} `)}"}`,
    read: (stored) =>
      stored.replace(/\\([0-9a-f]{6}) /g, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16))),
  },
  'a terminal that moves over spaces': {
    write: (text) => text.replaceAll(' ', '\u001b[C'),
    read: (stored) => stored.replaceAll('\u001b[C', ' '),
  },
}

/** Of longer texts, MessagePack writes the length in two bytes. */
const isTooLong = (name: string, text: string) => name.includes('short text') && Buffer.byteLength(text) > 255

const sentences: Record<string, [erased: string, other: string]> = {
  English: [
    'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter',
    'The committee meets every second Tuesday about the annual budget of our little harbor library',
  ],
  German: [
    'Seit dem Frühjahr leide ich an Kobaltfieber und schlafe nachts im Krankenhaus über der Brücke',
    'Der Ausschuss für Straßenbäume trifft sich übermorgen wegen der Pläne für größere Gärten',
  ],
  Arabic: [
    'منذ الربيع الماضي أعاني من حمى نادرة وأسكن في المستشفى القديم قرب الجسر الحديدي',
    'تجتمع لجنة المكتبة كل يوم ثلاثاء لمناقشة الميزانية السنوية لمدينتنا الصغيرة عند الميناء',
  ],
  Russian: [
    'С прошлой весны я болею редкой лихорадкой и живу в больнице возле старого железного моста',
    'Комитет библиотеки собирается каждый второй вторник обсуждать годовой бюджет нашего маленького города',
  ],
}

describe.each(Object.keys(forms))('%s', (name) => {
  const { write, read } = forms[name] ?? { write: String, read: String }
  it.each(Object.keys(sentences))('loses the erased words and nothing of another author in %s', (language) => {
    const [erased = '', other = ''] = sentences[language] ?? []
    const words = new Fingerprints()
    words.add(erased)
    if (isTooLong(name, `${erased}.\n${other}.`)) return
    const stored = write(`${erased}.\n${other}.`)
    expect(words.runsIn(write(`${other}.`))).toEqual([])
    expect(words.runsIn(stored).length).toBeGreaterThan(0)
    const rest = cutStrings(stored, (text) => mergeSpans(words.runsIn(text))) ?? ''
    expect(words.runsIn(rest)).toEqual([])
    expect(read(rest)).toContain(`${other}.`)
    for (const word of wordsOf(erased)) if (word.length > 4) expect(read(rest)).not.toContain(word)
  })
  it.each(Object.keys(sentences))('is a source whose words are found as they are read in %s', (language) => {
    const [erased = '', other = ''] = sentences[language] ?? []
    const [source, words] = [new Fingerprints(), new Fingerprints()]
    source.add(write(`${erased}.`))
    words.add(erased)
    // A length may look like a part of the first word.
    expect(source.runsIn(erased).length).toBeGreaterThanOrEqual(words.runsIn(erased).length - 1)
    expect(source.runsIn(other)).toEqual([])
  })
})

const [erased = '', other = ''] = sentences.English ?? []
/** What remains of a stored text; null if nothing can. */
function erase(stored: string, sentence = erased): string | null {
  const words = new Fingerprints()
  words.add(sentence)
  const rest = cutStrings(stored, (text) => mergeSpans(words.runsIn(text)))
  expect(words.runsIn(rest ?? '')).toEqual([])
  return rest
}
const leftOf = (rest: string) => wordsOf(erased).filter((word) => word.length > 4 && rest.includes(word))
const thirds = erased.match(/(?:\S+ ?){1,3}/g)?.map((part) => part.trim()) ?? []

describe('a text that only looks like', () => {
  const looks: Record<string, (text: string) => string> = {
    'the tokens of a model, with a diagram': (text) => `cpu ▁▂▁▃▁▄\n${text}`,
    'the tokens of a model, in Maltese': (text) => `Ġorġ, Ġanni u Ġużeppi\n${text}`,
    'the tokens of a model, with headings': (text) => `intro\n##Heading\n${text}`,
    'the tokens of a model, with addresses': (text) => `mail a@@ b\n${text}`,
    'folded lines': (text) => `NOTE: minutes\n more\n${text}`,
    'folded lines of a card': (text) => `BEGIN:VCARD\nNOTE:x\nEND:VCARD\n \n${text}`,
    'a patch': (text) => `@@ -1,2 +1,2 @@\n-a\n+b\n${text}`,
    'versions of words': (text) => `[-old-] {+new+}\n${text}`,
  }
  const texts: Record<string, string> = {
    'a conversation': [...thirds.map((part) => `Anna Lee: ${part}`), `Bob: ${other}`].join('\n'),
    'an indented conversation': [...thirds.map((part) => ` Anna Lee: ${part}`), ` Bob: ${other}`].join('\n'),
    'a log': [...thirds, other].map((part) => `2026-01-02T10:30:00Z INFO [worker-1] ${part}`).join('\n'),
    'indented lines': [...thirds, other].map((part) => ` ${part}`).join('\n'),
    'a list': [...thirds, other].map((part) => `- ${part}`).join('\n'),
    quotations: [...thirds, other].map((part) => `> ${part}`).join('\n'),
    'hyphenated lines': `${erased.replace(/(cobal)(t)/, '$1-\n$2').replace(/(Rhabar)/, '$1-\n')}. ${other}.`,
    identifiers: `${erased.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase())} = 1\n${other}`,
    notes: `${thirds.join(' [1] ')}. ${other}.`,
  }
  it.each(Object.keys(looks).flatMap((look) => Object.keys(texts).map((text) => [look, text] as const)))(
    '%s is read as %s',
    (look, text) => {
      const rest = erase(looks[look]?.(texts[text] ?? '') ?? '') ?? ''
      expect(leftOf(rest)).toEqual([])
      expect(rest).toContain(other)
      // Labels of lines whose words are cut are cut with them.
      expect(rest).not.toContain('Anna')
      const head = looks[look]?.('').trim() ?? ''
      expect(rest.replace(/\s+/g, ' ')).toContain(head.replace(/\s+/g, ' '))
    },
  )
  it('a patch loses no sign before what another author wrote', () => {
    expect(erase(`@@ -1,3 +1,2 @@\n-${erased}\n-${other}\n+more\n`)).toContain(`\n-${other}\n+more\n`)
  })
  it.each(['+++', '---'])('a line of a patch that begins with %s is cut, and no other', (signs) => {
    const rest = erase(`@@ -1 +1 @@\n-a\n+b\n${signs} ${erased}\n ${other}\n`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toMatch(/^@@ -1 \+1 @@\n-a\n\+b\n/)
    expect(rest).toContain(` ${other}`)
  })
  it('a patch of a log is read without times', () => {
    const lines = thirds.map((part) => `+2026-01-02T10:30:00Z INFO [w] ${part}\n`)
    const rest = erase(`--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n${lines.join('')}-${other}\n`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toContain(`-${other}`)
  })
  it.each(['x = list[-1]', 'a = {+b}; c[d-]'])('a patch of a program with %s is read', (program) => {
    const lines = thirds.map((part) => `-${program}\n+${part}\n`)
    const rest = erase(`--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n${lines.join('')}-${other}\n`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toContain(`-${program}`)
    expect(rest).toContain(`-${other}`)
  })
  it('headings without a space are read as the lines of a conversation', () => {
    const rest = erase(`${thirds.map((part) => `##Anna: ${part}\n`).join('')}##Bob: ${other}`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toContain(`##Bob: ${other}`)
  })
  it('code below a heading keeps its quotation marks', () => {
    const code = thirds.map((part) => `"${part} "`).join(' +\n    ')
    const rest = erase(`## Log\nString s = ${code};\nString t = "${other}";`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toBe(erase(`Log\nString s = ${code};\nString t = "${other}";`)?.replace('Log', '## Log'))
  })
  const real: Record<string, string> = {
    'a calendar with a folded line': 'BEGIN:VCALENDAR\r\nDESCRIPTION:a long des\r\n cription\r\nEND:VCALENDAR\r\n',
    'an entry of a directory': 'dn: cn=x\ndescription: abc\n def\n',
    'real tokens': 'un ##believ ##able\n',
    'real tokens with a sign for the space': 'Ġhello Ġworld Ġfoo\n',
    'a real patch': '@@ -1,2 +1,2 @@\n-a\n+b\n',
  }
  const code: Record<string, (words: string, rest: string) => string> = {
    'the parts of a string': (words, rest) =>
      `String s = ${thirds.map((part) => JSON.stringify(words === '' ? ' ' : `${part} `)).join(' +\n    ')};\nString t = "${rest}";\n`,
    'a word of a shell': (words, rest) => `echo "${words}" \\\n  "${rest}"\n`,
    'an assignment': (words, rest) => `const a = '${words}',\n  b = '${rest}'\n`,
    'a row of a table': (words, rest) => `1,"${words}","${rest}"\n 2,"${rest}","${rest}"\n`,
    options: (words, rest) => `--a="${words}"\n  --b="${rest}"\n`,
  }
  it.each(Object.keys(real).flatMap((look) => Object.keys(code).map((name) => [name, look] as const)))(
    '%s beside %s keeps every quotation mark',
    (name, look) => {
      const write = code[name] ?? String
      const seen = (text: string) => text.replace(/\s+/g, ' ').trim()
      for (const [before, after] of [[real[look], ''] as const, ['', real[look]] as const])
        expect(seen(erase(`${before}${write(erased, other)}${after}`) ?? '')).toBe(
          seen(`${before}${write('', other)}${after}`),
        )
    },
  )
  it('a list beside a patch keeps what another author wrote', () => {
    const list = `- I have suffered from cobalt fever\n- ${erased.slice(34)}\n- ${other}\n`
    expect(erase(`@@ -1,4 +1,4 @@\n-x\n+y\n\nAnna wrote:\n${list}`)).toContain(`- ${other}`)
  })
  it('patches of patches are read once', () => {
    const level = (depth: number) => {
      const signs = '-'.repeat(depth)
      return `${signs}@@ -1 +1 @@\n${signs}-a${depth} word here\n${signs}+b${depth} other word`
    }
    const words = new Fingerprints()
    words.add(Array.from({ length: 120 }, (_, depth) => level(depth)).join('\n'))
    expect(words.isEmpty).toBe(false)
  })
})

describe('elements', () => {
  it.each([
    'a:string',
    'm:Text',
    'v:line',
    'w:ins',
    'w:delText',
    'text:title',
    'mc:item',
    'w:t',
    'a:t',
    'text:span',
    't',
  ])('%s separates values that have no spaces at their edges', (name) => {
    const values = [...thirds, other].map((part) => `<${name}>${part}</${name}>`)
    const rest = erase(`<doc xmlns="x">${values.join('')}</doc>`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toContain(`<${name}>${other}</${name}>`)
  })
  it('without a sheet around them are no cell of a spreadsheet', () => {
    const stored = `<lang><si>x </si></lang>${[...thirds, other].map((part) => `<t>${part}</t>`).join('')}<t> y</t>`
    expect(leftOf(erase(stored) ?? '')).toEqual([])
  })
  it.each([
    ['<img alt="', '" src="a.png">'],
    ['<a title="', '" href="/a">'],
    ["<img src=a alt='", "'>"],
  ])('keep the quotation marks of an attribute whose words are cut: %s…%s', (before, after) => {
    for (const count of [1, 2, 5]) {
      const elements = (text: string) => `${before}${text}${after}\n`.repeat(count)
      expect(erase(`${elements(erased)}${other}`)).toBe(`${elements('')}${other}`)
    }
  })
  it('with a section of XML at their end separate words', () => {
    const words = new Fingerprints()
    words.addName('Iris Probe')
    const stored = `<a><![CDATA[Iris ]]><![CDATA[Probe]]></a><b>the cat</b>`
    const rest = cutStrings(stored, (text) => mergeSpans(words.namesIn(text))) ?? ''
    expect(rest).not.toMatch(/Iris|Probe/)
    expect(rest).toContain('<b>the cat</b>')
  })
  it('of a message are values of their own', () => {
    const author = '<m:Send><m:Author>Jane</m:Author><m:Text>'
    const rest = erase(`${author}${erased}</m:Text><m:Time>10:00</m:Time><m:Text>${other}</m:Text></m:Send>`)
    expect(rest).toBe(`${author}</m:Text><m:Time>10:00</m:Time><m:Text>${other}</m:Text></m:Send>`)
  })
  it('that refer to something are a part of the text', () => {
    const text = erased.replace('cobalt fever', '<ref target="x">cobalt fever</ref>')
    const rest = erase(`<p>${text}. ${other}.</p>`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toContain(other)
  })
  it('keep the note of another author inside a sentence', () => {
    const stored = erased.replace('fever', `fever<ref>${other}</ref>`)
    expect(erase(stored)).toContain(other)
  })
  it('of tracked changes separate what they contain', () => {
    const changed = '<w:ins><w:r><w:t>fever</w:t></w:r></w:ins><w:del><w:r><w:delText>cold</w:delText></w:r></w:del>'
    const [before = '', after = ''] = erased.split('fever')
    const rest = erase(
      `<w:p><w:r><w:t xml:space="preserve">${before}</w:t></w:r>${changed}<w:r><w:t>${after}. ${other}.</w:t></w:r></w:p>`,
    )
    expect(rest).toContain(other)
  })
  it('are cut from sections of XML that consist of whole words', () => {
    const rest = erase(`<c>${[...thirds, other].map((part) => `<![CDATA[${part}]]>`).join('')}</c>`) ?? ''
    expect(leftOf(rest)).toEqual([])
    expect(rest).toContain(other)
  })
})

describe('UTF-16 in Base64', () => {
  it.each([
    `Thanks, all 😀 – ${erased}`,
    `Dear all “Ω ж”, ${erased}`,
    `\u001b[1m${erased}`,
    `Notes for all:\n\uf0b7 ${erased}`,
    `${erased}.\u0085`,
  ])('is read with any signs after its first letters: %j', (text) => {
    for (const encoding of ['base64', 'hex'] as const) {
      const stored = Buffer.from(`${text}. ${other}`, 'utf16le').toString(encoding)
      const rest = Buffer.from(erase(stored) ?? '', encoding).toString('utf16le')
      expect(leftOf(rest)).toEqual([])
      expect(rest).toContain(other)
    }
  })
})

describe('an encoded value', () => {
  it.each([
    ['const a = 1;\n', "\nimport x from 'y';\n"],
    ['{\n  "name": "x",\n', '\n  "version": "1.0.0"\n}\n'],
    ['-----BEGIN NOTE-----\n', '\n-----END NOTE-----\n'],
    ['', `\n\n${other}\n`],
  ])('at the end of a line is read with its padding, and the next line remains: %j', (before, after) => {
    for (const dots of [0, 3]) {
      const text = erased.padEnd(erased.length + ((4 - (erased.length % 3)) % 3) + dots, '.')
      const encoded = Buffer.from(text).toString('base64')
      expect(encoded).toMatch(/[^=]==$/)
      const rest = erase(`${before}${encoded}${after}`) ?? ''
      expect(rest.replace(/\s+/g, ' ')).toContain(after.replace(/\s+/g, ' ').trim())
      expect(rest).toContain(before.trim())
      expect(leftOf(rest + Buffer.from(rest, 'base64').toString())).toEqual([])
    }
  })
  it.each([
    ['prefix\n', '\nsuffix words'],
    ['a\n', '\n\nsuffix'],
    ['a\r\n', '\r\n\r\nsuffix'],
    ['{"a":1}\n', '\n{"b":2}'],
  ])('with one sign of padding at the end of a line is read, also after a first erasure: %j', (before, after) => {
    const [first, second] = ['yesterday I told the nurse at Halden clinic that my left knee hurts', erased]
    const decoded = (value: string) =>
      value.replace(/[A-Za-z0-9+/]{16,}=*/g, (signs) => Buffer.from(signs, 'base64').toString())
    for (const end of ['', '.', '..']) {
      const value = `${before}${Buffer.from(`${first}\n${second}${end}`).toString('base64')}${after}`
      const words = new Fingerprints()
      words.add(first)
      const rest = cutStrings(value, (text) => mergeSpans(words.runsIn(text))) ?? ''
      expect(decoded(rest)).toContain(second)
      expect(decoded(rest)).not.toContain('Halden')
      const both = erase(rest) ?? ''
      expect(leftOf(decoded(both))).toEqual([])
      expect(both.replace(/\s+/g, ' ')).toContain(after.replace(/\s+/g, ' ').trim())
    }
  })
  const five = Array.from({ length: 5 }, (_, n) => `${erased}. ${other} ${n}.`).join('\n')
  it('loses a sentence that it contains five times', () => {
    const rest = Buffer.from(erase(Buffer.from(five).toString('base64')) ?? '', 'base64').toString()
    expect(leftOf(rest)).toEqual([])
    expect(rest.match(new RegExp(other, 'g'))).toHaveLength(5)
  })
  it('loses a sentence after a label in one place and without one in another', () => {
    const sentence = 'My illness: cobalt fever since the house in Rhabarberstrasse burned down last winter'
    const labelled = (sentence.match(/(?:\S+ ?){1,3}/g) ?? []).map((part) => `Anna: ${part.trim()}`).join('\n')
    const notebook = JSON.stringify({ cells: [{ source: sentence }, { source: other }, { source: labelled }] })
    const rest = Buffer.from(erase(Buffer.from(notebook).toString('base64'), sentence) ?? '', 'base64').toString()
    expect(rest).not.toMatch(/illness|cobalt|fever/)
    expect(JSON.parse(rest).cells[1].source).toBe(other)
  })
  it('loses a name that it contains nine times', () => {
    const words = new Fingerprints()
    words.addName('Iris Probe')
    const stored = Buffer.from(`Iris Probe called. ${other}.\n`.repeat(9)).toString('base64')
    const rest = cutStrings(stored, (text) => mergeSpans(words.namesIn(text))) ?? ''
    const read = Buffer.from(rest, 'base64').toString()
    expect(read).not.toMatch(/Iris|Probe/)
    expect(read.match(new RegExp(other, 'g'))).toHaveLength(9)
  })
})
