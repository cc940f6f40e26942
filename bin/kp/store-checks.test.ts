import { describe, expect, it } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { assessLocations, sitesOf } from '#lib/config/locations.ts'
import { lifetimesCheck, locationCheck, missingCheck, residencyChecks } from './store-checks.ts'

const env = readEnv({
  KP_DATA_DIR: '/srv/kp',
  KP_GRAPH_URL: 'bolt://neo4j:a-secret@graph.example:7687/deals',
  KP_REGIONS: 'files=de@own,graph=eu-west-2@aws',
})
const assessedLocations = assessLocations(env)
const checkOf = (name: string, asked: Parameters<typeof locationCheck>[2]) => {
  const site = sitesOf(env).find((one) => one.name === name)
  if (!site) throw new Error(name)
  return locationCheck(
    site,
    assessedLocations.find((one) => one.name === name),
    asked,
  )
}

describe('placeCheck', () => {
  it('returns one line with address, region and latency, without credentials', () => {
    expect(checkOf('graph', { state: 'ok', latency: 3.21 })).toEqual({
      name: 'graph',
      state: 'ok',
      found: 'neo4j at bolt://graph.example:7687/deals, in eu-west-2 (aws, GB); answers in 3.2 ms',
    })
    expect(checkOf('postgresql', { state: 'ok', latency: 1 }).found).toBe(
      'postgresql, embedded in /srv/kp, in de (DE); answers in 1.0 ms',
    )
    expect(checkOf('cache', undefined).found).toBe('memory, inside the process, in de (DE)')
  })
  it('returns a fault with the variable of a store that is down', () =>
    expect(checkOf('graph', { state: 'down', latency: 0, detail: 'ECONNREFUSED' })).toMatchObject({
      state: 'fault',
      found: expect.stringContaining('does not answer (ECONNREFUSED)'),
      todo: expect.stringContaining('KP_GRAPH_URL'),
    }))
})

describe('the check of TTLs of cache keys', () => {
  const none = { examined: 3, isComplete: true, unlimited: 0, tooLong: 0, prefixed: 0, shortened: 0 }
  it('returns a warning with counts when keys live longer than 24 hours, or when keys were not examined', () => {
    expect(lifetimesCheck(none).state).toBe('ok')
    expect(lifetimesCheck({ ...none, isComplete: false }).state).toBe('warning')
    expect(lifetimesCheck({ ...none, unlimited: 2, tooLong: 1, prefixed: 1 })).toMatchObject({
      state: 'warning',
      found:
        'of 3 key(s), 2 have no TTL and 1 have one above 24 hours; 1 of these begin with a prefix from KP_POINTER_PREFIXES',
      todo: expect.stringContaining('KP_CACHE_TTL_LIMIT'),
    })
  })
})

describe('the check of KP_RESIDENCY', () => {
  it('reports every store location that KP_RESIDENCY excludes, or that there is none', () => {
    expect(residencyChecks(undefined, assessedLocations)).toEqual([])
    expect(residencyChecks('eu', assessedLocations).map(({ state, found }) => [state, found])).toEqual([
      ['fault', 'graph is in eu-west-2@aws, which is in GB, outside the European Economic Area'],
    ])
    expect(
      residencyChecks(
        'eu',
        assessedLocations.filter(({ name }) => name !== 'graph'),
      ),
    ).toEqual([expect.objectContaining({ state: 'ok' })])
  })
})

describe('a disconnected folder with data', () => {
  const store = { id: 'store_1', provider: 'files', shown: 'file:/srv/a/objects' }
  const now = new Date('2026-01-02T12:00:00Z')
  it('should be shared, not retired, while another machine uses it', () => {
    const check = missingCheck('objects', { ...store, lastSeen: new Date('2026-01-02T02:00:00Z') }, now)
    expect(check).toMatchObject({ state: 'fault', todo: expect.stringContaining('the same folder') })
    expect(check.todo).not.toContain('retire')
  })
  it('may be retired when it was unused for more than a day', () =>
    expect(missingCheck('objects', { ...store, lastSeen: new Date('2026-01-01T02:00:00Z') }, now)).toMatchObject({
      state: 'warning',
      todo: expect.stringContaining('/api/stores/store_1/retire'),
    }))
})
