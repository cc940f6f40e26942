import { sha256 } from '@noble/hashes/sha2.js'
import { hex } from '@scure/base'
import { entropyToMnemonic } from '@scure/bip39'
import { describe, expect, it, test } from 'vitest'
import {
  compared,
  drawn,
  heldOut,
  nearMiss,
  type PlantedText,
  plantedCorpus,
  wordlists,
} from '#lib/testing/planted-texts.ts'
import type { SensitiveFinding } from './findings.ts'
import { redact } from './redaction.ts'
import { scan } from './scanner.ts'
import { firstHashByte, maxHashed } from './secrets/seed-phrases.ts'

const reported = (text: string, findings: readonly SensitiveFinding[] = scan(text)) =>
  findings.map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)

describe('published test vectors', () => {
  /** The entropies of BIP-39’s reference vectors (Trezor). */
  const entropies = [
    '00000000000000000000000000000000',
    '7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f',
    '80808080808080808080808080808080',
    'ffffffffffffffffffffffffffffffff',
    '000000000000000000000000000000000000000000000000',
    '7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f',
    '808080808080808080808080808080808080808080808080',
    'ffffffffffffffffffffffffffffffffffffffffffffffff',
    '0000000000000000000000000000000000000000000000000000000000000000',
    '7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f',
    '8080808080808080808080808080808080808080808080808080808080808080',
    'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
    '9e885d952ad362caeb4efe34a8e91bd2',
    '6610b25967cdcca9d59875f5cb50b0ea75433311869e930b',
    '68a79eaca2324873eacc50cb9c6eca8cc68ea5d936f98787c60c7ebc74e6ce7c',
    'c0ba5a8e914111210f2bd131f3d5e08d',
    '6d9be1ee6ebd27a258115aad99b7317b9c8d28b6d76431c3',
    '9f6a2878b2520799a44ef18bc7df394e7061a224d2c33cd015b157d746869863',
    '23db8160a31d3e0dca3688ed941adbf3',
    '8197a4a47f0425faeaa69deebc05ca29c0a5b5cc76ceacc0',
    '066dca1a2bb7e8a1db2832148ce9933eea0f3ac9548d793112d9a95c9407efad',
    'f30f8c1da665478f49b001d94c5fc452',
    'c10ec20dc3cd9f652c7fac2f1230f7a3c828389a14392f05',
    'f585c11aec520db57dd353c69554b21a89b20fb0650966fa0a9d6f74fd989d8f',
  ]
  test.each(Object.entries(wordlists))('BIP-39 in %s', (_, list) => {
    for (const entropy of entropies) {
      const phrase = entropyToMnemonic(hex.decode(entropy), [...list])
      expect(reported(`the words:\n${phrase}\n`)).toEqual([`seed_phrase ${phrase}`])
    }
  })
  test.each([
    'ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic',
    'vessel ladder alter error federal sibling chat ability sun glass valve picture',
  ])('finds the phrase: %s', (phrase) => {
    expect(scan(phrase)).toEqual([{ kind: 'seed_phrase', start: 0, end: phrase.length, score: 0.97, action: 'block' }])
  })
  test.each([
    'legal winner thank year wave sausage worth useful legal winner thank yellow',
    'letter advice cage absurd amount doctor acoustic avoid letter advice cage above',
    'test test test test test test test test test test test junk',
    'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about',
  ])('reports the published phrase with low confidence: %s', (phrase) => {
    expect(scan(phrase)).toMatchObject([{ kind: 'seed_phrase', confidence: 'low' }])
  })
  test('does not find one word that code repeats', () => {
    expect(scan(`${'List&lt;String>'.repeat(25)} → ignore`)).toEqual([])
  })

  test.each([
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
    '0xde709f2102306220921060314715629080e2fb77',
    '0x27b1fdb04752bbc536007a920d24acb045561c26',
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ])('EIP-55: %s', (address) => {
    expect(reported(`send to ${address}, please`)).toEqual([`ethereum_address ${address}`])
  })
  it('finds no mixed-case address with a wrong checksum', () => {
    expect(scan('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD')).toEqual([])
  })

  test.each(
    `AD1200012030200359100100 AE070331234567890123456 AL47212110090000000235698741 AT611904300234573201 AZ21NABZ00000000137010001944
    BA391290079401028494 BE68539007547034 BG80BNBG96611020345678 BH67BMAG00001299123456 BR9700360305000010009795493P1
    BY13NBRB3600900000002Z00AB00 CH9300762011623852957 CY17002001280000001200527600 CZ6508000000192000145399 DE89370400440532013000
    DK5000400440116243 DO28BAGR00000001212453611324 EE382200221020145685 EG800002000156789012345180002 ES9121000418450200051332
    FI2112345600000785 FO6264600001631634 FR1420041010050500013M02606 GB29NWBK60161331926819 GE29NB0000000101904917
    GI75NWBK000000007099453 GL8964710001000206 GR1601101250000000012300695 GT82TRAJ01020000001210029690 HR1210010051863000160
    HU42117730161111101800000000 IE29AIBK93115212345678 IL620108000000099999999 IS140159260076545510730339 IT60X0542811101000000123456
    IQ98NBIQ850123456789012 KW81CBKU0000000000001234560101 KZ86125KZT5004100100 LB62099900000001001901229114
    LC55HEMM000100010012001200023015 LI21088100002324013AA LT121000011101001000 LU280019400644750000 LV80BANK0000435195001
    MC5811222000010123456789030 MD24AG000225100013104168 ME25505000012345678951 MK07250120000058984 MR1300020001010000123456753
    MT84MALT011000012345MTLCAST001S MU17BOMM0101101030300200000MUR NL91ABNA0417164300 NO9386011117947 PK36SCBL0000001123456702
    PL61109010140000071219812874 PS92PALS000000000400123456702 PT50000201231234567890154 RO49AAAA1B31007593840000
    RS35260005601001611379 SA0380000000608010167519 SC18SSCB11010000000000001497USD SE4550000000058398257466 SI56263300012039086
    SK3112000000198742637541 SM86U0322509800000000270100 SV62CENR00000000000000700025 TL380080012345678910157
    TN5910006035183598478831 TR330006100519786457841326 VA59001123000012345678 VG96VPVG0000012345678901 XK051212012345678906`
      .trim()
      .split(/\s+/),
  )('finds the IBAN registry’s example %s, also in groups and across lines', (iban) => {
    const groups = iban.match(/.{1,4}/g) ?? []
    for (const written of [iban, groups.join(' '), groups.join('\n')])
      expect(reported(`to ${written}; thanks`)).toEqual([`iban ${written}`])
  })

  test.each(
    `4242424242424242 4000056655665556 5555555555554444 2223003122003222 5200828282828210 5105105105105100 378282246310005
    371449635398431 6011111111111117 6011000990139424 6011981111111113 3056930009020004 36227206271667 6555900000604105 3566002020360505
    6200000000000005 6200000000000047 6205500000000000004 30569309025904 38520000023237 4012888888881881 4222222222222 3530111333300000
    378734493671000 4111111111111111`
      .trim()
      .split(/\s+/),
  )('finds the networks’ test number %s', (number) => {
    expect(reported(`paid with ${number}.`)).toEqual([`card ${number}`])
    const last = String((Number(number.at(-1)) + 1) % 10)
    expect(reported(`paid with ${number.slice(0, -1)}${last}.`)).toEqual([])
  })

  test.each([
    // BIP-173, BIP-350, and the first block.
    'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4',
    'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y',
    'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0',
    'tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  ])('Bitcoin: %s', (address) => {
    expect(reported(`to ${address} now`)).toEqual([`bitcoin_address ${address}`])
  })
  test.each([
    'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5',
    '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb',
  ])('not Bitcoin: %s', (address) => {
    expect(scan(address)).toEqual([])
  })
  it('finds WIF keys, extended keys and GitHub’s published example', () => {
    for (const [kind, key] of [
      ['private_key', '5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ'],
      [
        'private_key',
        'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi',
      ],
      ['api_key', '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'],
      ['api_key', 'AKIAIOSFODNN7EXAMPLE'],
    ])
      expect(reported(`it is ${key}`)).toEqual([`${kind} ${key}`])
  })
})

