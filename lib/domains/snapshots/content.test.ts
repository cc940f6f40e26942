import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Bundle, bundleContentOf, SecretRemaining } from './content.ts'
import type { StatePart } from './ports.ts'

const until = new Date('2026-01-02T03:04:05.000Z')
const key = `0x${'4c0883a69102937d6231471b5dbb6204fe512961708279feb1be6ae5538da033'}`
const words = 'legal winner thank year wave sausage worth useful legal winner thank yellow'

/** Pseudo-random bytes, the same in every run. */
const bytesOf = (length: number) => [...createHash('sha512').update('of nobody').digest()].slice(0, length)
const webToken = [{ alg: 'none' }, { sub: 'nobody', iat: 1 }]
  .map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'))
  .join('.')
const leaks: Record<string, { value: unknown; kind: string }> = {
  'a web token': { value: webToken, kind: 'credential' },
  'a header': { value: 'Bearer 0123456789abcdef0123', kind: 'credential' },
  'a session key in words': { value: 'session key: 0123456789abcdef0123', kind: 'credential' },
  'an address with a password': { value: 'postgres://wren:not-a-real-one@db.example.org/x', kind: 'credential' },
  'a key of 64 bytes': { value: bytesOf(64), kind: 'private_key' },
  'a key of 32 bytes': { value: bytesOf(32), kind: 'private_key' },
  'a key of bytes by their numbers': { value: { ...bytesOf(64) }, kind: 'private_key' },
}

