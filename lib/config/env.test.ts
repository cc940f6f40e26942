import { describe, expect, it } from 'vitest'
import { openIdProvider, readEnv, telemetryTarget } from './env.ts'

describe('retention settings', () => {
  const names = ['KP_RETENTION_NETWORK_DAYS', 'KP_RETENTION_ORG_DAYS', 'KP_RETENTION_PRIVATE_DAYS'] as const

  it('are unlimited for network, 730 days for org and 365 days for private by default', () => {
    const env = readEnv({})
    expect(names.map((name) => env[name])).toEqual([null, 730, 365])
  })
  it.each([
    ['-1', null],
    ['1', 1],
    ['36500', 36_500],
  ])('%s is accepted as a period', (text, days) => {
    for (const name of names) expect(readEnv({ [name]: text })[name]).toBe(days)
  })
  it.each(['0', '1000000000', '36501', 'soon', '-2', '1.5', '1e3', ' 30', '00', '030'])(
    '"%s" is rejected with the variable’s name and its accepted values',
    (text) => {
      for (const name of names)
        expect(() => readEnv({ [name]: text })).toThrow(
          expect.objectContaining({
            variable: name,
            message: `${name}: must be -1 (forever) or a whole number of days from 1 to 36500`,
          }),
        )
    },
  )
})

describe('the OpenID provider', () => {
  const all = { KP_OIDC_ISSUER: 'https://id.example/realm', KP_OIDC_CLIENT_ID: 'kp', KP_OIDC_CLIENT_SECRET: 's' }

  it('is undefined by default and named after its host unless KP_OIDC_NAME is set', () => {
    expect(openIdProvider(readEnv({}))).toBeUndefined()
    expect(openIdProvider(readEnv(all))?.name).toBe('id.example')
    expect(openIdProvider(readEnv({ ...all, KP_OIDC_NAME: 'Example' }))).toEqual({
      issuer: 'https://id.example/realm',
      clientId: 'kp',
      clientSecret: 's',
      name: 'Example',
    })
  })
  it.each(Object.keys(all))('rejects the settings and names %s when it is missing', (missing) => {
    const { [missing]: _, ...rest } = { ...all } as Record<string, string>
    expect(() => readEnv(rest)).toThrow(expect.objectContaining({ variable: missing }))
  })
  it('rejects KP_OIDC_NAME without the other settings', () => {
    expect(() => readEnv({ KP_OIDC_NAME: 'Example' })).toThrow('KP_OIDC_ISSUER: is required when KP_OIDC_NAME is set')
  })
  it.each(['id.example', 'http://id.example', 'https://id.example/?a=b', 'https://id.example/#x', 'ftp://localhost'])(
    '"%s" is rejected as an issuer',
    (issuer) => {
      expect(() => readEnv({ ...all, KP_OIDC_ISSUER: issuer })).toThrow(
        expect.objectContaining({ variable: 'KP_OIDC_ISSUER' }),
      )
    },
  )
  it.each(['http://localhost:8080', 'http://127.0.0.1:9', 'http://[::1]:9'])(
    '%s is accepted as an issuer on this machine',
    (issuer) => {
      expect(openIdProvider(readEnv({ ...all, KP_OIDC_ISSUER: issuer }))?.issuer).toBe(issuer)
    },
  )
})