describe('values that are not secrets', () => {
  const hash = `0x${'4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'}`
  test.each([
    `tx ${hash}`,
    `Transaction hash: ${hash}`,
    `the private key signed the transaction ${hash}`,
    `${hash} is the hash of block 12`,
    hash,
    '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
    'commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad',
    `data:image/png;base64,${Buffer.from(drawn(7).bytes(4_000)).toString('base64')}`,
    'you should always check about twenty things before this one will work again today',
    wordlists.english.slice(100, 160).join('\n'),
    '我们要在中国的人和不同的工作中为大家提高时间和生活的要求，这是一个很好的方法，也是我们对于自己的要求。',
    'MAC aa:bb:cc:dd:ee:ff, time 10:11:12, std::vector, a::b',
    Array.from({ length: 40 }, (_, at) => `Pass ${at}`).join('\n'),
    'ready pass fail '.repeat(20),
    'sk-learn, sk-your-api-key-goes-here, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  ])('finds nothing in %s', (text) => {
    expect(scan(text)).toEqual([])
  })
  test.each([
    `private key ${hash}`,
    `PRIVATE_KEY=${hash.slice(2)}`,
    `tx ${`0x${'ab'.repeat(32)}`} was signed with the private key ${hash}`,
    `${hash} is my private key`,
  ])('finds a key in %s', (text) => {
    expect(scan(text).map(({ kind }) => kind)).toEqual(['private_key'])
  })
  it('frequent Chinese characters are a phrase with gaps or after a cue, otherwise prose', () => {
    const phrase = entropyToMnemonic(hex.decode('00000000000000000000000000000000'), [...wordlists.simplifiedChinese])
    const run = phrase.replaceAll(' ', '')
    expect(scan(run)).toEqual([])
    expect(reported(`助记词是${run}。`)).toEqual([`seed_phrase ${run}`])
    expect(reported(phrase)).toEqual([`seed_phrase ${phrase}`])
  })
})

