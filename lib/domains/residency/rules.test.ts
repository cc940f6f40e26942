import { describe, expect, it } from 'vitest'
import { eeaCountries } from '#lib/kernel/region-rules.ts'
import {
  assessRegion,
  explainOutside,
  parseRegions,
  regionOfHost,
  regionsOf,
  regionsThatBlock,
  residencyFault,
  residencyState,
  type StoreLocationFact,
  storeLocationNames,
  storeLocationOf,
} from './rules.ts'

const at = (text: string) => {
  const [region = '', provider = ''] = text.split('@')
  return { region, provider }
}

describe('judge', () => {
  it.each([
    ['eu-central-1@aws', 'eea', 'DE'],
    ['eu-west-1@aws', 'eea', 'IE'],
    ['eu-west-2@aws', 'outside', 'GB'],
    ['eu-central-2@aws', 'outside', 'CH'],
    ['eusc-de-east-1@aws', 'eea', 'DE'],
    ['us-east-1@aws', 'outside', 'US'],
    ['europe-west2@google', 'outside', 'GB'],
    ['europe-west3@google', 'eea', 'DE'],
    ['europe-west6@google', 'outside', 'CH'],
    ['eu@google', 'eea', 'EU'],
    ['eur4@google', 'eea', 'EU'],
    ['uksouth@azure', 'outside', 'GB'],
    ['switzerlandnorth@azure', 'outside', 'CH'],
    ['norwayeast@azure', 'eea', 'NO'],
    ['eu@cloudflare', 'eea', 'EU'],
    ['fedramp@cloudflare', 'outside', 'US'],
    ['fsn1@hetzner', 'eea', 'DE'],
    ['hel1@hetzner', 'eea', 'FI'],
    ['ash@hetzner', 'outside', 'US'],
    ['gra@ovh', 'eea', 'FR'],
    ['uk1@ovh', 'outside', 'GB'],
    ['fr-par@scaleway', 'eea', 'FR'],
    ['eu-central-2@ionos', 'eea', 'DE'],
    ['ch-dk-2@exoscale', 'outside', 'CH'],
    ['eu@posthog', 'eea', 'DE'],
    // For self-hosted stores the region is the country.
    ['de@own', 'eea', 'DE'],
    ['is@own', 'eea', 'IS'],
    ['eu@own', 'eea', 'EU'],
    ['gb@own', 'outside', 'GB'],
    ['uk@own', 'outside', 'GB'],
    ['ch@somebody', 'outside', 'CH'],
  ])('%s is %s, in %s', (text, jurisdiction, country) =>
    expect(assessRegion(at(text))).toEqual({ jurisdiction, country }),
  )

  it.each([
    'eu@aws',
    'de@aws',
    'eu-central-9@aws',
    'eu-central-1@google',
    'eur5@google',
    'eur8@google',
    'weur@cloudflare',
    'auto@cloudflare',
    'eu-central-1@somebody',
    'eu-west-1@own',
    'zz@own',
    'xx@own',
    'europe@own',
    'deu@own',
  ])('%s is unknown and not treated as EEA', (text) =>
    expect(assessRegion(at(text))).toEqual({ jurisdiction: 'unknown', country: null }),
  )

  it.each([
    ['fra@fly', 'DE', 'eea'],
    ['lhr@fly', 'GB', 'outside'],
    ['eu-central-1@supabase', 'DE', 'eea'],
    ['eu-central-2@supabase', 'CH', 'outside'],
    ['europe-west1@upstash', 'BE', 'eea'],
    ['eu-west-2@upstash', 'GB', 'outside'],
    ['cdg1@vercel', 'FR', 'eea'],
    ['aws-eu-central-1@neon', 'DE', 'eea'],
    ['azure-gwc@neon', 'DE', 'eea'],
    ['westeurope@aura', 'NL', 'eea'],
    ['europe-west3@aura', 'DE', 'eea'],
    // As these providers were stated before.
    ['de@fly', 'DE', 'eea'],
    ['us@supabase', 'US', 'outside'],
  ])('%s is in %s', (text, country, jurisdiction) => expect(assessRegion(at(text))).toEqual({ country, jurisdiction }))
  it('Vertex AI has the regions of Google Cloud', () =>
    expect(parseRegions('llm=europe-west4@vertex').get('llm')).toEqual(at('europe-west4@google')))
  it.each(['zzz@fly', 'eu-central-9@supabase', 'nam4@aura', 'us-iad@vercel'])('%s is unknown', (text) =>
    expect(assessRegion(at(text)).jurisdiction).toBe('unknown'),
  )
  it('no two clouds of a service use one name for a region', () => {
    const all = ['aws', 'google', 'azure'].flatMap((cloud) => [...(regionsOf.get(cloud) ?? new Map()).keys()])
    expect(new Set(all).size).toBe(all.length)
  })
  it.each([
    ['aws-0-eu-central-1.pooler.supabase.com', 'eu-central-1@supabase'],
    ['ep-cool-rain-1.eu-central-1.aws.neon.tech', 'aws-eu-central-1@neon'],
    ['ep-cool-rain-1.germanywestcentral.azure.neon.tech', 'azure-germanywestcentral@neon'],
    ['europe-west3-aiplatform.googleapis.com', 'europe-west3@google'],
  ])('%s proves %s', (host, region) => expect(regionOfHost(host)).toEqual(at(region)))

  it('the table has well-formed region names and ISO country codes', () => {
    expect(eeaCountries.size).toBe(30)
    const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
    for (const [provider, regions] of regionsOf)
      for (const [region, country] of regions) {
        expect(region, provider).toMatch(/^[a-z0-9-]+$/)
        expect(names.of(country), `${region}@${provider}`).toBeDefined()
      }
  })
})

