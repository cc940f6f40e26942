import { expect, it, test } from 'vitest'
import { drawn } from '#lib/testing/planted-texts.ts'
import { redact } from './redaction.ts'
import { scan } from './scanner.ts'
import { credentialSpans } from './secrets/credentials.ts'

const d = drawn(41)
const bytesOf = (text: string) => [...Buffer.from(text)]
const hex = (value: number, length = 2) => value.toString(16).padStart(length, '0')
const base64 = (text: string) => Buffer.from(text).toString('base64')
const each = (text: string, write: (sign: string) => string) => [...text].map(write).join('')
const isPlain = (sign: string) => /[A-Za-z0-9 ]/.test(sign)

/** Encodings whose result contains the value where the text contains it, sign by sign. */
const bySign: Record<string, (text: string) => string> = {
  'percent-encoding': encodeURIComponent,
  'percent-encoding of every sign': (text) =>
    bytesOf(text)
      .map((byte) => `%${hex(byte)}`)
      .join(''),
  'percent-encoding, twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'decimal references': (text) => each(text, (sign) => (isPlain(sign) ? sign : `&#${sign.codePointAt(0)};`)),
  'hexadecimal references': (text) => each(text, (sign) => `&#x${hex(sign.codePointAt(0) ?? 0, 1)};`),
  'named references': (text) =>
    each(text, (sign) => {
      const names: Record<string, string> = { '@': 'commat', '.': 'period', ' ': 'nbsp', ':': 'colon', '"': 'quot' }
      return names[sign] === undefined ? sign : `&${names[sign]};`
    }),
  'escapes of JSON': (text) => each(text, (sign) => (isPlain(sign) ? sign : `\\u${hex(sign.charCodeAt(0), 4)}`)),
  'escapes of JSON for every sign': (text) => each(text, (sign) => `\\u${hex(sign.charCodeAt(0), 4)}`),
  'escaped code points': (text) => each(text, (sign) => `\\u{${hex(sign.codePointAt(0) ?? 0, 1)}}`),
  'escaped bytes': (text) =>
    bytesOf(text)
      .map((byte) => `\\x${hex(byte)}`)
      .join(''),
  'octal escapes': (text) =>
    bytesOf(text)
      .map((byte) => `\\${byte.toString(8).padStart(3, '0')}`)
      .join(''),
  'escapes of a shell': (text) => text.replace(/[^\p{L}\p{N}\n]/gu, (sign) => `\\${sign}`),
  'zero-width spaces': (text) => [...text].join('\u200b'),
  'soft hyphens': (text) => text.replace(/(\w{2})(?=\w)/g, '$1\u00ad'),
  'word joiners': (text) => text.replace(/(\w{3})(?=\w)/g, '$1\u2060'),
  'signs of full width': (text) => text.replace(/[!-~]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) + 0xfee0)),
  'Arabic digits': (text) => text.replace(/\d/g, (sign) => String.fromCharCode(0x660 + Number(sign))),
  'Devanagari digits': (text) => text.replace(/\d/g, (sign) => String.fromCharCode(0x966 + Number(sign))),
  'mathematical digits': (text) => text.replace(/\d/g, (sign) => String.fromCodePoint(0x1d7ce + Number(sign))),
  'mathematical letters': (text) =>
    text.replace(/[a-z]/g, (sign) => String.fromCodePoint(0x1d5ee + sign.charCodeAt(0) - 97)),
}
/** Encodings of a text as a whole. */
const whole: Record<string, (text: string) => string> = {
  'a form': (text) => `a=1&q=${encodeURIComponent(text).replaceAll('%20', '+')}&z=2`,
  JSON: (text) => JSON.stringify({ a: 1, b: text, c: 2 }),
  'JSON in JSON': (text) => JSON.stringify({ log: JSON.stringify({ b: text }) }),
  'a cell of a table': (text) => `id,x\n7,"${text.replaceAll('"', '""')}"\n`,
  'an attribute': (text) => `<a title="${text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"/>`,
  Base64: base64,
  'Base64 for addresses': (text) => `x.${Buffer.from(text).toString('base64url')}.y`,
  'a data URL': (text) => `{"url":"data:text/plain;base64,${base64(text)}"}`,
  'Base64, twice': (text) => base64(base64(text)),
  'Base64 in lines': (text) =>
    (base64(`Words before the value, which fill the first line. ${text} and after`).match(/.{1,76}/g) ?? []).join('\n'),
  'percent-encoded Base64': (text) => encodeURIComponent(base64(text)),
  hexadecimal: (text) => Buffer.from(text).toString('hex'),
  'a command of PowerShell': (text) => `powershell -enc ${Buffer.from(text, 'utf16le').toString('base64')}`,
}
const base62 = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'
const digits = (count: number) => d.signs(count, '123456789')
const lower = (count: number) => d.signs(count, 'abcdefghiklmnoprstuvwz')
const cards = ['4539578763621486', '5425233430109903', '374245455400126']
const values: Record<string, () => [kind: string, text: string]> = {
  email: () => ['email', `write ${lower(5)}.${lower(6)}@${lower(7)}-mail.org`],
  'national phone': () => ['phone', `Tel: 030 ${digits(4)} ${digits(4)}`],
  'international phone': () => ['phone', `call +49 30 ${digits(7)} now`],
  card: () => ['card', `card ${d.one(cards)}`],
  IBAN: () => ['iban', 'IBAN DE89 3704 0044 0532 0130 00'],
  'social security number': () => ['ssn', `SSN 536-${digits(2)}-${digits(4)}`],
  password: () => ['api_key', `password: Tr0${lower(3)}4${lower(3)}8xQ9`],
  token: () => ['api_key', `token ghp_${d.signs(36, base62)}`],
  secret: () => ['api_key', `"client_secret": "k8Jd${d.signs(16, base62)}7Zq2X9"`],
}