it('the most important of overlapping kinds is reported, and strategy details only on request', () => {
  expect(reported('x@DE89370400440532013000.example')).toEqual(['iban DE89370400440532013000'])
  const text = 'entry price: $3,450.50, position size 2.5 ETH, stop loss 3200; 5% of portfolio. 仓位 30%'
  expect(scan(text)).toEqual([])
  expect(reported(text, scan(text, { strategy: true }))).toEqual([
    'strategy_detail entry price: $3,450.50',
    'strategy_detail position size 2.5 ETH',
    'strategy_detail stop loss 3200',
    'strategy_detail 5% of portfolio',
    'strategy_detail 仓位 30%',
  ])
})

test.each([
  ['entry at 100 makes sense', 'entry at 100'],
  ['exit at 4,000 making room', 'exit at 4,000'],
  ['bought 5 eth at 3000 knowing it', 'bought 5 eth at 3000'],
  ['entry price 3.5k, then', 'entry price 3.5k'],
  ['position size 100kUSDT now', 'position size 100kUSDT'],
  ['notional $2.5m.', 'notional $2.5m'],
  ['我的仓位30%的', '仓位30%'],
])('in %j the strategy detail ends with the amount', (text, expected) => {
  expect(reported(text, scan(text, { strategy: true }))).toEqual([`strategy_detail ${expected}`])
})

describe('strategy details in prose', () => {
  test.each([
    ['Bought ETH at 2310 and closed at 2480.', '‹› and ‹›.'],
    ['sold at 65,900', '‹›'],
    ['took profit at 2480', '‹›'],
    ['SL 61200 TP 70000', '‹› ‹›'],
    ['TP1 70000, TP2: 72000', '‹›, ‹›'],
    ['stop at 61200, target 70000', '‹›, ‹›'],
    ['closed the position at 2480', '‹›'],
    ['closed my short from 3400 at 3100', '‹›'],
    ['I bought 500 shares of ACME for 12.50 each', 'I ‹› each'],
    ['long 3 BTC', '‹›'],
    ['we went long 3 BTC from 64120', 'we ‹›'],
    ['long BTC 64120', '‹›'],
    ['size: 2%', '‹›'],
    ['position: 3 BTC', '‹›'],
    ['bought 3.5 BTC at 64,120 and sold at 65,900', '‹› and ‹›'],
    ['shorted 10 ETH @ 3400, covered @ 3100', '‹›, ‹›'],
    ['targets: 70000, 72000, 75000', '‹›'],
    ['in at 2310, out at 2480', '‹›'],
    ['Sell limit 65,900', '‹›'],
    ['paid $12.50 per share', '‹› per share'],
    ['dumped everything at 65,900', '‹›'],
    ['I hold 3.2 BTC', 'I ‹›'],
    ['bought 3 BTC, at 64,120', '‹›'],
    ['3 BTC long from 64120', '‹›'],
    ['10x leverage, 20 ETH short', '‹›, ‹›'],
    ['breakeven 61200, invalidation below 58,000', '‹›, ‹›'],
    ['均价64120', '‹›'],
    ['以2310买入ETH，平仓于2480', '‹›ETH，‹›'],
    ['买入了3.5个BTC', '‹›BTC'],
  ])('redacts strategy details in: %s', (text, expected) => {
    const { text: left } = redact(text, scan(text, { strategy: true }))
    expect(left.replace(/‹strategy_detail:\d+›/g, '‹›')).toBe(expected)
  })
  test.each([
    'Stop at step 3 of the checklist, at 3 failures, or after 2 attempts.',
    'Buy when RSI(14) is below 30 and volume doubles; sell only after 3 failures.',
    'sample size: 240, batch size 32',
    'The market closed at 16:00 UTC. Opened on 2026-11-22.',
    'hold a short for 3 days, long 20-minute windows',
    'covered 12 topics, closed 5 issues, added 3 features',
    'short EMA 20 above long EMA 50',
    'entry 1, target 1',
    'Add a filter for volatility above 0.8; opened 2 PRs, reduced from 20 to 10 errors.',
    'Position 3 in the list is wrong. The API has a limit of 100 requests.',
    'Close to 40% of failures happen at night; fill rate of 98% at 20 ms.',
    'Open interest rises 20% before wicks widen; the effect lasts about 15 minutes.',
  ])('nothing is found in %s', (text) => {
    expect(reported(text, scan(text, { strategy: true }))).toEqual([])
  })
})

