import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { countTry, oneTimePassword, signInWindows } from './passwords.ts'
import { browserName, localeOf, normaliseEmail, passwordFault, returnPath } from './rules.ts'

describe('passwordFault', () => {
  const email = 'Ada@Example.org'
  test.each([
    ['ada@example.org', 'is_email'],
    [' ADA@EXAMPLE.ORG ', 'is_email'],
    ['the one I have now', 'is_current'],
    ['aaaaaaaaaaaaaaaa', 'repetitive'],
    ['abababababab1212', 'repetitive'],
    ['a quiet harbour at noon', undefined],
    ['静かな港で昼ご飯を食べました', undefined],
  ])('passwordFault of %s is %s', (next, fault) => expect(passwordFault(next, 'the one I have now', email)).toBe(fault))

  test('returns is_current for another Unicode composition of the same password', () =>
    expect(passwordFault('caf\u0065\u0301 au lait', 'caf\u00e9 au lait', email)).toBe('is_current'))
})

test('oneTimePassword returns distinct passwords of 20 unambiguous characters', () => {
  const made = Array.from({ length: 200 }, oneTimePassword)
  for (const password of made) expect(password).toMatch(/^[a-km-np-z2-9]{5}(-[a-km-np-z2-9]{5}){3}$/)
  expect(new Set(made).size).toBe(200)
})

describe('signInWindows', () => {
  const keys = (email: string, limitKey: string) => {
    const { near, everywhere } = signInWindows(email, limitKey)
    return [...near, everywhere].map(({ key }) => key)
  }

  test('returns keys without the email address', () =>
    expect(keys('ada@example.org', '192.0.2.1').join()).not.toContain('ada'))
  test('returns the same keys for an address in any case', () =>
    expect(keys(' ADA@example.ORG', '192.0.2.1')).toEqual(keys('ada@example.org', '192.0.2.1')))
  test('returns disjoint keys for two people on two networks', () => {
    const mine = keys('ada@example.org', '192.0.2.1')
    expect(keys('bob@example.org', '192.0.2.2').filter((key) => mine.includes(key))).toEqual([])
  })
  test('returns the narrowest window per person and network, so that a stranger elsewhere locks nobody out', () => {
    const [pair] = signInWindows('ada@example.org', '192.0.2.1').near.sort((one, other) => one.limit - other.limit)
    expect(keys('ada@example.org', '192.0.2.2')).not.toContain(pair?.key)
  })
})

test.each(['sign-in', 'reset', 'account-link'])(
  '%s attempts also count in the /48 of an IPv6 network',
  async (what) => {
    const counted = new Map<string, number>()
    const tries = {
      consume(key: string, limit: number) {
        counted.set(key, limit)
        return Promise.resolve({ allowed: true, resetAt: new Date() })
      },
    }
    await countTry(tries, [{ key: `${what}:2001:db8:7:1::/64`, limit: 20 }])
    await countTry(tries, [{ key: `${what}:192.0.2.1`, limit: 20 }])
    expect([...counted]).toEqual([
      [`${what}:2001:db8:7:1::/64`, 20],
      [`${what}:2001:db8:7::/48`, 320],
      [`${what}:192.0.2.1`, 20],
    ])
  },
)

test('normaliseEmail is idempotent', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      (text) => normaliseEmail(normaliseEmail(text)) === normaliseEmail(text),
    ),
  )
})

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0 Mobile Safari/604.1',
    'Chrome on iOS',
  ],
  [
    'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36',
    'Chrome on Android',
  ],
  ['curl/8.5.0', 'curl'],
  ['', ''],
])('browserName of "%s" is "%s"', (userAgent, name) => expect(browserName(userAgent)).toBe(name))

test.each([
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
  ['en-GB,en;q=0.9,zh;q=0.8', 'en'],
  ['fr;q=1.0, zh;q=0.4', 'zh'],
  ['en;q=0.3, zh-Hant;q=0.7', 'zh'],
  ['zh;q=0', 'en'],
  ['*', 'en'],
  ['', 'en'],
])('localeOf "%s" is %s', (header, locale) => expect(localeOf(header)).toBe(locale))

describe('returnPath', () => {
  test.each(['/account', '/docs/api?q=token#not_found', '/receipts/rcpt_1'])('returns %s unchanged', (path) =>
    expect(returnPath(path)).toBe(path),
  )
  test.each([
    undefined,
    '',
    'account',
    'https://evil.example/',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n/evil.example',
    '/.//evil.example',
    '/..//evil.example',
    '/%2e//evil.example',
    'javascript:alert(1)',
    ' //evil.example',
  ])('returns the overview for %j', (text) => expect(returnPath(text)).toBe('/overview'))
  test('never leads to another site', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('', '/', '//', '/\\', '/./', '/../'), (text, start) => {
        const path = returnPath(start + text)
        return new URL(path, 'https://registry.example').origin === 'https://registry.example' && path.startsWith('/')
      }),
    )
  })
})
