import { createHash, generateKeyPairSync } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bech32, bech32m, createBase58check, hex } from '@scure/base'
import { entropyToMnemonic } from '@scure/bip39'
import { wordlist as czech } from '@scure/bip39/wordlists/czech.js'
import { wordlist as english } from '@scure/bip39/wordlists/english.js'
import { wordlist as french } from '@scure/bip39/wordlists/french.js'
import { wordlist as italian } from '@scure/bip39/wordlists/italian.js'
import { wordlist as japanese } from '@scure/bip39/wordlists/japanese.js'
import { wordlist as korean } from '@scure/bip39/wordlists/korean.js'
import { wordlist as portuguese } from '@scure/bip39/wordlists/portuguese.js'
import { wordlist as simplifiedChinese } from '@scure/bip39/wordlists/simplified-chinese.js'
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js'
import { wordlist as traditionalChinese } from '@scure/bip39/wordlists/traditional-chinese.js'
import { countrySpecs } from 'ibantools'
import { type CountryCode, getCountries, getExampleNumber } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import type { SensitiveKind } from '#lib/domains/pii/findings.ts'

export const wordlists = {
  english,
  spanish,
  french,
  italian,
  portuguese,
  czech,
  japanese,
  korean,
  simplifiedChinese,
  traditionalChinese,
} as const
type Language = keyof typeof wordlists
const languages = Object.keys(wordlists).filter((name): name is Language => name in wordlists)

/** A pseudo-random generator of numbers from 0 to 1. The seed determines the sequence. */
export function drawn(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296
  }
  const below = (max: number): number => Math.floor(next() * max)
  const one = <T>(list: readonly T[]): T => {
    const picked = list[below(list.length)]
    if (picked === undefined) throw new Error('nothing to draw from')
    return picked
  }
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => below(256))
  const signs = (count: number, alphabet: string): string =>
    Array.from({ length: count }, () => alphabet[below(alphabet.length)] ?? '').join('')
  return { next, below, one, bytes, signs }
}
type Drawn = ReturnType<typeof drawn>

const digits = '0123456789'
const base62 = `${digits}ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz`
const lowerHex = '0123456789abcdef'
const base58check = createBase58check(sha256)

function eip55(address: Uint8Array): string {
  const lower = hex.encode(address)
  const hash = hex.encode(keccak_256(new TextEncoder().encode(lower)))
  return `0x${[...lower].map((sign, at) => (Number.parseInt(hash[at] ?? '0', 16) >= 8 ? sign.toUpperCase() : sign)).join('')}`
}
function withLuhn(body: string): string {
  for (const check of digits) {
    const sum = [...`${body}${check}`].reverse().reduce((total, sign, at) => {
      const value = Number(sign) * (at % 2 === 1 ? 2 : 1)
      return total + (value > 9 ? value - 9 : value)
    }, 0)
    if (sum % 10 === 0) return body + check
  }
  throw new Error('one of ten is always right')
}
function withIbanCheck(country: string, bban: string): string {
  const value = [...`${bban}${country}00`].map((sign) => Number.parseInt(sign, 36)).join('')
  return `${country}${String(98n - (BigInt(value) % 97n)).padStart(2, '0')}${bban}`
}
function crcOf(text: string): string {
  let rest = crc32(text)
  let written = ''
  for (; rest > 0; rest = Math.floor(rest / 62)) written = (base62[rest % 62] ?? '') + written
  return written.padStart(6, '0')
}
const grouped = (text: string, size: number, gap: string): string =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size)).join(gap)

const gapOf = ({ one }: Drawn): string => one([' ', ' ', '', '-', '\u00a0', '\n'])
const keys = [
  () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }),
  () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey.export({ type: 'sec1', format: 'pem' }),
  () =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'nobody',
    }),
] as const
const ibanCountries = Object.entries(countrySpecs).flatMap(([country, { chars, bban_regexp: form }]) =>
  chars && form ? [{ country, form }] : [],
)
const phoneCountries = getCountries()

