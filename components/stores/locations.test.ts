import { describe, expect, it } from 'vitest'
import { inventoryKinds, travellingThings } from '#lib/domains/stores/contract.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { locationCountsOf, type Processor, type Store, shownLocationNames } from './locations.ts'

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
      eea: 2,
      outside: 1,
      unknown: 3,
      down: 1,
      off: 1,
    })
  })
})

it.each([
  ['English', en],
  ['Chinese', zh],
])(
  'every stored and transferred kind of data has a %s translation and no translation is unused',
  (_, { dataNames, stores: words }) => {
    expect(Object.keys(words.holds)).toEqual([...inventoryKinds])
    expect(Object.keys(words.travels)).toEqual([...travellingThings])
    // Only plans name locations outside.
    expect(Object.keys(dataNames.places)).toEqual([...shownLocationNames, 'outside'])
  },
)