describe('connected stores', () => {
  const all = {
    KP_GRAPH_URL: ['bolt://neo4j:secret@localhost:7687/neo4j', 'neo4j+s://a:b@g.example', 'bolt+ssc://g.example'],
    KP_OBJECTS_URL: [
      'file:var/objects',
      'file:/srv/objects',
      's3://key:secret@localhost:9000/bucket?tls=false&path_style=true',
      's3://bucket?region=eu-central-1',
      'gs://bucket',
      'gs://bucket?endpoint=http://127.0.0.1:4443',
    ],
    KP_CHECKPOINTS_URL: ['postgres://a:b@p.example/threads', 'postgresql://p.example/threads?schema=graph'],
    KP_REGIONS: ['files=de@own,objects=eu-central-1@aws'],
    KP_RESIDENCY: ['eu'],
  }
  it.each(Object.entries(all).flatMap(([name, taken]) => taken.map((text) => [name, text] as const)))(
    '%s accepts %s',
    (name, text) => expect(readEnv({ [name]: text })).toMatchObject({ [name]: text }),
  )
  it.each([
    ['KP_GRAPH_URL', 'https://g.example', 'must have the form bolt://user:password@host:7687/database'],
    ['KP_GRAPH_URL', 'bolt://g.example/a/b', 'must have the form bolt://user:password@host:7687/database'],
    ['KP_GRAPH_URL', 'localhost:7687', 'must have the form bolt://user:password@host:7687/database'],
    ['KP_FILES_URL', 'file:/srv/files', 'must be a bucket: s3://… or gs://…'],
    ['KP_OBJECTS_URL', 'file:', 'must name a folder after file:'],
    ['KP_OBJECTS_URL', 'https://s3.example/bucket', 'must be file:<folder>, s3://'],
    ['KP_OBJECTS_URL', 's3://bucket', 'must have ?region= after'],
    ['KP_OBJECTS_URL', 's3://k:s@h.example/bucket/folder', 'must name one bucket'],
    ['KP_OBJECTS_URL', 's3://k:s@h.example/bucket?tls=no', 'must have tls=true or tls=false'],
    ['KP_OBJECTS_URL', 'gs://bucket/folder', 'must be gs://bucket with nothing after it'],
    [
      'KP_OBJECTS_URL',
      'gs://bucket?endpoint=here',
      'must have endpoint=http://host:port or endpoint=https://host:port',
    ],
    ['KP_CHECKPOINTS_URL', 'mysql://p.example/x', 'must be a URL that begins with postgres:// or postgresql://'],
    ['KP_CHECKPOINTS_URL', 'postgres://p.example/x?schema=A-B', 'must have only lower-case letters'],
    ['KP_POINTER_PREFIXES', 'app:,x', 'must be key prefixes of at least 3 characters'],
    ['KP_REGIONS', 'neo4j=de@own', 'contains the unknown name "neo4j". Valid names: postgresql, files'],
    ['KP_RESIDENCY', 'de', 'must be eu'],
  ])('%s rejects "%s" with its name and without the value', (variable, text, message) => {
    expect(() => readEnv({ [variable]: text })).toThrow(
      expect.objectContaining({ variable, message: expect.stringContaining(`${variable}: ${message}`) }),
    )
  })
})

describe('telemetry', () => {
  const both = { KP_POSTHOG_HOST: 'https://eu.i.posthog.com', KP_POSTHOG_KEY: 'phc_0' }
  it('is off unless both settings are given, and off whenever KP_TELEMETRY or BARDO_TELEMETRY is false', () => {
    const target = (more: Record<string, string>) => telemetryTarget(readEnv(more))
    expect(target({})).toBeUndefined()
    expect(target(both)).toEqual({ host: both.KP_POSTHOG_HOST, key: both.KP_POSTHOG_KEY })
    for (const off of ['false', '0'])
      for (const name of ['KP_TELEMETRY', 'BARDO_TELEMETRY']) expect(target({ ...both, [name]: off })).toBeUndefined()
    expect(target({ ...both, KP_TELEMETRY: 'true', BARDO_TELEMETRY: 'false' })).toBeUndefined()
  })
  it('rejects one setting without the other', () => {
    expect(() => readEnv({ KP_POSTHOG_HOST: both.KP_POSTHOG_HOST })).toThrow(
      expect.objectContaining({ variable: 'KP_POSTHOG_KEY' }),
    )
    expect(() => readEnv({ KP_POSTHOG_KEY: both.KP_POSTHOG_KEY })).toThrow(
      expect.objectContaining({ variable: 'KP_POSTHOG_HOST' }),
    )
  })
})
