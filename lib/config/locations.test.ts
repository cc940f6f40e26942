import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readEnv } from './env.ts'
import { assessLocations, refuseOutside, sitesOf, storeLocationNamed, storeLocationsOf } from './locations.ts'

const dataDir = resolve('a-folder')
const places = (given: Record<string, string> = {}) => storeLocationsOf(readEnv({ KP_DATA_DIR: dataDir, ...given }))
const socket = (folder: string) => `postgresql://kp_app:x@localhost/kp?host=${encodeURIComponent(folder)}`

describe('placesOf', () => {
  it('returns only places on this machine by default', () =>
    expect(places()).toEqual({
      postgresql: 'embedded',
      files: 'folder',
      ledger: 'folder',
      exports: 'folder',
      snapshot_keys: 'folder',
      graph: 'here',
      cache: 'here',
      objects: 'folder',
      checkpoints: 'here',
      mail: 'folder',
      limits: 'here',
    }))

  it.each([
    [socket(join(dataDir, 'run')), 'embedded'],
    [socket('/var/run/postgresql'), 'server'],
    ['postgresql://kp_app:x@db.example.org/kp', 'server'],
    ['postgresql://kp_app:x@localhost/kp', 'server'],
  ])('returns for the database at %s the place %s', (url, place) =>
    expect(places({ DATABASE_URL: url }).postgresql).toBe(place),
  )

  it('returns other recipients: the mail server, Redis for rate limits, a separate ledger', () => {
    const given = {
      KP_SMTP_URL: 'smtp://mail.example.org',
      KP_REDIS_URL: 'redis://r.example.org',
      KP_LEDGER_URL: '/apart',
      KP_SNAPSHOT_KEYS_DIR: '/keys',
    }
    expect(places(given)).toMatchObject({ ledger: 'apart', snapshot_keys: 'apart', mail: 'server', limits: 'redis' })
    expect(places({ ...given, KP_LIMITS: 'postgres' }).limits).toBe('here')
  })

  it('placeNamed never contains an address', () => {
    const at = places({ DATABASE_URL: 'postgresql://kp_app:x@db.example.org/kp', KP_LEDGER_URL: '/apart' })
    const said = ['postgresql', 'files', 'ledger', 'another'].map((store) => storeLocationNamed(at, store))
    expect(said[0]).toBe('PostgreSQL on the operator’s server')
    for (const words of said) expect(words).not.toMatch(/example|apart\//)
    expect(new Set(said).size).toBe(4)
  })
})

const settings = (given: Record<string, string>) => readEnv({ KP_DATA_DIR: dataDir, ...given })
const siteOf = (given: Record<string, string>, name: string) =>
  sitesOf(settings(given)).find((site) => site.name === name)

describe('sitesOf', () => {
  it.each([
    ['KP_GRAPH_URL', 'bolt://neo4j:s3cret@Graph.example', 'graph', 'neo4j', 'bolt://graph.example:7687/neo4j'],
    ['KP_GRAPH_URL', 'neo4j+s://u:s3cret@g.example:7777/deals', 'graph', 'neo4j', 'neo4j+s://g.example:7777/deals'],
    ['KP_REDIS_URL', 'rediss://:s3cret@r.example:6380/2', 'cache', 'redis', 'rediss://r.example:6380/2'],
    [
      'KP_REDIS_URL',
      'redis://:s3cret@main/2?sentinels=b.example:2,a.example:1&sentinel_password=abc',
      'cache',
      'redis',
      'redis://main/2 (Sentinels a.example:1, b.example:2)',
    ],
    ['KP_REDIS_URL', 'redis://r.example', 'limits', 'redis', 'redis://r.example:6379/0'],
    [
      'KP_OBJECTS_URL',
      's3://key:s3cret@h.example:9000/bucket?tls=false',
      'objects',
      's3',
      's3://h.example:9000/bucket',
    ],
    [
      'KP_OBJECTS_URL',
      's3://key:s3cret@my-bucket?region=eu-central-1',
      'objects',
      's3',
      's3://my-bucket?region=eu-central-1',
    ],
    ['KP_OBJECTS_URL', 'gs://my-bucket', 'objects', 'gcs', 'gs://my-bucket'],
    ['KP_OBJECTS_URL', 'file:/srv/objects', 'objects', 'files', 'file:/srv/objects'],
    [
      'KP_CHECKPOINTS_URL',
      'postgresql://u:s3cret@p.example/threads',
      'checkpoints',
      'postgresql',
      'postgresql://p.example:5432/threads (schema public)',
    ],
    ['KP_SMTP_URL', 'smtps://u:s3cret@m.example', 'mail', 'smtp', 'smtps://m.example:465'],
    [
      'DATABASE_URL',
      'postgresql://u:s3cret@db.example/kp',
      'postgresql',
      'postgresql',
      'postgresql://db.example:5432/kp',
    ],
  ])('returns no credentials of %s %s', (variable, url, name, provider, address) => {
    expect(siteOf({ [variable]: url }, name)).toMatchObject({ provider, address })
    expect(JSON.stringify(sitesOf(settings({ [variable]: url })))).not.toContain('s3cret')
  })
  it('returns sites on this machine, within its folder and its database, by default', () =>
    expect(sitesOf(settings({})).map(({ name, provider, within }) => [name, provider, within])).toEqual([
      ['postgresql', 'postgresql', 'files'],
      ['files', 'files', null],
      ['ledger', 'files', 'files'],
      ['snapshot_keys', 'files', 'files'],
      ['exports', 'files', 'files'],
      ['graph', 'postgresql', 'postgresql'],
      ['cache', 'memory', 'files'],
      ['objects', 'files', 'files'],
      ['checkpoints', 'postgresql', 'postgresql'],
    ]))
  it('returns the same identity for other credentials of a server', () => {
    const identity = (url: string) => siteOf({ KP_GRAPH_URL: url }, 'graph')?.identity
    expect(identity('bolt://a:b@g.example')).toBe(identity('neo4j+s://c:d@G.example:7687/neo4j'))
    expect(identity('bolt://a:b@g.example')).not.toBe(identity('bolt://a:b@g.example/other'))
  })
  it('includes backups and processors when settings mention them', () => {
    const names = (given: Record<string, string>) => sitesOf(settings(given)).map(({ name }) => name)
    expect(names({ KP_BACKUP_DAYS: '30' })).toContain('backups')
    expect(names({ KP_BACKUP_DAYS: '0' })).not.toContain('backups')
    expect(names({ KP_REGIONS: 'llm=fr@mistral,posthog=eu@posthog' })).toEqual(
      expect.arrayContaining(['llm', 'posthog']),
    )
  })
})

describe('regions', () => {
  it('one statement for the machine covers all stores on it', () => {
    const given = { KP_RESIDENCY: 'eu', KP_REGIONS: 'files=de@own' }
    expect(assessLocations(settings(given)).map(({ jurisdiction }) => jurisdiction)).toEqual(Array(9).fill('eea'))
    expect(() => refuseOutside(settings(given))).not.toThrow()
  })
  it.each([
    [{}, 'KP_RESIDENCY: cannot be eu: the region of postgresql is not stated'],
    [{ KP_REGIONS: 'files=ch@own' }, 'KP_RESIDENCY: cannot be eu: postgresql is in ch@own, which is in CH'],
    [{ KP_REGIONS: 'files=de@own', KP_GRAPH_URL: 'bolt://g.example' }, 'the region of graph is not stated'],
    [{ KP_REGIONS: 'files=de@own', KP_REDIS_URL: 'redis://r.example' }, 'the region of cache is not stated'],
    [
      { KP_REGIONS: 'files=de@own', KP_OBJECTS_URL: 's3://bucket?region=eu-west-2' },
      'objects is in eu-west-2@aws, which is in GB',
    ],
    [{ KP_REGIONS: 'files=de@own', KP_OBJECTS_URL: 'gs://bucket' }, 'the region of objects is not stated'],
    [
      { KP_REGIONS: 'files=de@own', KP_CHECKPOINTS_URL: 'postgres://u@p.example/x' },
      'the region of checkpoints is not stated',
    ],
    [{ KP_REGIONS: 'files=de@own', KP_SMTP_URL: 'smtp://m.example' }, 'the region of mail is not stated'],
    [{ KP_REGIONS: 'files=de@own', KP_LEDGER_URL: '/apart' }, 'the region of ledger is not stated'],
    [{ KP_REGIONS: 'files=de@own', KP_BACKUP_DAYS: '7' }, 'the region of backups is not stated'],
    [{ KP_REGIONS: 'files=de@own,llm=us-east-1@aws' }, 'llm is in us-east-1@aws, which is in US'],
    [
      { KP_REGIONS: 'objects=eu-west-1@aws', KP_OBJECTS_URL: 's3://bucket?region=eu-west-2' },
      'KP_REGIONS: states eu-west-1@aws for objects, but its address belongs to eu-west-2@aws',
    ],
  ] as [Record<string, string>, string][])(
    'refuseOutside rejects KP_RESIDENCY=eu with %o and names the site',
    (given, message) => expect(() => refuseOutside(settings({ KP_RESIDENCY: 'eu', ...given }))).toThrow(message),
  )
  it('placeNamed returns the region of a place but never its address', () => {
    const given = settings({ KP_GRAPH_URL: 'bolt://u:p@g.example', KP_REGIONS: 'graph=eu-central-1@aws,files=de@own' })
    const named = (store: string) => storeLocationNamed(storeLocationsOf(given), store, assessLocations(given))
    expect(named('graph')).toBe('the Neo4j that the operator connected, in eu-central-1 (aws, DE)')
    expect(named('objects')).toBe('a folder on this installation’s machine, in de (DE)')
    expect(named('another')).toBe('this installation')
  })
})
