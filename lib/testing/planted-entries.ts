import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58, bech32, bech32m, createBase58check } from '@scure/base'
import { entropyToMnemonic } from '@scure/bip39'
import { wordlist as english } from '@scure/bip39/wordlists/english.js'
import { wordlist as japanese } from '@scure/bip39/wordlists/japanese.js'
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js'
import { type JsonTree, type ShareableEntry, stripEntry } from '#lib/domains/clades/strip-rules.ts'
import { crcInBase62 } from '#lib/domains/pii/secrets/vendor-keys.ts'

/** Mulberry32, a pseudo-random generator. */
function random(seed: number) {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const upTo = (max: number): number => Math.floor(next() * max)
  const one = <T>(list: readonly T[]): T => {
    const found = list[upTo(list.length)]
    if (found === undefined) throw new Error('nothing to choose from')
    return found
  }
  const bytes = (count: number): Uint8Array => Uint8Array.from({ length: count }, () => upTo(256))
  const signs = (alphabet: string, count: number): string =>
    Array.from({ length: count }, () => one([...alphabet])).join('')
  return { next, upTo, one, bytes, signs }
}
type Random = ReturnType<typeof random>
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const checked = createBase58check(sha256)
const emails = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function eip55(lower: string): string {
  const hash = hex(keccak_256(new TextEncoder().encode(lower)))
  return [...lower].map((sign, at) => (Number.parseInt(hash.charAt(at), 16) >= 8 ? sign.toUpperCase() : sign)).join('')
}
const withDigit = (body: string): string => {
  for (let last = 0; last < 10; last++) {
    const digits = [...body, String(last)].map(Number).reverse()
    const sum = digits.reduce((all, digit, at) => all + (at % 2 ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit), 0)
    if (sum % 10 === 0) return body + last
  }
  throw new Error('no check digit')
}
const iban = (r: Random): string => {
  const body = `37040044${r.signs('0123456789', 10)}`
  const check = 98n - (BigInt(`${body}131400`) % 97n)
  return `DE${String(check).padStart(2, '0')}${body}`
}
const price = (r: Random) => `${10 + r.upTo(80)},${String(r.upTo(1000)).padStart(3, '0')}.${1 + r.upTo(98)}`
const known = ['Zephyrine Testperson', 'zephyrine@testperson.example', '测试人']