const lead = 'Ordinary words, then '
const tail = ', and some more of them.'
it('finds every kind of value in every encoding, and redacts nothing else', () => {
  const missed: string[] = []
  for (const [encoding, write] of Object.entries({ ...bySign, ...whole }))
    for (const [value, make] of Object.entries(values))
      for (let round = 0; round < 3; round++) {
        const [kind, text] = make()
        const written = `${lead}${write(text)}${tail}`
        const { text: redacted } = redact(written)
        const isFound = scan(written).some((one) => one.kind === kind)
        const isRemoved = !scan(redacted).some((one) => one.kind === kind)
        if (!isFound || !isRemoved || !redacted.startsWith(lead) || !redacted.endsWith(tail))
          missed.push(`${value} in ${encoding}: ${written} became ${redacted}`)
      }
  expect(missed).toEqual([])
})
it('the range of a value is the range of its encoded signs', () => {
  const missed: string[] = []
  for (const [encoding, write] of Object.entries(bySign)) {
    const [name, value] = ['Email: ', 'bob.lee@acme-mail.org']
    const sign = encoding === 'zero-width spaces' ? '\u200b' : ''
    const written = `${lead}${write(name)}${sign}${write(value)}${tail}`
    const found = scan(written).map(({ start, end }) => written.slice(start, end))
    if (found.join() !== write(value)) missed.push(`${encoding}: ${found.join()}`)
  }
  expect(missed).toEqual([])
})
test.each([
  [`{"auth":"${base64(`https://deploy:${'x9Kq'}${'27Lm'}@registry.acme-mail.org/npm`)}"}`],
  [`url=${encodeURIComponent(`postgres://app:${'x9Kq'}${'27Lm'}@db.acme-mail.org/app`)}`],
])('finds the definite credential in %s', (text) => {
  expect(credentialSpans(text)).toHaveLength(1)
})
test.each([
  ['Tel03045678912', 'phone'],
  ['tel_03045678912', 'phone'],
  ['Phone4155552671', 'phone'],
  ['Телефон:89161234567', 'phone'],
  ['Tel+4917123456789', 'phone'],
  ['+4917123456789Fax', 'phone'],
  ['https://wa.me/491712345678', 'phone'],
  ['card4539578763621486', 'card'],
  ['card-4539578763621486-paid', 'card'],
  ['VISA4539578763621486', 'card'],
  ['SSN536-90-4399', 'ssn'],
  ['ip84.23.11.9', 'ip'],
  [`密码${'Tr0ub4'}dor8xQ9`, 'api_key'],
  [`密码是${'Tr0ub4'}dor8xQ9`, 'api_key'],
  [`keyAKIAZ3MSJV4WYQPL${'KD7N'}`, 'api_key'],
])('finds the value that is glued to a name in %s', (text, kind) => {
  expect(scan(text).map((one) => one.kind)).toEqual([kind])
})
test.each([
  'sha256-9mK1Vw0y0ZbqS3uYvS8n5p0yqgqVx4f3k1cM2m0r8bY=',
  'const someFunctionNameWithManyWords = otherFunctionNameWithManyWords()',
  '/usr/local/share/documentation/packages/something/index.html',
  'GET /search?q=caf%C3%A9%20in%20K%C3%B6ln&page=2',
  'Tom &amp; Jerry &lt;3 &nbsp; 2024&ndash;2025',
  String.raw`"\u00e4\u00f6 \x1b[0m \n done 12\.5"`,
  'می‌خواهم ✅ 👩‍💻',
  'Step ① 10 ② 20 ③ 30',
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  base64('An ordinary sentence without any value, but with 12 words and 3 numbers.'),
])('finds nothing in %s', (text) => {
  expect(scan(text)).toEqual([])
})