/** A value of a kind, with the text around it that makes it recognisable; `{}` marks its position. */
interface Planted {
  kind: SensitiveKind
  value: string
  around?: string
  /** Start and end within the value, without numbers and marks around its first and last word. */
  place?: { start: number; end: number }
}

const makers = {
  ethereum_address: (d) => {
    const address = d.bytes(20)
    const plain = hex.encode(address)
    return d.one([eip55(address), eip55(address), `0x${plain}`, `0x${plain.toUpperCase()}`])
  },
  email: (d) =>
    `${d.signs(1 + d.below(8), 'abcdefghijklmnopqrstuvwxyz')}${d.one(['', '.x', '+tag', '_y', '-z'])}${d.signs(1, 'abc9')}@${d.signs(3 + d.below(9), 'abcdefghijklmnopqrstuvwxyz')}${d.one(['', '-mail', '.sub'])}.${d.one(['example', 'com', 'org', 'co.uk', 'de', 'museum', 'xn--p1ai', '中国', 'io'])}`,
  phone: (d) => {
    for (;;) {
      const number = getExampleNumber(d.one<CountryCode>(phoneCountries), examples)
      if (number?.isValid())
        return d.one([number.formatInternational(), number.number, number.formatInternational().replaceAll(' ', '-')])
    }
  },
  iban: (d) => {
    const { country, form } = d.one(ibanCountries)
    const bban = [...form.matchAll(/\[([^\]]+)\](?:\{(\d+)\})?/g)]
      .map(([, kind, count = '1']) =>
        d.signs(Number(count), kind === '0-9' ? digits : kind === 'A-Z' ? base62.slice(10, 36) : base62.slice(0, 36)),
      )
      .join('')
    const iban = withIbanCheck(country, bban)
    return grouped(iban, 4, gapOf(d))
  },
  card: (d) => {
    const [prefix, length] = d.one([
      ['4', 16],
      ['4', 19],
      ['51', 16],
      ['55', 16],
      ['2221', 16],
      ['2720', 16],
      ['34', 15],
      ['37', 15],
      ['6011', 16],
      ['65', 16],
      ['3528', 16],
      ['3589', 16],
      ['36', 14],
      ['300', 14],
      ['62', 16],
      ['62', 19],
    ] as const)
    const number = withLuhn(prefix + d.signs(length - prefix.length - 1, digits))
    const gap = gapOf(d)
    if (length === 15) return [number.slice(0, 4), number.slice(4, 10), number.slice(10)].join(gap)
    if (length === 14) return [number.slice(0, 4), number.slice(4, 10), number.slice(10)].join(gap)
    return grouped(number, 4, gap)
  },
  ssn: (d) => {
    const area = 1 + d.below(898)
    return `${String(area === 666 ? 667 : area).padStart(3, '0')}-${String(1 + d.below(99)).padStart(2, '0')}-${String(1 + d.below(9999)).padStart(4, '0')}`
  },
  ip: (d) =>
    d.next() < 0.6
      ? `${1 + d.below(126)}.${d.below(256)}.${d.below(256)}.${d.below(256)}`
      : d.one([
          `2001:db8:${d.signs(4, lowerHex)}::${d.signs(3, '123456789')}`,
          `2a0${d.signs(1, digits)}:${Array.from({ length: 7 }, () => `1${d.signs(3, lowerHex)}`).join(':')}`,
          `fe80::${d.signs(4, '123456789')}:${d.signs(4, '12abc')}`,
        ]),
  bitcoin_address: (d) => {
    const program = d.bytes(20)
    return d.one([
      () => base58check.encode(Uint8Array.from([0, ...program])),
      () => base58check.encode(Uint8Array.from([5, ...program])),
      () => bech32.encode('bc', [0, ...bech32.toWords(program)]),
      () => bech32.encode('bc', [0, ...bech32.toWords(program)]).toUpperCase(),
      () => bech32m.encode('bc', [1, ...bech32m.toWords(d.bytes(32))]),
    ])()
  },
  api_key: (d) => {
    const body = d.signs(30, base62)
    const own = `kp_${d.signs(43, base62)}`
    return d.one([
      () => `ghp_${body}${crcOf(body)}`,
      () => `gho_${body}${crcOf(body)}`,
      () => `${own}${crcOf(own)}`,
      () => `sk-ant-api03-${d.signs(92, `${base62}_-`)}9A`,
      () => `sk-proj-${d.signs(73, `${base62}_-`)}1T3BlbkFJ${d.signs(40, base62)}`,
      () => `sk-${d.signs(20, base62)}T3BlbkFJ${d.signs(20, base62)}`,
      () => `AKIA${d.signs(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
      () => `AIzaSy${d.signs(33, `${base62}_-`)}`,
      () => `xoxb-${d.signs(12, digits)}-${d.signs(12, digits)}-${d.signs(24, base62)}`,
      () => `glpat-${d.signs(19, base62)}7`,
      () => `sk_live_${d.signs(24, base62)}`,
      () => `SG.${d.signs(22, base62)}.${d.signs(43, base62)}`,
      () => `github_pat_${d.signs(22, base62)}_${d.signs(59, base62)}`,
      () => `npm_${body}${crcOf(body)}`,
      () => `hf_${d.signs(34, base62.slice(10))}`,
    ])()
  },
} satisfies Partial<Record<SensitiveKind, (d: Drawn) => string>>

function seed(d: Drawn): Planted {
  const language = d.one(languages)
  const entropy = d.bytes(d.one([16, 16, 16, 20, 24, 28, 32]))
  const words = entropyToMnemonic(entropy, [...wordlists[language]]).split(/[ \u3000]/)
  const composed = d.next() < 0.5 ? words.map((word) => word.normalize('NFC')) : words
  if (language.endsWith('Chinese') && d.next() < 0.3)
    return {
      kind: 'seed_phrase',
      value: composed.join(''),
      around: d.one(['助记词：{}。', '我的助記詞是「{}」。', 'mnemonic: {}\n']),
    }
  const value = d.one([
    () => composed.join(' '),
    () => composed.join(language === 'japanese' ? '\u3000' : ' '),
    () => composed.join('\n'),
    () => composed.join(', '),
    () => composed.map((word, at) => `${at + 1}. ${word}`).join('\n'),
    () => composed.map((word) => `"${word}"`).join(', '),
    () => composed.map((word) => `<li>${word}</li>`).join('\n'),
    () => grouped4(composed),
    () => (language === 'english' ? composed.map((word) => word.toUpperCase()).join(' ') : composed.join('  ')),
  ])()
  const upper = value.toLowerCase() === value ? value : value.toLowerCase()
  const [first, last] = [composed[0] ?? '', composed.at(-1) ?? '']
  return {
    kind: 'seed_phrase',
    value,
    place: { start: upper.indexOf(first), end: upper.lastIndexOf(last) + last.length },
  }
}
const grouped4 = (words: readonly string[]): string =>
  Array.from({ length: Math.ceil(words.length / 4) }, (_, at) => words.slice(at * 4, at * 4 + 4).join(' ')).join('\r\n')

function privateKey(d: Drawn): Planted {
  const body = d.signs(64, lowerHex)
  return d.one<() => Planted>([
    () => ({
      kind: 'private_key',
      value: `0x${body}`,
      around: d.one([
        'private key: {}',
        'PRIVATE_KEY={}',
        '"privateKey": "{}"',
        '{} (the private key)',
        '私钥：{}',
        'signing key\n{}',
      ]),
    }),
    () => ({
      kind: 'private_key',
      value: body,
      around: d.one(['PRIVATE_KEY={}', 'deployer private key {}', 'secret_key: {}']),
    }),
    () => ({ kind: 'private_key', value: base58check.encode(Uint8Array.from([0x80, ...d.bytes(32), 1])) }),
    () => ({ kind: 'private_key', value: base58check.encode(Uint8Array.from([0x80, ...d.bytes(32)])) }),
    () => ({ kind: 'private_key', value: String(d.one(keys)()).trim() }),
    () => ({ kind: 'private_key', value: String(d.one(keys)()).trim().replaceAll('\n', '\\n') }),
  ])()
}

/** Values of every validated kind, one after another. */
function planted(d: Drawn): Planted {
  const pick = d.one(['seed_phrase', 'private_key', ...Object.keys(makers)])
  if (pick === 'seed_phrase') return seed(d)
  if (pick === 'private_key') return privateKey(d)
  const kind = Object.keys(makers).find((name): name is keyof typeof makers => name === pick)
  if (kind === undefined) throw new Error(`nobody makes ${pick}`)
  return { kind, value: makers[kind](d) }
}

const flipped = (text: string, at: number): string => {
  const sign = text.charAt(at)
  return (
    text.slice(0, at) + (sign === sign.toUpperCase() ? sign.toLowerCase() : sign.toUpperCase()) + text.slice(at + 1)
  )
}
const otherDigit = (sign: string): string => String((Number(sign) + 1) % 10)
/** Twelve words of the word list with a wrong checksum and no valid phrase among them. */
function wrongPhrase(d: Drawn): string {
  const words = entropyToMnemonic(d.bytes(16), [...english]).split(' ')
  const last = english.indexOf(words[11] ?? '')
  return [...words.slice(0, 11), english[(last & ~15) | ((last + 1 + d.below(15)) & 15)]].join(' ')
}

/** A lookalike that is not a secret. */
export function nearMiss(d: Drawn): string {
  return d.one<() => string>([
    () => `tx hash 0x${d.signs(64, lowerHex)}`,
    () => `https://explorer.example/tx/0x${d.signs(64, lowerHex)}`,
    () => `block 0x${d.signs(64, lowerHex)} was final`,
    () => `sha256 ${d.signs(64, lowerHex)}`,
    () => `commit ${d.signs(40, lowerHex)}`,
    () =>
      `${d.signs(8, lowerHex)}-${d.signs(4, lowerHex)}-4${d.signs(3, lowerHex)}-a${d.signs(3, lowerHex)}-${d.signs(12, lowerHex)}`,
    () => `<img src="data:image/png;base64,${Buffer.from(d.bytes(300)).toString('base64')}">`,
    () => wrongPhrase(d),
    () => {
      const address = eip55(d.bytes(20))
      const at = [...address].findIndex((sign, place) => place > 1 && /[a-f]/i.test(sign))
      const other = flipped(address, at)
      return other.slice(2) === other.slice(2).toLowerCase() || other.slice(2) === other.slice(2).toUpperCase()
        ? 'none'
        : other
    },
    () => {
      for (;;) {
        const card = makers.card(d)
        const number = card.replaceAll(/\D/g, '')
        // The first 16 digits of a longer number may be a valid card, which is found.
        if (number.length > 16 && withLuhn(number.slice(0, 15)) === number.slice(0, 16)) continue
        return card.slice(0, -1) + otherDigit(card.slice(-1))
      }
    },
    () => {
      const iban = makers.iban(d)
      return iban.slice(0, 2) + otherDigit(iban.charAt(2)) + iban.slice(3)
    },
    () => `ghp_${'your-token-here-'.repeat(2)}1234`,
    () => {
      const address = base58check.encode(Uint8Array.from([0, ...d.bytes(20)]))
      return flipped(address, address.search(/[a-hj-km-z](?=[^a-z]*$)/))
    },
    () => bech32m.encode('bc', [0, ...bech32m.toWords(d.bytes(20))]),
    () => `000-${d.signs(2, '123')}-${d.signs(4, '123')} or 9${d.signs(2, digits)}-12-3456`,
    () => `version ${d.below(9)}.${d.below(20)}.${d.below(20)}.${d.below(99)}`,
    () => `300.${d.below(256)}.1.2 and 1.2.3.4.5.6`,
    () => `at 12:${10 + d.below(49)}:30 on 2026-11-${10 + d.below(18)}`,
    () => `icon@2x.png, pkg@1.2.3 and @somebody`,
    () => `sk-learn and sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`,
    () => `ISBN 978-3-16-14841${d.below(9)}-0, ${1_700_000_000_000 + d.below(1e9)} ms`,
    () => `+999 ${d.signs(3, digits)} ${d.signs(4, digits)}, +000 12345678`,
    () => `-----BEGIN PUBLIC KEY-----\n${Buffer.from(d.bytes(60)).toString('base64')}\n-----END PUBLIC KEY-----`,
    () => `A file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.`,
    () => `std::vector<int> a::b::c; aa:bb:cc:dd:ee:ff`,
    () => `${createHash('sha1').update(d.bytes(4)).digest('base64')} ${Buffer.from(d.bytes(32)).toString('base64')}`,
  ])()
}

