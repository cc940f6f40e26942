import { describe, expect, test } from 'vitest'
import { countedFaults, sharingFaults, sharingSeeds } from '#lib/testing/planted-entries.ts'
import { type JsonTree, stripEntry } from './strip-rules.ts'

const stripped = (content: JsonTree): JsonTree =>
  stripEntry({
    kind: 'insight',
    content,
    confidence: 0.5,
    tags: [],
    provenance: null,
    parents: [],
    valid_from: null,
    valid_until: null,
  }).payload.content
const levels = (value: JsonTree): JsonTree => ({ a: { b: { c: { d: { e: { f: { g: value } } } } } } })

describe('strip', () => {
  // As many cases as a fast test allows. `stripping.int.test.ts` runs 10,000 of them.
  test('removes every secret from every field of 300 entries and keeps all other bytes', {
    timeout: 240_000,
  }, () => {
    expect(sharingFaults(sharingSeeds.seen, 200).slice(0, 12)).toEqual([])
    expect(countedFaults(sharingFaults(sharingSeeds.heldOut, 100))).toEqual({})
  })

  test.each<[JsonTree, JsonTree]>([
    [{ password: levels('hunter2correct') }, { password: levels('‹credential:1›') }],
    [{ position: levels(1234.5) }, { position: levels('‹strategy_detail:1›') }],
    [{ author: levels('jdoe') }, { author: levels('‹name:1›') }],
    [{ author: { value: 'jdoe77' } }, { author: { value: '‹name:1›' } }],
    [{ authors: [{ lead: 'Ada Beispiel' }] }, { authors: [{ lead: '‹name:1›' }] }],
    [{ seed: { words: 'any words at all' } }, { seed: { words: '‹seed_phrase:1›' } }],
    [
      { name: 'password', value: 'hunter2correct' },
      { name: 'password', value: '‹credential:1›' },
    ],
    [
      { key: 'entry_price', value: 2310, secret: 'word' },
      { key: 'entry_price', value: '‹strategy_detail:1›', secret: '‹credential:1›' },
    ],
    [[['api_key', 'hunter']], [['api_key', '‹credential:1›']]],
    [{ note: 'password for the bot: hunter2correct' }, { note: '‹credential:1›' }],
    [{ note: 'The passphrase of my wallet: correcthorse' }, { note: 'The ‹credential:1›' }],
  ])('changes %j to %j', (content, expected) => {
    expect(stripped(content)).toEqual(expected)
    expect(stripped(expected)).toEqual(expected)
  })

  test.each<JsonTree>([
    { label: 'win_rate', value: 0.6 },
    { name: 'sample_size', value: 240 },
    { traders: { behaviour: 'panic', mood: 'net short' }, trader: { win_rate: 0.6 } },
    { user: { since: '2026-11-22T00:00:00Z' } },
    { note: 'password for the bot: changes monthly', other: 'The secret of the trade: patience' },
    [['volatility', 0.8]],
  ])('keeps %j unchanged', (content) => {
    expect(stripped(content)).toEqual(content)
  })
})