describe('KP_REGIONS', () => {
  it('accepts names, regions and provider aliases in any case and spacing', () => {
    expect(Object.fromEntries(parseRegions(' Graph=EU-Central-1@AWS , objects=eu@R2,files=europe-west3@gcp,'))).toEqual(
      {
        graph: at('eu-central-1@aws'),
        objects: at('eu@cloudflare'),
        files: at('europe-west3@google'),
      },
    )
    expect(parseRegions('').size).toBe(0)
  })
  it.each([
    ['graph', 'must contain name=region@provider, separated by commas. "graph" is not valid'],
    ['graph=eu-central-1', 'must contain name=region@provider, separated by commas. "graph=eu-central-1" is not valid'],
    ['graph=@aws', 'must contain name=region@provider, separated by commas. "graph=@aws" is not valid'],
    ['graph=a@b@c', 'must contain name=region@provider, separated by commas. "graph=a@b@c" is not valid'],
    ['neo4j=de@own', `contains the unknown name "neo4j". Valid names: ${storeLocationNames.join(', ')}`],
    ['graph=de@own,graph=us@own', 'contains graph twice'],
  ])('rejects "%s"', (text, message) => expect(() => parseRegions(text)).toThrow(new RangeError(message)))
})

describe('regionOfHost', () => {
  it.each([
    ['s3.eu-central-1.amazonaws.com', 'eu-central-1@aws'],
    ['bucket.s3.eu-west-2.amazonaws.com', 'eu-west-2@aws'],
    ['db.abc123.eu-west-3.rds.amazonaws.com', 'eu-west-3@aws'],
    ['email-smtp.eu-west-1.amazonaws.com', 'eu-west-1@aws'],
    ['0123456789abcdef.eu.r2.cloudflarestorage.com', 'eu@cloudflare'],
    ['FSN1.your-objectstorage.com.', 'fsn1@hetzner'],
    ['s3.fr-par.scw.cloud', 'fr-par@scaleway'],
    ['s3.gra.io.cloud.ovh.net', 'gra@ovh'],
    ['s3.eu-central-3.ionoscloud.com', 'eu-central-3@ionos'],
    ['sos-de-fra-1.exo.io', 'de-fra-1@exoscale'],
  ])('derives from %s the region %s', (host, region) => expect(regionOfHost(host)).toEqual(at(region)))
  it.each([
    'localhost',
    '0123456789abcdef.r2.cloudflarestorage.com',
    's3.amazonaws.com',
    's3.eu-central-1.amazonaws.com.example.org',
    'eu-central-1.example.org',
    'abc.databases.neo4j.io',
  ])('returns null for %s', (host) => expect(regionOfHost(host)).toBeNull())
})

