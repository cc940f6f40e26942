import { describe, expect, test } from 'vitest'
import { Problem } from '#lib/kernel/problem.ts'
import { exposedIn, without } from './scanning.ts'

const scanned = (exchange: Parameters<typeof exposedIn>[0]) => without(exposedIn(exchange), exchange)
/** A BIP-39 test vector, and a published example key. */
const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const key = '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
const said = (...contents: string[]) => ({
  model: undefined,
  messages: contents.map((content) => ({ role: 'user', content })),
})
function refusalOf(exchange: Parameters<typeof scanned>[0]): Problem {
  try {
    scanned(exchange)
  } catch (error) {
    if (Problem.is(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}

describe('scanned', () => {
  test('returns an exchange without findings unchanged', () => {
    const exchange = said('What is the capital of France?', 'Paris, at 48.85 N.', '')
    expect(scanned(exchange)).toEqual({ ...exchange, redacted: {} })
  })

  test('redacts personal data and strategy details, with one number per value across all messages', () => {
    const { messages, redacted } = scanned(
      said(
        'Write to first@example.org and second@example.org.',
        'I wrote to first@example.org. Entry price: $1,234.50',
      ),
    )
    expect(messages[0]?.content).toBe('Write to ‹email:1› and ‹email:2›.')
    expect(messages[1]?.content).toContain('I wrote to ‹email:1›.')
    expect(messages[1]?.content).not.toContain('1,234.50')
    expect(redacted).toEqual({ email: 3, strategy_detail: 1 })
  })

  test('rejects an exchange with a secret and reports only kinds and messages', () => {
    const refusal = refusalOf(said('Hello.', `My phrase is ${phrase}`, `private key: ${key}`))
    expect([refusal.code, refusal.status]).toEqual(['content_blocked', 422])
    expect(refusal.extensions.findings).toEqual([
      { kind: 'seed_phrase', message: 1 },
      { kind: 'private_key', message: 2 },
    ])
    const reported = JSON.stringify(refusal)
    for (const word of ['sausage', 'winner', key, key.slice(2, 20)]) expect(reported).not.toContain(word)
  })

  test('rejects a seed phrase that is spread across messages and reports every message with a part of it', () => {
    const refusal = refusalOf(said('Nothing here.', ...phrase.split(' ')))
    expect(refusal.extensions.findings).toEqual(
      Array.from({ length: 12 }, (_, at) => ({ kind: 'seed_phrase', message: at + 1 })),
    )
  })

  test('rejects a model name that contains a secret', () => {
    const wif = '5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ'
    expect(refusalOf({ model: wif, messages: [] }).issues).toEqual([
      { path: ['model'], message: 'contains private_key' },
    ])
  })
})