/** Every kind of secret as text. `tail`: the part that must be removed when the words before it may remain. */
const secrets: Record<string, (r: Random) => { written: string; tail?: string }> = {
  ethereum: (r) => ({ written: `0x${eip55(hex(r.bytes(20)))}` }),
  ethereumLower: (r) => ({ written: `0x${hex(r.bytes(20))}` }),
  ethereumMisspelt: (r) => ({ written: `0x${r.signs('ABCDEFabcdef0123456789', 40)}` }),
  bitcoin: (r) => ({ written: checked.encode(Uint8Array.of(0, ...r.bytes(20))) }),
  segwit: (r) => ({ written: bech32.encode('bc', [0, ...bech32.toWords(r.bytes(20))]) }),
  taproot: (r) => ({ written: bech32m.encode('bc', [1, ...bech32m.toWords(r.bytes(32))]) }),
  cosmos: (r) => ({ written: bech32.encode('cosmos', bech32.toWords(r.bytes(20))) }),
  tron: (r) => ({ written: checked.encode(Uint8Array.of(0x41, ...r.bytes(20))) }),
  solana: (r) => ({ written: base58.encode(Uint8Array.of(1 + r.upTo(255), ...r.bytes(31))) }),
  privateHex: (r) => ({ written: `${r.one(['0x', ''])}${hex(r.bytes(32))}` }),
  wif: (r) => ({ written: checked.encode(Uint8Array.of(0x80, ...r.bytes(32), 1)) }),
  pem: (r) => ({
    written: `-----BEGIN PRIVATE KEY-----\n${Buffer.from(r.bytes(48)).toString('base64')}\n-----END PRIVATE KEY-----`,
  }),
  seed: (r) => ({
    written: entropyToMnemonic(r.bytes(r.one([16, 32])), r.one([english, spanish, japanese])),
  }),
  anthropic: (r) => ({ written: `sk-ant-api03-${r.signs(emails, 48)}` }),
  openai: (r) => ({ written: `sk-proj-${r.signs(emails, 40)}` }),
  github: (r) => {
    const body = r.signs(emails, 30)
    return { written: `ghp_${body}${crcInBase62(body)}` }
  },
  ours: (r) => {
    const body = `kp_${r.signs(emails, 43)}`
    return { written: body + crcInBase62(body) }
  },
  amazon: (r) => ({ written: `AKIA${r.signs('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}` }),
  jwt: (r) => ({ written: `eyJ${r.signs(emails, 30)}.eyJ${r.signs(emails, 40)}.${r.signs(emails, 43)}` }),
  bearer: (r) => {
    const tail = r.signs(emails, 40)
    return { written: `Authorization: Bearer ${tail}`, tail }
  },
  password: (r) => {
    const tail = `${r.signs(emails, 10)}7!`
    return {
      written: `${r.one(['password', 'passphrase', 'api_secret', 'API key', 'secret_key', '密码'])}${r.one([': ', '=', ' = ', ' is '])}${tail}`,
      tail,
    }
  },
  userinfo: (r) => {
    const tail = r.signs(emails, 12)
    return { written: `postgres://bot:${tail}@db.example.net/x`, tail }
  },
  email: (r) => ({
    written: `${r.signs('abcdefghij', 8)}.${r.signs('abcdefghij', 5)}@${r.signs('abcdefgh', 6)}.example.org`,
  }),
  phone: (r) => ({
    written: r.one([
      `+44 20 7946 0${r.signs('0123456789', 3)}`,
      `+4930${r.signs('123456789', 8)}`,
      `+1 (415) 555-2${r.signs('0123456789', 3)}`,
    ]),
  }),
  ip: (r) => ({ written: `${11 + r.upTo(80)}.${10 + r.upTo(200)}.${10 + r.upTo(200)}.${10 + r.upTo(200)}` }),
  ipv6: (r) => ({
    written: `2a02:${r.signs('123456789abcdef', 4)}:${r.signs('123456789abcdef', 4)}::${r.signs('123456789abcdef', 4)}`,
  }),
  iban: (r) => ({
    written: r.one([(text: string) => text, (text: string) => text.replace(/(.{4})(?=.)/g, '$1 ')])(iban(r)),
  }),
  card: (r) => ({ written: withDigit(`4${r.signs('0123456789', 14)}`) }),
  ssn: (r) => ({ written: `${100 + r.upTo(500)}-${10 + r.upTo(89)}-${1000 + r.upTo(8999)}` }),
  street: (r) => ({
    written: `${100 + r.upTo(8000)} ${r.one(['Elm', 'Old Mill', 'High'])} ${r.one(['Street', 'Road', 'Avenue'])}`,
  }),
  titled: (r) => ({ written: `${r.one(['Mr.', 'Dr.', 'Mrs.'])} ${r.one(['Testperson', 'Sampleton', 'Mustermann'])}` }),
  knownName: (r) => ({ written: r.one(known) }),
  entry: (r) => {
    const tail = price(r)
    return {
      written: `${r.one(['entry price', 'entry at', 'exit price of', 'exit at', 'stop loss at', 'take-profit:', 'target price', 'liquidation price near', 'Entry_price ='])} ${tail}`,
      tail,
    }
  },
  deed: (r) => {
    const tail = price(r)
    return {
      written: `${r.one(['bought', 'sold', 'shorted', 'longed'])} ${1 + r.upTo(90)}.5 ${r.one(['BTC', 'ETH', 'contracts'])} ${r.one(['at', '@', 'around'])} ${tail}`,
      tail,
    }
  },
  prose: (r) => {
    const tail = r.one([price(r), `${60 + r.upTo(9)}${100 + r.upTo(900)}`, `${10 + r.upTo(80)}.${10 + r.upTo(90)}`])
    const [other, asset] = [price(r), r.one(['BTC', 'ETH', 'ACME'])]
    return {
      written: r.one([
        `Bought ${asset} at ${tail} and closed at ${other}`,
        `bought ${asset} at ${other} and closed at ${tail}`,
        `bought 3.5 ${asset} at ${other} and sold at ${tail}`,
        `shorted 10 ${asset} @ ${other}, covered @ ${tail}`,
        `sold at ${tail}`,
        `took profit at ${tail}`,
        `SL ${tail} TP ${other}`,
        `SL ${other} TP ${tail}`,
        `stop at ${tail}, target ${other}`,
        `stop at ${other}, target ${tail}`,
        `closed the position at ${tail}`,
        `I bought 500 shares of ${asset} for ${tail} each`,
        `long ${tail} ${asset}`,
        `we went long 3 ${asset} from ${tail}`,
        `closed half of my short from ${other} at ${tail}`,
        `stopped out at ${tail}`,
        `targets: ${other}, ${tail}`,
        `size: ${tail}%`,
        `以${tail}买入，在${other}卖出`,
        `平仓于${tail}`,
      ]),
      tail,
    }
  },
  passwordOf: (r) => {
    const tail = `${r.signs(emails, 10)}7`
    return { written: `${r.one(['password for the bot', 'passphrase of my wallet', 'API key for it'])}: ${tail}`, tail }
  },
  size: (r) => {
    const tail = `${2 + r.upTo(90)}.${1 + r.upTo(9)}${1 + r.upTo(9)}`
    return {
      written:
        `${r.one(['position size', 'position sizing of', 'leverage', 'notional of', 'exposure is', 'allocation:'])} ${tail} ${r.one(['BTC', 'ETH', 'lots', ''])}`.trimEnd(),
      tail,
    }
  },
  chinesePrice: (r) => {
    const tail = price(r)
    return { written: `${r.one(['入场价', '止损', '目标价', '出场价'])}${tail}`, tail }
  },
}
/** Names under which a number or a numeric text must be removed. */
const tradeNames = [
  'entry',
  'exit',
  'entry_price',
  'entryPrice',
  'exit_price',
  'avg_entry',
  'avgFillPrice',
  'stop_loss',
  'stopLoss',
  'take_profit',
  'tp',
  'position_size',
  'positionSize',
  'size',
  'qty',
  'quantity',
  'notional',
  'notional_usd',
  'leverage',
  'contracts',
  'order_price',
  'limit_order_price',
  'entry_level',
  'exposure',
  'cost_basis',
  'liquidation_price',
  'entry at',
  'target_price',
  'holdings',
  '入场价',
  '仓位',
  'buy_price',
  'sold_amount',
]
const secretNames = [
  'password',
  'api_key',
  'apiKey',
  'api_secret',
  'private_key',
  'privateKey',
  'mnemonic',
  'access_token',
  'passphrase',
  'credentials',
  'wallet_key',
  'secret',
]
const personNames = [
  'author',
  'owner',
  'trader',
  'created_by',
  'telegram',
  'username',
  'email',
  'phone',
  'full_name',
  'firstName',
]