const part = (name: string, records: unknown[], isSealed = (_: unknown) => false): StatePart => ({
  name,
  isSealed,
  async *pages() {
    for (const record of records) yield { lines: JSON.stringify(record), count: 1 }
  },
})
const bundleOf = (text: string | Buffer, mediaType = 'application/json', length = 1_000): Bundle => ({
  mediaType,
  bytes: async () =>
    (async function* () {
      const bytes = Buffer.from(text)
      for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length)
    })(),
})
async function linesOf(parts: StatePart[], bundle?: Bundle): Promise<Record<string, unknown>[]> {
  let text = ''
  const decoder = new TextDecoder()
  const settings = { id: 'agent_1', grimoire_days: 30 }
  for await (const piece of bundleContentOf({ agentId: 'agent_1', settings, parts, until, bundle }))
    text += decoder.decode(piece, { stream: true })
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
const stateOf = (lines: Record<string, unknown>[]): Buffer =>
  Buffer.concat(
    lines.flatMap(({ part: name, data }) => (name === 'state' && data ? [Buffer.from(String(data), 'base64')] : [])),
  )
async function placesOf(...given: Parameters<typeof linesOf>) {
  const error = await linesOf(...given).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof SecretRemaining ? error.places : error
}

describe('contentOf', () => {
  it('writes the agent, the unchanged records of every part, the state and the record count', async () => {
    const records = [
      { id: 'adoc_1', body: 'Wait for the fixing.\n' },
      { id: 'adoc_2', body: '…' },
    ]
    const state = JSON.stringify({ note: 'x'.repeat(200_000), wallet: { private_key: key } })
    const lines = await linesOf([part('agent_documents', records)], bundleOf(state))
    expect(lines[0]).toEqual({ part: 'agent', record: { id: 'agent_1', grimoire_days: 30 } })
    expect(lines.filter(({ part: name }) => name === 'agent_documents')).toEqual(
      records.map((record) => ({ part: 'agent_documents', record })),
    )
    expect(lines.at(-1)).toEqual({ part: 'end', records: 2 })
    expect(JSON.parse(stateOf(lines).toString())).toEqual({ note: 'x'.repeat(200_000), wallet: { private_key: null } })
  })

  it('keeps the bytes of a binary state unchanged', async () => {
    const bytes = Buffer.from(Array.from({ length: 150_001 }, (_, at) => (at * 7919) & 255))
    for (const length of [77, 65_536])
      expect(stateOf(await linesOf([], bundleOf(bytes, 'application/octet-stream', length))).equals(bytes)).toBe(true)
  })

  it('rejects content with a secret and reports its kind and path but not the secret', async () => {
    const secrets = [
      { id: 'adoc_1', body: `My wallet: ${words}.` },
      { id: 'ent_2', entry: { content: { deep: [{ note: `private key ${key}` }] } } },
    ]
    const places = await placesOf([
      part('agent_documents', secrets.slice(0, 1)),
      part('grimoire_entries', secrets.slice(1)),
    ])
    expect(places).toEqual([
      { kind: 'seed_phrase', path: 'agent_documents.adoc_1.body' },
      { kind: 'private_key', path: 'grimoire_entries.ent_2.entry.content.deep.0.note' },
    ])
  })

  it('rejects a state with a secret for every chunk size', async () => {
    const state = { runs: [{ ok: true }, { log: [`signing with private key ${key}`] }], after: words }
    for (const length of [1, 13, 100_000])
      expect(await placesOf([], bundleOf(JSON.stringify(state), 'application/json', length))).toEqual([
        { kind: 'private_key', path: 'state.runs.1.log.0' },
        { kind: 'seed_phrase', path: 'state.after' },
      ])
    const text = `${'ordinary words, '.repeat(40_000)}private key: ${key}`
    expect(await placesOf([], bundleOf(text, 'text/plain', 65_536))).toEqual([
      { kind: 'private_key', path: `state.@${text.indexOf(key)}` },
    ])
    const escaped = JSON.stringify({ a: `private key ${key}` }).replace('0x4', String.raw`0\u00784`)
    expect(await placesOf([], bundleOf(escaped))).toEqual([{ kind: 'private_key', path: 'state.a' }])
    expect(await placesOf([], bundleOf('['.repeat(2_000)))).toEqual([{ kind: 'too_deep', path: 'state' }])
  })

  describe.each(Object.entries(leaks))('contentOf with %s', (_, { value, kind }) => {
    it('rejects the content in a document, an entry and the state for every chunk size', async () => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      const document = { id: 'adoc_1', body: `Keep this:\n${text}\n` }
      const entry = { id: 'ent_2', entry: { content: { noted: [value] } } }
      expect(await placesOf([part('agent_documents', [document]), part('grimoire_entries', [entry])])).toEqual([
        { kind, path: 'agent_documents.adoc_1.body' },
        { kind, path: 'grimoire_entries.ent_2.entry.content.noted.0' },
      ])
      const state = JSON.stringify({ runs: [{ seen: value }], after: `\n${text}` }, null, 1)
      for (const [length, words] of [
        [7, 200],
        [65_536, 20_000],
      ] as const)
        for (const type of ['application/json', 'text/plain']) {
          const many = `{"words":"${'ordinary words, '.repeat(words)}","state":${state}}`
          const places = await placesOf([], bundleOf(many, type, length))
          expect(Array.isArray(places) && places[0]?.kind, `${type} ${length}`).toBe(kind)
        }
    })
  })

  it('accepts texts that only mention secrets, and numbers, hashes and addresses', async () => {
    const harmless = {
      note: 'Bearer authentication is used; the session key is derived anew. Basic understanding. Password: see the safe.',
      candles: Array.from({ length: 64 }, (_, at) => 100 + (at % 27)),
      steps: Array.from({ length: 32 }, (_, at) => at * 7),
      api_key: '',
      max_tokens: 4096,
      feed: 'https://prices.example.org:8443/eth',
      mail: 'ops@example.org',
      hash: `0x${'ab'.repeat(32)}`,
      session_token: 'taken out',
      secret: null,
    }
    const records = [{ id: 'ent_1', entry: { content: { ...harmless, session_token: '‹credential:1›' } } }]
    for (const space of [0, 2]) {
      const bundle = bundleOf(JSON.stringify(harmless, null, space))
      const lines = await linesOf([part('grimoire_entries', records)], bundle)
      expect(JSON.parse(stateOf(lines).toString())).toEqual({ ...harmless, session_token: null })
    }
  })

  it('does not scan sealed records', async () => {
    const sealed = { id: 'ent_1', envelope: { ciphertext: words } }
    expect((await linesOf([part('grimoire_entries', [sealed], () => true)])).at(-1)).toEqual({
      part: 'end',
      records: 1,
    })
  })
})

it.each(['Bearer 0123456789abcdef0123', words])('a snapshot is refused for %s', async (value) => {
  expect(await placesOf([part('documents', [{ id: 'd', text: value }])])).toHaveLength(1)
})
it.each(['DB_PASSWORD=changeme123', `ghp_${'0'.repeat(4)}${'aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA'}`])(
  'a snapshot is stored with the published value %s',
  async (value) => {
    const content = JSON.stringify({ text: value })
    const lines = await linesOf([part('documents', [{ id: 'd', text: value }])], bundleOf(content))
    expect(stateOf(lines).toString()).toBe(content)
  },
)