describe('parameters of trading rules', () => {
  const options = { strategy: true, strategyRules: true }
  test.each([
    ['Use momentum crossover RSI 14 below 30 here', 'Use ‹› here'],
    ['Buy when RSI(14) is below 30 and volume doubles', 'Buy when ‹› and volume doubles'],
    ['the RSI drops below 25 twice', 'the ‹› twice'],
    ['RSI < 30, MACD(12,26,9) turns', '‹›, ‹› turns'],
    ['short EMA 20 above long EMA-50', 'short ‹› above long ‹›'],
    ['the 50-day SMA and a 200 period moving average', 'the ‹› and a ‹›'],
    ['Bollinger bands 20, 2.5 on the hour', '‹› on the hour'],
    ['breakout: ADX above 25', '‹›'],
    ['当RSI低于30时买入，均线20向上', '当‹›，‹›向上'],
  ])('are redacted on request in: %s', (text, expected) => {
    expect(redact(text, scan(text, options)).text.replace(/‹strategy_detail:\d+›/g, '‹›')).toBe(expected)
  })
  test.each([
    'Momentum builds after a pullback; watch the RSI.',
    'The EMA published its 2023 guideline. Set momentum=0.9 and a decay of 0.1.',
    'A crossover of two averages, confirmed by volume.',
    'Chapter 14 explains the ATR. See section 3 on Ichimoku clouds.',
    'macdonald 20, smartphone 30, stochastic gradient descent with 3 layers',
  ])('are not found in: %s', (text) => {
    expect(reported(text, scan(text, options))).toEqual([])
  })
  it('are not found without the request, because clades share rules', () => {
    const text = 'momentum crossover RSI 14 below 30'
    expect(reported(text, scan(text, { strategy: true }))).toEqual([])
  })
})

describe('consecutive words of phrases', () => {
  it('phrases of each length are found between other words at their exact position', () => {
    const d = drawn(77)
    for (const bytes of [16, 20, 24, 28, 32])
      for (let round = 0; round < 20; round++) {
        const phrase = entropyToMnemonic(d.bytes(bytes), [...wordlists.italian])
        const text = `alpha ${phrase}, zebra zoo`
        expect(reported(text)).toEqual([`seed_phrase ${phrase}`])
      }
  })
  it('firstHashByte equals SHA-256', () => {
    const d = drawn(5)
    for (let length = 0; length <= maxHashed; length++)
      for (let round = 0; round < 40; round++) {
        const bytes = d.bytes(length * 4)
        const view = new DataView(bytes.buffer)
        const words = Int32Array.from({ length }, (_, at) => view.getInt32(at * 4))
        expect(firstHashByte(words, length)).toBe(sha256(bytes)[0])
      }
  })
})

describe('a corpus with noise, line breaks, markup and near misses', () => {
  const measured = (seeds: readonly number[], make: (seed: number, parts: number) => PlantedText) => {
    let [hits, missed, wrong] = [0, 0, 0]
    for (const seed of seeds) {
      const sample = make(seed, 60)
      const result = compared(sample, scan(sample.text))
      hits += result.hits
      missed += result.missed.length
      wrong += result.wrong.length
    }
    return { hits, recall: hits / (hits + missed), precision: hits / (hits + wrong) }
  }
  const seeds = (from: number) => Array.from({ length: 12 }, (_, at) => from + at)
  test.each([
    ['one third', 1, plantedCorpus],
    ['another third', 1_001, plantedCorpus],
    ['a third with other prose, markup and near misses, which nothing was tuned on', 9_001, heldOut],
  ] as const)(
    'is found with sufficient recall and precision: %s',
    (_, from, make) => {
      const { hits, recall, precision } = measured(seeds(from), make)
      expect(hits).toBeGreaterThan(350)
      expect(recall).toBeGreaterThanOrEqual(0.98)
      expect(precision).toBeGreaterThanOrEqual(0.98)
    },
    30_000,
  )
  it('near misses are not found', () => {
    const d = drawn(11)
    for (let at = 0; at < 500; at++) {
      const text = nearMiss(d)
      expect({ text, found: reported(text) }).toEqual({ text, found: [] })
    }
  })
})