const prose = [
  'The build failed because the lock file named another version than the manifest does, so compare both of them before you run it a second time.',
  'Every retry costs about a minute; raise the limit to 30 seconds when the queue is longer than 200 entries, and note what was changed and why.',
  'When the market opens the spread is wide, and it is better to wait until the first half hour is over, since nothing is lost by being patient.',
  '构建失败，因为锁文件与清单中的版本不一致。请先比较两者，然后再次运行安装程序，这大约需要一分钟的时间，并且要记录所作的更改和原因，以便以后查阅，不要在没有确认的情况下继续。',
  'Der Übersetzer meldet ein unbekanntes Symbol, weil die Datei veraltet ist; zuerst wird sie erneuert, dann läuft der Vorgang noch einmal von vorn durch.',
] as const
const markup = [
  '{}',
  '{}',
  '{}.',
  '({})',
  '**{}**',
  '`{}`',
  '<b>{}</b>',
  '<td>{}</td>',
  '"{}"',
  '| {} |',
  '> {}',
  'value: {};',
  '[{}]',
  '- {}',
  '{"field": "{}"}',
  '{},',
] as const

export interface PlantedText {
  text: string
  /** The expected findings in order. */
  expected: { kind: SensitiveKind; start: number; end: number }[]
}
/** Prose with values and near misses in various markup, far enough apart not to affect each other. */
export function plantedCorpus(
  random: number,
  parts: number,
  {
    miss = nearMiss,
    texts = prose,
    frames = markup,
  }: {
    miss?: (d: Drawn) => string
    texts?: readonly string[]
    frames?: readonly string[]
  } = {},
): PlantedText {
  const d = drawn(random)
  let text = ''
  const expected: PlantedText['expected'] = []
  for (let part = 0; part < parts; part++) {
    text += `${d.one(texts)}${d.one([' ', '\n', '\n\n'])}`
    const isMiss = d.next() < 0.4
    const found = isMiss ? undefined : planted(d)
    const value = found?.value ?? miss(d)
    const inner = (found?.around ?? '{}').replace('{}', () => value)
    const frame = d.one(frames)
    const written = value.includes('\n') ? inner : frame.replace('{}', () => inner)
    const at = written.indexOf(value)
    const { start, end } = found?.place ?? { start: 0, end: value.length }
    if (found) expected.push({ kind: found.kind, start: text.length + at + start, end: text.length + at + end })
    text += `${written}${d.one([' ', '\n', '\n\n'])}`
  }
  return { text, expected }
}

