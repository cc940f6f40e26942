import { describe, expect, it } from 'vitest'
import { inventoryKinds, travellingThings } from '#lib/domains/stores/contract.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { locationCountsOf, type Processor, type Store, shownLocationNames, territoriesOf } from './locations.ts'

const place = (name: string, region: string | null, jurisdiction: Store['jurisdiction']) => ({
  name,
  provider: 'x',
  region,
  region_source: null,
  host: null,
  country: region === 'eu-central-1' ? 'DE' : null,
  jurisdiction,
  address: null,
})
const store = (
  name: string,
  region: string | null,
  jurisdiction: Store['jurisdiction'],
  state: Store['state'] = 'ok',
): Store => ({
  ...place(name, region, jurisdiction),
  port: null,
  state,
  latency_ms: 1,
  detail: null,
  holds: [],
  is_connected: state !== 'off',
  known_store_id: null,
  first_seen: null,
  last_seen: null,
})
const processor = (name: string, region: string | null, jurisdiction: Store['jurisdiction']): Processor => ({
  ...place(name, region, jurisdiction),
  travels: [],
})
const stores = [
  store('postgresql', 'eu-central-1', 'eea'),
  store('graph', null, 'unknown', 'down'),
  store('objects', 'us-east-1', 'outside'),
  store('cache', null, 'unknown', 'off'),
]
const processors = [processor('mail', 'eu-central-1', 'eea'), processor('llm', null, 'unknown')]

describe('locations of personal data', () => {
  it('countsOf counts stores and processors by jurisdiction and state', () => {
    expect(locationCountsOf({ stores, processors })).toEqual({
      stores: 4,
      processors: 2,
      outside: 1,
      unknown: 3,
      told: 'outside',
      down: 1,
      off: 1,
    })
  })
  it.each([
    ['none', ['unknown', 'unknown']],
    ['unknown', ['eea', 'unknown']],
    ['eea', ['eea', 'eea']],
    ['outside', ['outside', 'unknown']],
  ] as const)('countsOf reports %s for the jurisdictions %j', (told, places) => {
    const counted = locationCountsOf({ stores: places.map((one) => store('graph', null, one)), processors: [] })
    expect(counted.told).toBe(told)
  })
  it('territoriesOf groups stores and processors by jurisdiction and region', () => {
    const found = territoriesOf({ stores, processors }).map(({ jurisdiction, regions }) => [
      jurisdiction,
      regions.map(({ region, country, lies, travels }) => [
        region,
        country,
        lies.map(({ name }) => name),
        travels.map(({ name }) => name),
      ]),
    ])
    expect(found).toEqual([
      ['eea', [['eu-central-1', 'DE', ['postgresql'], ['mail']]]],
      ['outside', [['us-east-1', null, ['objects'], []]]],
      ['unknown', [[null, null, ['graph', 'cache'], ['llm']]]],
    ])
    expect(territoriesOf({ stores: [], processors: [] })).toEqual([])
  })
})

it.each([
  ['English', en],
  ['Chinese', zh],
])(
  'every stored and transferred kind of data has a %s translation and no translation is unused',
  (_, { stores: words }) => {
    expect(Object.keys(words.holds)).toEqual([...inventoryKinds])
    expect(Object.keys(words.travels)).toEqual([...travellingThings])
    expect(Object.keys(words.names)).toEqual([...shownLocationNames])
  },
)