const kindsOfEntry = ['insight', 'heuristic', 'warning', 'causal_link']
const claims = [
  'Fade the first move after funding turns negative; thin books make it fail.',
  'Momentum that starts in Asia tends to fade before the London open.',
  'Warning: three failures of 12 when volatility rises above 0.8 within an hour.',
  'Open interest rises 20% before wicks widen; the effect lasts about 15 minutes.',
  'Do not average down — 均值回归 works only when spreads are calm.',
  'Correlation of −0.61 between basis and realised volatility, over 240 samples.',
  'When the RSI(14) crosses 30 from below and volume doubles, wait for a retest.',
  'Stop at step 3 of the checklist, or after 2 attempts; a short that is held for 3 days decays.',
  'Buy when RSI(14) is below 30 and volume doubles; sell only after 3 failures of 20-minute windows.',
  'Reduce risk into announcements; re-enter on the second candle\nand never on the first.',
]
const words = ['funding', 'momentum', 'mean-reversion', 'liquidity', 'basis', 'asia-session', 'volatility', '均值回归']
const observed = [
  'funding_rate',
  'volatility',
  'sample_size',
  'correlation',
  'win_rate',
  'lag_minutes',
  'open_interest_change',
  'rsi',
  'half_life_hours',
  'market_price',
]

