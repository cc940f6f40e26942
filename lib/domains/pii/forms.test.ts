import { entropyToMnemonic } from '@scure/bip39'
import fc from 'fast-check'
import { getExampleNumber, parsePhoneNumberFromString } from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { isInternationalNumber, isNumberIn } from '#lib/domains/pii/numbers/phone-plans.ts'
import { collected, documented } from '#lib/domains/pii/secrets/vendor-forms.ts'
import { vendorKeywords } from '#lib/domains/pii/secrets/vendor-keys.ts'
import { drawn, wordlists } from '#lib/testing/planted-texts.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { withoutPlaceholders } from './code-places.ts'
import { scanFields } from './fields.ts'
import { redact } from './redaction.ts'
import { scan } from './scanner.ts'

const kinds = (text: string) => scan(text).map(({ kind }) => kind)
const reported = (text: string) => scan(text).map(({ kind, start, end }) => `${kind} ${text.slice(start, end)}`)
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const hex = '0123456789abcdef'
let d = drawn(20)
beforeEach(() => {
  // Each test has the same values, whichever tests ran before it.
  d = drawn(20)
})
const some = (count: number, alphabet = base62) => d.signs(count, alphabet)
const uuid = () => `${some(8, hex)}-${some(4, hex)}-4${some(3, hex)}-a${some(3, hex)}-${some(12, hex)}`

