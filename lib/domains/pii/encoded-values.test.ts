import { expect, it, test } from 'vitest'
import { asWhole, base64, bySign } from '#lib/testing/encodings.ts'
import { drawn } from '#lib/testing/planted-texts.ts'
import { redact } from './redaction.ts'
import { scan } from './scanner.ts'
import { credentialSpans } from './secrets/credentials.ts'

const d = drawn(41)
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
  for (const [encoding, write] of Object.entries({ ...bySign, ...asWhole }))
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