/** Counts of findings at exactly the expected places, of missed ones and of false ones. */
export function compared(
  { expected }: Pick<PlantedText, 'expected'>,
  found: readonly { kind: SensitiveKind; start: number; end: number }[],
) {
  const name = ({ kind, start, end }: { kind: SensitiveKind; start: number; end: number }) => `${kind} ${start} ${end}`
  const [wanted, reported] = [new Set(expected.map(name)), new Set(found.map(name))]
  return {
    hits: [...wanted].filter((one) => reported.has(one)).length,
    missed: expected.filter((one) => !reported.has(name(one))),
    wrong: found.filter((one) => !wanted.has(name(one))),
  }
}

const heldOutProse = [
  'We looked at the figures of the third quarter again, and the committee will decide about them as soon as the auditors have sent what they owe us by now.',
  'Das Treffen wurde verschoben; bitte den Anhang lesen und bis zum Ende der Woche antworten, damit alle Beteiligten rechtzeitig Bescheid wissen und planen.',
  'El informe no estaba completo, así que lo devolvimos con una lista de preguntas que deben contestarse antes de que termine el mes, sin falta y por escrito.',
  '会议改到下周举行，请各位先阅读附件，并在周末之前把意见告诉我们，这样大家才能够按时准备好所有需要的材料，也请不要忘记通知其他没有参加的同事，谢谢各位的理解与配合。',
  '会議は来週に延期されました。添付の資料を読んで、週末までに意見を送ってください。そうすれば、全員が間に合うように準備できます。よろしくお願いいたします。',
] as const
const heldOutMarkup = [
  '~~{}~~',
  '<p class="x">{}</p>',
  '```\n{}\n```',
  '{} —',
  '«{}»',
  '# {}',
  '* {}',
  '\t{}\t',
  'a = [{}]',
  '{}?',
  '"k":"{}",',
  '<{}>',
  '{}\u00a0',
  '→ {}',
] as const
const heldOutMisses = (d: Drawn): string =>
  d.one<() => string>([
    () => `receipt of 0x${d.signs(64, lowerHex)}`,
    () => `merkle root: ${d.signs(64, lowerHex)}`,
    () => `IMEI 86${d.signs(13, digits)}`,
    () => `order ${d.signs(6, digits)}-${d.signs(8, digits)}`,
    () => `${d.signs(40, lowerHex)} refs/heads/main`,
    () => `etag "${d.signs(32, lowerHex)}"`,
    () => `lat 52.${d.signs(7, digits)}, lon 13.${d.signs(7, digits)}`,
    () => `$1,${d.signs(3, digits)},${d.signs(3, digits)}.50 on 12/31/2025`,
    () => `v${d.below(9)}.${d.below(9)}.${d.below(9)}.${d.below(9)}`,
    () => `git@host.example:team/project.git`,
    () => `AKIA is a prefix, sk- is another one, and kp_ is ours`,
    () => `${d.signs(22, base62)}==`,
    () => `eth 0x${d.signs(39, lowerHex)} is too short, 0x${d.signs(41, lowerHex)} too long`,
    () => `card ending in ${d.signs(4, digits)}, phone ext. ${d.signs(3, digits)}`,
    () => 'this letter will arrive before winter and bring good news about your family trip',
    () => `npm install left-pad@1.${d.below(9)}.0 --save`,
    () => `GB00 ${d.signs(4, 'ABCDE')} ${d.signs(4, digits)}`,
    () => `sha512-${Buffer.from(d.bytes(64)).toString('base64')}`,
    () => `${d.signs(3, digits)}-${d.signs(2, '123')}-${d.signs(5, '123')}`,
  ])()
/** The held-out third, which developers do not inspect: other prose, other markup, other near misses. */
export const heldOut = (random: number, parts: number): PlantedText =>
  plantedCorpus(random, parts, { miss: heldOutMisses, texts: heldOutProse, frames: heldOutMarkup })