describe('credentials', () => {
  const tokens: Record<string, () => string> = {
    'a token of GitHub': () => `ghp_${some(36)}`,
    'a token of GitLab': () => `glpat-${some(20)}`,
    'a key of OpenAI': () => `sk-proj-${some(74)}T3BlbkFJ${some(74)}`,
    'a key of Anthropic': () => `sk-ant-api03-${some(93)}AA`,
    'a key of Groq': () => `gsk_${some(52)}`,
    'a token of Hugging Face': () => `hf_${some(34, base62.slice(10))}`,
    'a token of Replicate': () => `r8_${some(37)}`,
    'a token of npm': () => `npm_${some(36)}`,
    'a token of RubyGems': () => `rubygems_${some(48, hex)}`,
    'a token of Docker Hub': () => `dckr_pat_${some(27)}`,
    'a key of AWS': () => `AKIA${some(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`,
    'a key of Google': () => `AIza${some(35)}`,
    'a secret of Azure': () => `${some(3)}8Q~${some(34)}`,
    'a token of DigitalOcean': () => `dop_v1_${some(64, hex)}`,
    'a token of Heroku': () => `HRKU-AA${some(58)}`,
    'a token of Netlify': () => `nfp_${some(40)}`,
    'a token of Vercel': () => `vcp_${some(56)}`,
    'a key of Stripe': () => `sk_live_${some(24)}`,
    'a token of Shopify': () => `shpat_${some(32, hex)}`,
    'a token of Slack': () => `xoxb-${some(12, '123456789')}-${some(12, '123456789')}-${some(24)}`,
    'a bot of Telegram': () => `${some(10, '123456789')}:AA${some(33)}`,
    'a key of SendGrid': () => `SG.${some(22)}.${some(43)}`,
    'a key of Resend': () => `re_${some(8, 'abcdef123')}_${some(24, 'ABCDEFabcdef123456789')}`,
    'a token of Atlassian': () => `ATATT3${some(180)}`,
    'a token of Notion': () => `ntn_${some(11, '0123456789')}${some(35)}`,
    'a token of Linear': () => `lin_api_${some(40)}`,
    'a token of Figma': () => `figd_${some(40)}`,
    'a token of Airtable': () => `pat${some(14)}.${some(64, hex)}`,
    'a token of Sentry': () => `sntryu_${some(64, hex)}`,
    'a token of Grafana': () => `glsa_${some(32)}_${some(8, hex)}`,
    'a token of Vault': () => `hvs.${some(95)}`,
    'a token of Doppler': () => `dp.pt.${some(43)}`,
    'a key of Tailscale': () => `tskey-auth-${some(17)}-${some(32)}`,
    'a key of Postman': () => `PMAK-${some(24, hex)}-${some(34, hex)}`,
    'a key named by its vendor': () => `DATADOG_API_KEY="${some(32, hex)}"`,
    'a secret of AWS by its name': () => `aws_secret_access_key=${some(40)}`,
    'a token of Axiom': () => `xaat-${uuid()}`,
    'a key of Inngest': () => `signkey-prod-${some(64, hex)}`,
    'a key of Trigger.dev': () => `tr_prod_${some(24)}`,
    'a token of Snyk': () => `snyk_uat.${some(8, hex)}.${some(40)}`,
    'a key of WakaTime': () => `waka_${uuid()}`,
    'a token of Trello': () => `ATTA${some(64, hex)}${some(8, '0123456789ABCDEF')}`,
    'a header of Splunk': () => `Authorization: Splunk ${uuid()}`,
    'a webhook of Zapier': () =>
      `https://hooks.zapier.com/hooks/catch/${some(7, '3456789')}/${some(4, 'abc')}${some(3, '345')}`,
    'a signature of Azure': () => `https://a.blob.core.windows.net/c?sp=r&sig=${some(43)}%3D`,
    'a web token': () => `eyJ${some(30)}.eyJ${some(60)}.${some(43)}`,
    'a header': () => `Authorization: Bearer ${some(40)}`,
    'an address with a password': () => `postgres://user:password@db.internal:5432/app`,
    'an address with only a password': () => `redis://:${some(16)}@cache:6379`,
  }
  it.each(Object.entries(tokens))('finds %s in prose, JSON, CSV, a log line and tab-separated text', (_, make) => {
    for (let round = 0; round < 5; round++) {
      const token = make()
      for (const text of [
        `It is ${token}, as before.`,
        JSON.stringify({ a: 1, b: token }),
        `1,${token.replaceAll('"', '')},x`,
        `2026-11-22 INFO \\n${token}\\n`,
        `key\t${token}\tend`,
      ])
        expect([text, kinds(text)]).toEqual([text, expect.arrayContaining(['api_key'])])
    }
  })

  it('no keyword is so short that it occurs everywhere', () => {
    expect(vendorKeywords.filter(({ length }) => length < 2)).toEqual([])
  })

  it('every format with a marker finds a random key', () => {
    const forms = sampled('forms of vendors that find a random key', [...documented, ...collected], 60)
    const missed = forms.filter(([keywords, form, lead = 0]) => {
      if (lead > 0 || /[|]|\\d\{1,20}|\.\{/.test(form.source)) return false
      const [key = ''] = fc.sample(fc.stringMatching(new RegExp(`^(?:${form.source})$`, form.flags.replace('i', ''))), {
        numRuns: 1,
        seed: 3,
      })
      d = drawn(form.source.length)
      // fast-check prefers symbols to letters, so each character is drawn again within the format.
      const drawnKey = key.replace(/[\s\S]/g, (sign, at: number) => {
        if (at < (keywords.split(' ')[0]?.length ?? 0)) return sign
        const other = some(1, /[a-f0-9]/.test(sign) ? hex : base62)
        const candidate = key.slice(0, at) + other + key.slice(at + 1)
        return new RegExp(`^(?:${form.source})$`, form.flags).test(candidate) ? other : sign
      })
      return (
        new RegExp(`^(?:${form.source})$`, form.flags).test(drawnKey) && !kinds(`key ${drawnKey} `).includes('api_key')
      )
    })
    // The hyphens and underscores of these samples leave no part that is long enough to look random.
    const regular = ['qyapi.weixin.qq.com', 'persona_production_', 'sbp_']
    expect(missed.map(([keywords]) => keywords).filter((keywords) => !regular.includes(keywords))).toEqual([])
  })

  test.each([
    'const apiKey = config.services.payments.apiKey2',
    'password: process.env.DATABASE_PASSWORD_2024',
    'access_token: getAccessToken(user1)',
    'Authorization: Bearer $' + '{token}',
    'postgres://$' + '{USER}:$' + '{PASSWORD}@host/db and https://user:***@host',
    'sk-your-api-key-goes-here, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'tss_some_function_name_of_a_module, unkey_configuration_value',
    'linear: the graph is linear, adobe: color of the discord logo',
    'basic authentication and bearer authentication are described in section2',
  ])('finds no credential in %s', (text) => {
    expect(reported(text)).toEqual([])
  })

  it('a token with a wrong checksum has low confidence', () => {
    expect(scan(`ghp_${some(36)}`)[0]).toMatchObject({ kind: 'api_key', confidence: 'low' })
  })
})

it.each([
  ['a routing key of PagerDuty', 'api_key', () => `PAGERDUTY_ROUTING_KEY=${some(32, hex)}`],
  ['an assignment in R', 'api_key', () => `api_token <- "${some(32)}"`],
  ['a resource of Android', 'api_key', () => `<string name="api_key">${some(32)}</string>`],
  [
    'a password of RabbitMQ',
    'api_key',
    (): string => ['rabbitmqctl add_user bob', 'tR4v'.concat('q9Lz7xKw')].join(' '),
  ],
  ['a key of WireGuard in a command', 'private_key', () => `wg set wg0 private-key <(echo ${some(43)}=)`],
  [
    'a key of ssh.com with a comment',
    'private_key',
    () =>
      `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: "k"\n${some(64)}\n${some(64)}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----`,
  ],
  ['a webhook of Outlook', 'api_key', () => `https://outlook.office.com/webhook/${some(90, hex)}`],
] as const)('finds %s', (_, kind, make) => {
  for (let round = 0; round < 20; round += 1) {
    const text = make()
    const certain = scan(text).filter(({ confidence }) => confidence === undefined)
    expect([text, certain.map((one) => one.kind)]).toEqual([text, [kind]])
  }
})

describe('numbers in rows', () => {
  const card = '4111111111111111'
  test.each([
    [`7,Jo,${card},12/25,123`, `card ${card}`],
    [`Jo,5500 0000 0000 0004,x`, 'card 5500 0000 0000 0004'],
    [`${card} 12/25`, `card ${card}`],
    ['5500 0000 0000 0004 2027', 'card 5500 0000 0000 0004'],
    ['4111-1111-1111-1111,0127', 'card 4111-1111-1111-1111'],
    [`Jo\t${card}\t2027`, `card ${card}`],
    [`{"n":1,"card":"${card}"}`, `card ${card}`],
    ['Jo,123-45-6789,x', 'ssn 123-45-6789'],
    ['Jo,602-272-9781,x', 'phone 602-272-9781'],
    ['8,81.2.69.142,x', 'ip 81.2.69.142'],
    ['a\t81.2.69.142', 'ip 81.2.69.142'],
  ])('finds one value in %s', (text, expected) => {
    expect(reported(text)).toEqual([expected])
  })
  test.each(['1,234,567 rows', '0.4111111111111111', 'a total of 12,345,678.90', '2,192.168 points'])(
    'finds no value in %s',
    (text) => {
      expect(reported(text)).toEqual([])
    },
  )
})

describe('phone numbers', () => {
  const countries = 'US GB DE FR ES IT PT BR MX NL BE CH AT PL JP KR CN IN RU TR AU ZA'.split(' ') as ('DE' | 'US')[]
  const cues =
    'Phone: {}|Call me at {} today|Tel. {}|{"phone":"{}"}|homePhone={}|电话：{}|携帯 {}|전화: {}|Телефон: {}|Teléfono: {}|Téléphone : {}|هاتف: {}|फ़ोन: {}|Handy {}'.split(
      '|',
    )
  it.each(countries)(
    'phone numbers of %s are found in national notation after a word that announces a phone number',
    (country) => {
      const { nationalNumber } = getExampleNumber(country, examples) ?? { nationalNumber: '' }
      for (const cue of cues)
        for (const tail of ['4711', '2368', '9082']) {
          const number = parsePhoneNumberFromString(`${nationalNumber}`.slice(0, -4) + tail, country)
          if (!number?.isValid()) continue
          const written = number.formatNational()
          expect(reported(cue.replace('{}', written))).toEqual([`phone ${written}`])
        }
    },
  )
  it('are validated by the same rules as in the phone number library', () => {
    for (const country of countries)
      for (let round = 0; round < 40; round++) {
        const digits = some(8 + d.below(4), '0123456789')
        const number = parsePhoneNumberFromString(digits, country)
        const isNational = number !== undefined && digits.length - number.nationalNumber.length <= 1
        if (country !== 'US' && isNational && number.isValid() && number.country === country)
          // The library also accepts a calling code without its plus.
          expect([country, digits, isNumberIn(country, digits) || isInternationalNumber(digits)]).toEqual([
            country,
            digits,
            true,
          ])
        if (number?.isValid()) expect(isInternationalNumber(number.number.slice(1))).toBe(true)
      }
    expect(isInternationalNumber('99912345678')).toBe(false)
  })
  test.each([
    '1-602-272-9781',
    '(602)272-9781',
    '(602) 272-9781',
    '602-272-9781 x1234',
    '001-602-272-9781x12',
    '602.272.9781',
  ])('of the USA: %s', (number) => {
    expect(reported(`reach us: ${number}.`)).toEqual([`phone ${number}`])
  })
  test.each([
    'string = 01/01/2011',
    'The ring of 2024-01-02 12:30',
    'call 20240101',
    'tel 12.05.2023',
    'call 1234567890123',
    'String phone = "1234"',
    'contact: 100000000',
  ])('are not found in %s', (text) => {
    expect(reported(text)).toEqual([])
  })
})

describe('IP addresses', () => {
  test.each([
    ['2a02:8071:2c1::5', undefined],
    ['2A02:8071:0000:0000:0000:0000:0000:0005', undefined],
    ['::ffff:81.2.69.142', undefined],
    ['64:ff9b::81.2.69.142', undefined],
    ['a4f1:39b2:1c2d:3e4f:5a6b:7c8d:9e0f:1a2b', undefined],
    ['abcd::1234:5', undefined],
    ['81.2.69.142', undefined],
    ['::1', 'low'],
    ['ff02::1', 'low'],
    ['2001:db8::1', 'low'],
    ['fe80::1', 'low'],
    ['192.168.1.7', 'low'],
    ['203.0.113.9', 'low'],
    ['8.8.8.8', 'low'],
  ])('finds %s in brackets, with a zone, a prefix length and a port', (address, confidence) => {
    const frames = address.includes(':')
      ? ['[{}]:443', '{}%eth0', '{}/64', 'a,{},b', '{};']
      : ['{}:443', 'a,{},b', '{}/24']
    for (const frame of frames) {
      const [found] = scan(frame.replace('{}', address))
      expect([frame, found?.kind, found?.confidence]).toEqual([frame, 'ip', confidence])
    }
  })
  it('finds none in scopes, times and hardware addresses', () => {
    expect(reported('std::dead a::b::c 10:11:12 aa:bb:cc:dd:ee:ff aa:bb:cc:dd:ee:ff:00:11')).toEqual([])
  })
})

describe('seed phrases', () => {
  const words = entropyToMnemonic(d.bytes(32), [...wordlists.english]).split(' ')
  const half = words.length / 2
  const forms: Record<string, string> = {
    'with %20': words.join('%20'),
    'in an address': `https://wallet.example/?words=${words.join('%20')}&x=1`,
    'in numbered columns': Array.from(
      { length: half },
      (_, at) => `${at + 1}. ${words[at]}\t${at + half + 1}. ${words[at + half]}`,
    ).join('\n'),
    'in columns': Array.from({ length: half }, (_, at) => `${words[at]}   ${words[at + half]}`).join('\n'),
    'in fields of JSON': JSON.stringify(Object.fromEntries(words.map((word, at) => [`word${at + 1}`, word]))),
    'in a list of JSON': JSON.stringify(words),
  }
  it.each(Object.entries(forms))('are found %s', (_, text) => {
    expect(kinds(text)).toContain('seed_phrase')
  })
  it('are found in objects with one word per key, and in lists of objects', () => {
    for (const value of [
      { backup: Object.fromEntries(words.map((word, at) => [`n${at}`, word])) },
      { backup: words.map((word, position) => ({ position, word })) },
    ])
      expect(scanFields(value).flatMap(({ findings }) => findings.map(({ kind }) => kind))).toContain('seed_phrase')
  })
  it('are not found in ordinary code', () => {
    const literals = [
      'true',
      'return',
      'case',
      'public',
      'void',
      'left',
      'right',
      'type',
      'value',
      'input',
      'false',
      'switch',
    ]
    for (let round = 0; round < 400; round++) {
      const run = Array.from({ length: 12 + d.below(24) }, () => d.one(literals.slice(0, 2 + d.below(6))))
      expect(kinds(run.join(d.one([' ', ', ', '\n', ' = '])))).not.toContain('seed_phrase')
      const mixed = Array.from(
        { length: 24 },
        () => d.one(wordlists.english) + d.one(['(', ' = ', '; ', '.', ' ', ' { ']),
      )
      expect(kinds(mixed.join(''))).not.toContain('seed_phrase')
    }
  })
})

describe('low confidence', () => {
  it.each(['jo@example.com', 'a@b.test', 'user@yourdomain.com', 'noreply@service.dev'])(
    'is reported for %s',
    (address) => {
      expect(scan(address)).toMatchObject([{ kind: 'email', confidence: 'low' }])
    },
  )
  it('causes redaction in prose but not in code', () => {
    const text = 'Ask jo@example.com.\n```\nhost = "192.168.1.7" # jo@example.com, kim@mail-of-kim.de\n```\n'
    const left = redact(text, withoutPlaceholders(text, scan(text))).text
    expect(left).toBe('Ask ‹email:1›.\n```\nhost = "192.168.1.7" # jo@example.com, ‹email:2›\n```\n')
    expect(withoutPlaceholders(text, scan(text), true).map(({ kind }) => kind)).toEqual(['email'])
  })
})

const dashes = '-'.repeat(5)
it.each([
  [
    'a name of a function that contains a cue',
    '当出现恢复任务失败时，可通过`getRecoveryTaskStatus` 函数获得任务对应的 ChunkId 和 TaskId，再到源节点日志中查找对应',
  ],
  ['a name of a format that contains a cue', 'MiniSeed 文件块信息。以下代码以 `submitJob` 的方式提交了解析所有通道'],
  ['a row of numbers', 'qty = 1300 1900 6800 2200 8300 4600 1400 8800 5800 700;'],
  ['a threshold after "pass"', '- **PASS:** P0=100%, P1≥90%'],
  ['an expression in minified code', 'r.setState({contentsKey:r.state.contentsKey+1},function(){})'],
  ['a name of a test', 'def test_split_for_tool_inverts_list2cmdline(argv):'],
  ['arithmetic', "TO_DATE('1970-01-01','YYYY-MM-DD')+(1/24/60/60/1000)*{col}"],
  ['a release', 'Support for compiling on ARM64 was added in MSVC 14.32.31326,'],
  [
    'a mention of the mark of a private key',
    `A key file starts with ${dashes}BEGIN RSA PRIVATE KEY${dashes} and nothing else here, whatever follows in this text.`,
  ],
  [
    'mentions of the mark',
    `It looks for ${dashes}BEGIN PRIVATE KEY${dashes} or for the other mark, which is ${dashes}BEGIN RSA PRIVATE KEY${dashes} in old files.`,
  ],
  ['a range after a unit', 'Median genes/cell: 800-1200\nMedian UMI/cell: 2000-4000'],
  ['round numbers', 'take(5000 5500 6000 6500, 100)'],
  ['a code with zeros', '认购（Call） * `0040000`: 行权价'],
  ['a name in a configuration', 'OPENAI_API_KEY: "openAIApiKey"'],
  ['an integer of a program', 'const bytes = 15032385536; // 14GB'],
])('%s has no finding', (_, text) => {
  expect(scan(text)).toEqual([])
})
const slashes = '//'
it.each([
  ['a template in Spanish', `dialecto:${slashes}usuario:contraseña@host:puerto/base`],
  ['a template in Polish', `dialekt:${slashes}nazwa:hasło@host:port/baza`],
  ['a template in Russian', `ocient:${slashes}пользователь:пароль@хост:порт/схема`],
  ['typed digits', 'accounts: 0x1234567890123456789012345678901234567890'],
  ['a number for fiction', 'phone: +1 (555) 123-4567'],
  ['rising digits', 'phone: +81 3 1234 5678'],
])('%s has low confidence', (_, text) => {
  expect(scan(text).map(({ confidence }) => confidence)).not.toContain(undefined)
})