const fact = (name: StoreLocationFact['name'], more: Partial<StoreLocationFact> = {}): StoreLocationFact => ({
  name,
  derived: null,
  within: null,
  ...more,
})

describe('placed', () => {
  const facts = [
    fact('postgresql', { within: 'files' }),
    fact('files'),
    fact('graph', { within: 'postgresql' }),
    fact('objects', { derived: at('eu-central-1@aws') }),
    fact('mail'),
  ]
  it('takes the region from the address, from KP_REGIONS, or from the enclosing place', () => {
    const found = storeLocationOf(facts, parseRegions('files=de@own,mail=us-east-1@aws'))
    expect(found.map(({ name, region, source, jurisdiction }) => [name, region, source, jurisdiction])).toEqual([
      ['postgresql', 'de', 'within', 'eea'],
      ['files', 'de', 'stated', 'eea'],
      ['graph', 'de', 'within', 'eea'],
      ['objects', 'eu-central-1', 'derived', 'eea'],
      ['mail', 'us-east-1', 'stated', 'outside'],
    ])
    expect(regionsThatBlock('eu', found)).toEqual(['mail'])
    expect(regionsThatBlock(null, found)).toEqual([])
  })
  it('prefers a stated region over the enclosing place', () =>
    expect(storeLocationOf(facts, parseRegions('files=de@own,graph=us@own'))[2]).toMatchObject({
      region: 'us',
      source: 'stated',
    }))
  it('rejects a stated region that contradicts the address', () =>
    expect(() => storeLocationOf(facts, parseRegions('objects=eu-west-1@aws'))).toThrow(
      'states eu-west-1@aws for objects, but its address belongs to eu-central-1@aws',
    ))
  it('returns no region for two places that enclose each other', () =>
    expect(
      storeLocationOf([fact('graph', { within: 'cache' }), fact('cache', { within: 'graph' })], new Map())[0],
    ).toMatchObject({
      region: null,
      jurisdiction: 'unknown',
    }))

  it.each([
    [
      '',
      'cannot be eu: the region of postgresql is not stated; state it in KP_REGIONS, for example postgresql=de@own or postgresql=eu-central-1@aws',
    ],
    [
      'files=de@own',
      'cannot be eu: the region of mail is not stated; state it in KP_REGIONS, for example mail=de@own or mail=eu-central-1@aws',
    ],
    [
      'files=de@own,mail=eu-west-2@aws',
      'cannot be eu: mail is in eu-west-2@aws, which is in GB, outside the European Economic Area',
    ],
    [
      'files=de@own,mail=eu-west-9@aws',
      'cannot be eu: mail is in eu-west-9@aws, an unknown region, so it is not known to be in the EEA',
    ],
    ['files=de@own,mail=eu-west-1@aws', undefined],
  ])('residencyFault returns the first fault of KP_RESIDENCY=eu with "%s"', (text, fault) =>
    expect(residencyFault('eu', storeLocationOf(facts, parseRegions(text)))).toBe(fault),
  )
  it('residencyFault accepts every place without KP_RESIDENCY', () =>
    expect(residencyFault(undefined, storeLocationOf(facts, new Map()))).toBeUndefined())
  it('explainOutside names the country', () =>
    expect(
      explainOutside({
        name: 'graph',
        region: 'eu-central-2',
        provider: 'aws',
        source: 'stated',
        jurisdiction: 'outside',
        country: 'CH',
      }),
    ).toContain('CH'))
})

describe('residencyState', () => {
  const inEu = storeLocationOf([fact('files')], parseRegions('files=de@own'))
  const nowhere = storeLocationOf([fact('files')], new Map())
  const abroad = storeLocationOf([fact('files')], parseRegions('files=us@own'))
  it.each([
    ['eu', inEu, 0, 'holds'],
    ['eu', abroad, 0, 'fails'],
    [undefined, inEu, 3, 'fails'],
    [undefined, nowhere, 0, 'not_applicable'],
    [undefined, nowhere, 1, 'fails'],
    [undefined, abroad, 0, 'attention'],
    [undefined, abroad, 1, 'fails'],
  ] as const)(
    'of KP_RESIDENCY %s, places %j and %i broken promises returns %s',
    (residency, locations, projects, state) => expect(residencyState(residency, locations, projects)).toBe(state),
  )
})