const uuid = (r: Random) => hex(r.bytes(16)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
const ownId = (r: Random, prefix: string) => `${prefix}_${r.signs(emails, 22)}`
const instant = (r: Random) => new Date(1_700_000_000_000 + r.upTo(99_999_999) * 1000).toISOString()

function clean(r: Random, depth = 0): { [name: string]: JsonTree } {
  return {
    claim: r.one(claims),
    ...Object.fromEntries(
      Array.from({ length: 1 + r.upTo(3) }, () => [r.one(observed), Math.round(r.next() * 1e4) / 1e4]),
    ),
    causal: [{ cause: r.one(claims), effect: r.one(claims), holds: r.next() > 0.5, since: null }],
    ...(depth < 3 && r.next() > 0.4 && { [r.one(['nested', 'regime', 'evidence'])]: clean(r, depth + 1) }),
  }
}
const entryOf = (r: Random): ShareableEntry => ({
  kind: r.one(kindsOfEntry),
  content: clean(r),
  confidence: Math.round(r.next() * 1000) / 1000,
  tags: Array.from({ length: r.upTo(4) }, () => r.one(words)),
  provenance: {
    units: [`kp:unit:${uuid(r)}`, uuid(r)],
    entry: ownId(r, 'ent'),
    observed_at: instant(r),
    at: 1_700_000_000 + r.upTo(99_999_999),
    tx_hash: `0x${hex(r.bytes(32))}`,
    block: 19_000_000 + r.upTo(999_999),
    commit: hex(r.bytes(20)),
  },
  parents: [ownId(r, 'ent'), ownId(r, 'shr'), uuid(r)].slice(0, r.upTo(4)),
  valid_from: instant(r),
  valid_until: r.next() > 0.5 ? instant(r) : null,
})

/** Nests a value under names without meaning. */
const deep = (r: Random, value: JsonTree): JsonTree => {
  let whole = value
  for (let level = 1 + r.upTo(9); level > 0; level--) whole = { [r.one(['a', 'b', 'main', 'inner'])]: whole }
  return whole
}
/** A value with its name next to it. */
const paired = (r: Random, name: string, value: JsonTree): JsonTree =>
  r.one<JsonTree>([
    { [r.one(['name', 'key', 'label'])]: name, value },
    [{ key: name, value, kept: true }],
    [[name, value]],
  ])

type Path = (string | number)[]
/** All objects of a value with their paths. */
function objectsIn(value: JsonTree, path: Path = []): { path: Path; object: { [name: string]: JsonTree } }[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap((one, at) => objectsIn(one, [...path, at]))
  return [{ path, object: value }, ...Object.entries(value).flatMap(([name, one]) => objectsIn(one, [...path, name]))]
}
const spellings = (secret: string) => [secret, JSON.stringify(secret).slice(1, -1)]
const leaves = (payload: ShareableEntry, literal: string): boolean => {
  const whole = JSON.stringify(payload)
  return spellings(literal).some((one) => whole.toLowerCase().includes(one.toLowerCase()))
}

export interface SharingFault {
  /** `left`: a secret was not removed. `changed`: a harmless value was changed. */
  what: 'left' | 'changed'
  /** The kind and the place, never the secret. */
  how: string
  specimen: string
}

/** Shares one generated entry: reports secrets that were not removed and harmless values that were changed. */
function faultsOf(r: Random): SharingFault[] {
  const faults: SharingFault[] = []
  const left = (how: string, specimen: string) => faults.push({ what: 'left', how, specimen })
  const changed = (how: string, specimen: string) => faults.push({ what: 'changed', how, specimen })
  const names = Object.keys(secrets)
  const entry = entryOf(r)
  const before = JSON.stringify(entry)
  const retained = stripEntry(entry, { names: known })
  if (JSON.stringify(retained.payload) !== before || Object.keys(retained.removed).length > 0)
    changed('a clean entry', `${before} → ${JSON.stringify(retained)}`)

  const planted: { how: string; literal: string }[] = []
  const expected: { how: string; isRetained: (payload: ShareableEntry) => boolean }[] = []
  const secretOf = () => {
    const how = r.one(names)
    const { written, tail = written } = secrets[how]?.(r) ?? { written: '' }
    return { how, written, tail }
  }
  const target = r.one(objectsIn(entry.content))
  const other = r.one([...objectsIn(entry.content), ...objectsIn(entry.provenance)])
  // A secret within a text, between other words.
  const within = secretOf()
  const [ahead, behind] = [r.one(claims), r.one(claims)]
  const [open, close] = r.one([
    [' ', ' '],
    [' (', ') '],
    [' "', '" '],
    ['\n', '\n'],
    [' `', '` '],
    [': ', '; '],
  ])
  target.object.note = `${ahead}${open}${within.written}${close}${behind}`
  planted.push({ how: `${within.how} within`, literal: within.tail })
  // A secret without context, under a name without meaning.
  const bare = secretOf()
  other.object.misc = r.one<(text: string) => JsonTree>([
    (text) => text,
    (text) => [text, r.one(words)],
    (text) => ({ deep: [{ er: text }] }),
  ])(bare.written)
  planted.push({ how: `${bare.how} alone`, literal: bare.tail })
  // A secret as a key.
  const name = secretOf()
  const held = r.one(claims)
  r.one(objectsIn(entry.content)).object[name.written] = { held }
  planted.push({ how: `${name.how} as a key`, literal: name.tail })
  // Below a key that still names a credential, the value is a credential itself.
  if (name.how !== 'bearer')
    expected.push({
      how: name.how,
      isRetained: (payload) => objectsIn(payload.content).some(({ object }) => object.held === held),
    })
  // Secrets in tags, parents and provenance.
  const [tag, parent, origin] = [secretOf(), secretOf(), secretOf()]
  entry.tags = [...entry.tags, tag.written]
  entry.parents = [...entry.parents, parent.written]
  r.one(objectsIn(entry.provenance)).object.source = origin.written
  for (const [where, { how, tail }] of Object.entries({ tag, parent, origin }))
    planted.push({ how: `${how} as ${where}`, literal: tail })
  // Numbers and texts whose key implies a trade.
  const amount = 1000 + r.upTo(8_000_000) / 7
  const trade = r.one(tradeNames)
  r.one(objectsIn(entry.content)).object[trade] = r.one<JsonTree>([
    amount,
    String(amount),
    `${amount} USDT`,
    { price: amount },
    [amount],
    deep(r, amount),
  ])
  const beside = 1000 + r.upTo(8_000_000) / 7
  r.one(objectsIn(entry.content)).object.pair = paired(r, r.one(tradeNames), r.one<JsonTree>([beside, String(beside)]))
  planted.push({ how: 'number beside its name', literal: String(beside) })
  planted.push({ how: `number as ${trade}`, literal: String(amount) })
  const word = `${r.signs(emails, 9)}x`
  const secretName = r.one(secretNames)
  r.one(objectsIn(entry.content)).object[secretName] = r.one<JsonTree>([
    word,
    [word],
    { value: word },
    deep(r, word),
    deep(r, [word]),
  ])
  planted.push({ how: `word as ${secretName}`, literal: word })
  const second = `${r.signs(emails, 9)}y`
  r.one(objectsIn(entry.content)).object.setting = paired(r, r.one(secretNames), second)
  planted.push({ how: 'word beside its name', literal: second })
  const person = `${r.one(['Quentina', 'Ulfilas', 'Xaviera'])} ${r.one(['Testperson', 'Sampleton'])}${r.upTo(9)}`
  r.one([...objectsIn(entry.content), ...objectsIn(entry.provenance)]).object[r.one(personNames)] = r.one<JsonTree>([
    person,
    { value: person },
    deep(r, person),
  ])
  planted.push({ how: 'person by name', literal: person })
  const nick = `${r.signs('abcdefghij', 7)}${10 + r.upTo(90)}`
  r.one(objectsIn(entry.content)).object[r.one(['author', 'trader', 'owner'])] = r.one<JsonTree>([
    { value: nick },
    { [r.one(['id', 'handle', 'inner'])]: { value: nick } },
  ])
  planted.push({ how: 'what somebody is called by', literal: nick })
  // Words of a seed phrase in a list, and a key as bytes.
  const phrase = entropyToMnemonic(r.bytes(16), english).split(' ')
  r.one(objectsIn(entry.content)).object.list = r.one<JsonTree>([
    phrase,
    Object.fromEntries(phrase.map((one, at) => [`w${at}`, one])),
  ])
  planted.push(
    { how: 'phrase in pieces', literal: JSON.stringify(phrase.slice(0, 3)).slice(1, -1) },
    { how: 'phrase in pieces', literal: `"w2":"${phrase[2]}"` },
  )
  const raw = [...r.bytes(32)]
  r.one(objectsIn(entry.content)).object.raw = raw
  planted.push({ how: 'bytes of a key', literal: raw.slice(0, 6).join(',') })

  const { payload, removed } = stripEntry(entry, { names: known })
  for (const { how, literal } of planted) if (leaves(payload, literal)) left(how, literal)
  for (const { how, isRetained } of expected) if (!isRetained(payload)) changed('what stood under', how)
  const was: ShareableEntry = JSON.parse(before)
  for (const field of ['kind', 'confidence', 'valid_from', 'valid_until'] as const)
    if (payload[field] !== was[field]) changed(field, field)
  was.tags.forEach((one, at) => {
    if (payload.tags[at] !== one) changed('tag', one)
  })
  was.parents.forEach((one, at) => {
    if (payload.parents[at] !== one) changed('parent', one)
  })
  for (const [field, tree] of [
    ['content', was.content],
    ['provenance', was.provenance],
  ] as const)
    for (const { path, object } of objectsIn(tree)) {
      let now: JsonTree = payload[field]
      for (const step of path)
        now =
          (typeof now === 'object' && now !== null
            ? Object.entries(now).find(([key]) => key === String(step))?.[1]
            : null) ?? null
      for (const [key, value] of Object.entries(object)) {
        if (typeof value === 'object' && value !== null) continue
        const found = typeof now === 'object' && now !== null && !Array.isArray(now) ? now[key] : undefined
        if (found !== value) changed(field, `${[...path, key].join('.')}: ${String(value)} → ${String(found)}`)
      }
    }
  const note = objectsIn(payload.content)
    .map(({ object }) => object.note)
    .find((one) => typeof one === 'string')
  if (typeof note !== 'string' || !note.startsWith(ahead.slice(0, -1)) || !note.endsWith(behind))
    changed('note', `${ahead} ~ ${within.written} ~ ${behind} → ${note}`)
  const again = stripEntry(payload, { names: known })
  if (JSON.stringify(again.payload) !== JSON.stringify(payload)) changed('again', JSON.stringify(again.removed))
  if (Object.values(removed).reduce((all: number, one) => all + (one ?? 0), 0) < 9)
    left('too few were told', JSON.stringify(removed))
  return faults
}

/** Shares generated entries with secrets of every kind in every field, and returns the faults. */
export function sharingFaults(seed: number, entries: number): SharingFault[] {
  const r = random(seed)
  return Array.from({ length: entries }, () => faultsOf(r)).flat()
}
/** Seeds of entries that developers inspect, and of held-out entries, of which they only see kinds and counts. */
export const sharingSeeds = { seen: 20_261_122, heldOut: 77_340_611 }

/** Kinds and counts of faults, for held-out entries. */
export function countedFaults(faults: readonly SharingFault[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { what, how } of faults) counts[`${what}: ${how}`] = (counts[`${what}: ${how}`] ?? 0) + 1
  return counts
}
