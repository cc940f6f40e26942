import { eeaCountries } from '#lib/kernel/region-rules.ts'

/** The stores and processors that have a region, as KP_REGIONS names them. */
export const storeLocationNames = [
  'postgresql',
  'files',
  'ledger',
  'snapshot_keys',
  'exports',
  'backups',
  'graph',
  'cache',
  'objects',
  'checkpoints',
  'limits',
  'mail',
  'oidc',
  'llm',
  'presidio',
  'posthog',
] as const
type StoreLocationName = (typeof storeLocationNames)[number]
const isPlaceName = (text: string): text is StoreLocationName =>
  (storeLocationNames as readonly string[]).includes(text)

/** Written as `fsn1@hetzner`. Both parts are in lower case, and the provider has its canonical name. */
interface Region {
  region: string
  provider: string
}

/** eea: in the European Economic Area. unknown: the region is not stated or not listed, and is not treated as EEA. */
type Jurisdiction = 'eea' | 'outside' | 'unknown'
interface RegionAssessment {
  jurisdiction: Jurisdiction
  /** ISO 3166-1, or EU when the whole European Union is promised. Null when unknown. */
  country: string | null
}
const unknown: RegionAssessment = { jurisdiction: 'unknown', country: null }

const countryNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const inCountry = (country: string): RegionAssessment => ({
  jurisdiction: country === 'EU' || eeaCountries.has(country) ? 'eea' : 'outside',
  country,
})

/** Region → country (ISO 3166-1), or EU when the provider promises the European Union without naming a country. */
const countries = (byCountry: Record<string, string>): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(byCountry).flatMap(([country, regions]) =>
      regions.split(' ').map((region) => [region, country] as const),
    ),
  )

/**
 * The countries of provider regions, from the providers' own lists. Regions that are not listed are unknown, because
 * names mislead: `eu-west-2` of AWS is London, `eu-central-2` of AWS is Zurich and that of IONOS is Berlin.
 */
const clouds: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  // https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
  [
    'aws',
    countries({
      DE: 'eu-central-1 eusc-de-east-1',
      CH: 'eu-central-2',
      IE: 'eu-west-1',
      GB: 'eu-west-2',
      FR: 'eu-west-3',
      SE: 'eu-north-1',
      IT: 'eu-south-1',
      ES: 'eu-south-2',
      US: 'us-east-1 us-east-2 us-west-1 us-west-2 us-gov-east-1 us-gov-west-1',
      CA: 'ca-central-1 ca-west-1',
      MX: 'mx-central-1',
      BR: 'sa-east-1',
      ZA: 'af-south-1',
      IL: 'il-central-1',
      BH: 'me-south-1',
      AE: 'me-central-1',
      IN: 'ap-south-1 ap-south-2',
      JP: 'ap-northeast-1 ap-northeast-3',
      KR: 'ap-northeast-2',
      SG: 'ap-southeast-1',
      AU: 'ap-southeast-2 ap-southeast-4',
      ID: 'ap-southeast-3',
      MY: 'ap-southeast-5',
      NZ: 'ap-southeast-6',
      TH: 'ap-southeast-7',
      HK: 'ap-east-1',
      TW: 'ap-east-2',
      CN: 'cn-north-1 cn-northwest-1',
    }),
  ],
  // https://cloud.google.com/compute/docs/regions-zones, https://cloud.google.com/storage/docs/locations. The
  // multi-region EU excludes London and Zurich. The dual regions EUR5, EUR7 and EUR8 include one of them and are not
  // listed.
  [
    'google',
    countries({
      EU: 'eu eur4',
      BE: 'europe-west1',
      GB: 'europe-west2',
      DE: 'europe-west3 europe-west10',
      NL: 'europe-west4',
      CH: 'europe-west6',
      IT: 'europe-west8 europe-west12',
      FR: 'europe-west9',
      FI: 'europe-north1',
      SE: 'europe-north2',
      PL: 'europe-central2',
      ES: 'europe-southwest1',
      US: 'us nam4 us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4',
      CA: 'northamerica-northeast1 northamerica-northeast2',
      MX: 'northamerica-south1',
      BR: 'southamerica-east1',
      CL: 'southamerica-west1',
      ZA: 'africa-south1',
      IL: 'me-west1',
      QA: 'me-central1',
      SA: 'me-central2',
      IN: 'asia-south1 asia-south2',
      SG: 'asia-southeast1',
      ID: 'asia-southeast2',
      TW: 'asia-east1',
      HK: 'asia-east2',
      JP: 'asia-northeast1 asia-northeast2',
      KR: 'asia-northeast3',
      AU: 'australia-southeast1 australia-southeast2',
    }),
  ],
  // https://learn.microsoft.com/azure/reliability/regions-list
  [
    'azure',
    countries({
      AT: 'austriaeast',
      BE: 'belgiumcentral',
      DK: 'denmarkeast',
      IE: 'northeurope',
      NL: 'westeurope',
      FR: 'francecentral francesouth',
      DE: 'germanywestcentral germanynorth',
      IT: 'italynorth',
      NO: 'norwayeast norwaywest',
      PL: 'polandcentral',
      ES: 'spaincentral',
      SE: 'swedencentral swedensouth',
      CH: 'switzerlandnorth switzerlandwest',
      GB: 'uksouth ukwest',
      US: 'centralus eastus eastus2 northcentralus southcentralus westcentralus westus westus2 westus3',
      CA: 'canadacentral canadaeast',
      MX: 'mexicocentral',
      BR: 'brazilsouth brazilsoutheast',
      CL: 'chilecentral',
      ZA: 'southafricanorth southafricawest',
      IL: 'israelcentral',
      QA: 'qatarcentral',
      AE: 'uaenorth uaecentral',
      IN: 'centralindia southindia westindia',
      SG: 'southeastasia',
      HK: 'eastasia',
      ID: 'indonesiacentral',
      MY: 'malaysiawest',
      JP: 'japaneast japanwest',
      KR: 'koreacentral koreasouth',
      AU: 'australiaeast australiasoutheast australiacentral australiacentral2',
      NZ: 'newzealandnorth',
    }),
  ],
  // https://developers.cloudflare.com/r2/reference/data-location/: a jurisdiction is guaranteed, a location hint
  // (weur, eeur) is not.
  ['cloudflare', countries({ EU: 'eu', US: 'fedramp' })],
  ['hetzner', countries({ DE: 'fsn1 nbg1', FI: 'hel1', US: 'ash hil', SG: 'sin' })],
  [
    'ovh',
    countries({
      FR: 'gra gra1 gra3 gra5 gra7 gra9 gra11 sbg sbg3 sbg5 sbg7 rbx rbx-a rbx-archive par eu-west-par eu-west-gra eu-west-sbg eu-west-rbx',
      DE: 'de de1 eu-west-lim',
      PL: 'waw waw1 eu-central-waw',
      IT: 'mil eu-south-mil',
      GB: 'uk uk1 eu-west-eri',
      CA: 'bhs bhs3 bhs5 ca-east-bhs ca-east-tor',
      SG: 'sgp sgp1 ap-southeast-sgp',
      AU: 'syd syd1 ap-southeast-syd',
      IN: 'ap-south-mum',
      US: 'us-east-va us-west-or',
    }),
  ],
  ['scaleway', countries({ FR: 'fr-par', NL: 'nl-ams', PL: 'pl-waw', IT: 'it-mil' })],
  [
    'digitalocean',
    countries({
      NL: 'ams2 ams3',
      DE: 'fra1',
      GB: 'lon1',
      US: 'nyc1 nyc2 nyc3 sfo1 sfo2 sfo3 atl1 ric1',
      CA: 'tor1',
      SG: 'sgp1',
      IN: 'blr1',
      AU: 'syd1',
    }),
  ],
  [
    'ionos',
    countries({ DE: 'de eu-central-1 eu-central-2 eu-central-3 eu-central-4', ES: 'eu-south-2', US: 'us-central-1' }),
  ],
  [
    'exoscale',
    countries({
      CH: 'ch-gva-2 ch-dk-2',
      DE: 'de-fra-1 de-muc-1',
      AT: 'at-vie-1 at-vie-2',
      BG: 'bg-sof-1',
      HR: 'hr-zag-1',
    }),
  ],
  [
    'upcloud',
    countries({
      FI: 'fi-hel1 fi-hel2',
      DE: 'de-fra1',
      NL: 'nl-ams1',
      SE: 'se-sto1',
      ES: 'es-mad1',
      PL: 'pl-waw1',
      DK: 'dk-cph1',
      NO: 'no-svg1',
      GB: 'uk-lon1',
      US: 'us-chi1 us-nyc1 us-sjo1',
      SG: 'sg-sin1',
      AU: 'au-syd1',
    }),
  ],
  ['otc', countries({ DE: 'eu-de', NL: 'eu-nl', CH: 'eu-ch2' })],
  // https://posthog.com/docs/privacy: PostHog Cloud EU is in Frankfurt.
  ['posthog', countries({ DE: 'eu', US: 'us' })],
  // https://fly.io/docs/reference/regions
  [
    'fly',
    countries({
      NL: 'ams',
      SE: 'arn',
      FR: 'cdg',
      DE: 'fra',
      ES: 'mad',
      RO: 'otp',
      PL: 'waw',
      GB: 'lhr',
      US: 'atl bos den dfw ewr iad lax mia ord phx sea sjc',
      CA: 'yul yyz',
      MX: 'gdl qro',
      BR: 'gig gru',
      CO: 'bog',
      CL: 'scl',
      AR: 'eze',
      ZA: 'jnb',
      IN: 'bom',
      SG: 'sin',
      HK: 'hkg',
      JP: 'nrt',
      AU: 'syd',
    }),
  ],
  // https://vercel.com/docs/edge-network/regions
  [
    'vercel',
    countries({
      SE: 'arn1',
      FR: 'cdg1',
      IE: 'dub1',
      DE: 'fra1',
      GB: 'lhr1',
      US: 'cle1 iad1 pdx1 sfo1',
      CA: 'yul1',
      BR: 'gru1',
      ZA: 'cpt1',
      AE: 'dxb1',
      IN: 'bom1',
      HK: 'hkg1',
      JP: 'hnd1 kix1',
      KR: 'icn1',
      SG: 'sin1',
      AU: 'syd1',
    }),
  ],
  // https://neon.com/docs/introduction/regions: the cloud is part of the name.
  [
    'neon',
    countries({
      DE: 'aws-eu-central-1 azure-gwc azure-germanywestcentral',
      GB: 'aws-eu-west-2',
      US: 'aws-us-east-1 aws-us-east-2 aws-us-west-2 azure-eastus2 azure-westus3',
      BR: 'aws-sa-east-1',
      SG: 'aws-ap-southeast-1',
      AU: 'aws-ap-southeast-2',
    }),
  ],
])

/** Names of one cloud's regions, without those of several countries. */
const namesOf = (cloud: string): [string, string][] =>
  [...(clouds.get(cloud) ?? [])].filter(([region]) => !/^(?:eu|us|eur\d|nam\d)$/.test(region))
/**
 * Services that run in the regions of clouds and use their names: Supabase (AWS), Upstash (AWS and Google Cloud), and Neo4j Aura (AWS,
 * Google Cloud and Azure). No name occurs in two of these clouds.
 */
const services: readonly (readonly [service: string, clouds: readonly string[]])[] = [
  ['supabase', ['aws']],
  ['upstash', ['aws', 'google']],
  ['aura', ['aws', 'google', 'azure']],
]
export const regionsOf: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ...clouds,
  ...services.map(([service, names]) => [service, new Map(names.flatMap(namesOf))] as const),
])
/** Providers whose regions were stated as countries before the table listed them. */
const formerlyByCountry = new Set(['supabase', 'upstash', 'aura', 'fly', 'vercel', 'neon'])

/** Aliases of provider names. */
const providerNames: ReadonlyMap<string, string> = new Map([
  ['amazon', 'aws'],
  ['gcp', 'google'],
  ['gcs', 'google'],
  ['vertex', 'google'],
  ['vertexai', 'google'],
  ['vertex-ai', 'google'],
  ['neo4j', 'aura'],
  ['fly.io', 'fly'],
  ['microsoft', 'azure'],
  ['r2', 'cloudflare'],
  ['ovhcloud', 'ovh'],
  ['self', 'own'],
])

/**
 * The jurisdiction of a region. A provider in the table has only the listed regions. For any other provider, such as
 * `own`, the region is a country (`de@own`) or `eu`.
 */
export function assessRegion({ region, provider }: Region): RegionAssessment {
  const known = regionsOf.get(provider)
  if (known) {
    const country = known.get(region)
    if (country !== undefined) return inCountry(country)
    if (!formerlyByCountry.has(provider)) return unknown
  }
  const country = region === 'uk' ? 'GB' : region.toUpperCase()
  const isCountry = country === 'EU' || (/^[A-Z]{2}$/.test(country) && !/^(X.|Z.|QO|UN|EZ)$/.test(country))
  return isCountry && countryNames.of(country) !== undefined ? inCountry(country) : unknown
}

const shape = /^([a-z0-9-]+)=([a-z0-9][a-z0-9._-]{0,62})@([a-z0-9][a-z0-9._-]{0,62})$/
const providerNamed = (name: string): string => providerNames.get(name) ?? name

/** Parses `name=region@provider,…`. @throws RangeError naming the item that is malformed, and why */
export function parseRegions(text: string): ReadonlyMap<StoreLocationName, Region> {
  const stated = new Map<StoreLocationName, Region>()
  for (const item of text.split(',').map((part) => part.trim().toLowerCase())) {
    if (item === '') continue
    const [, name = '', region = '', provider = ''] = shape.exec(item) ?? []
    if (name === '')
      throw new RangeError(`must contain name=region@provider, separated by commas. "${item}" is not valid`)
    if (!isPlaceName(name))
      throw new RangeError(`contains the unknown name "${name}". Valid names: ${storeLocationNames.join(', ')}`)
    if (stated.has(name)) throw new RangeError(`contains ${name} twice`)
    stated.set(name, { region, provider: providerNamed(provider) })
  }
  return stated
}

/** What the settings say about a place without KP_REGIONS. */
export interface StoreLocationFact {
  name: StoreLocationName
  /** The region that the address proves. */
  derived: Region | null
  /** The place that contains it unless stated otherwise: graph tables are in the main database, files on this machine. */
  within: StoreLocationName | null
}
type RegionSource = 'stated' | 'derived' | 'within'
export interface StoreLocation extends RegionAssessment {
  name: StoreLocationName
  region: string | null
  provider: string | null
  /** The source of the region: KP_REGIONS, the address, or the enclosing place. Null when unknown. */
  source: RegionSource | null
}

/**
 * The region of each place: from the address, else from KP_REGIONS, else from the enclosing place. @throws RangeError
 * when KP_REGIONS contradicts an address
 */
export function storeLocationOf(
  facts: readonly StoreLocationFact[],
  stated: ReadonlyMap<StoreLocationName, Region>,
): StoreLocation[] {
  const byName = new Map(facts.map((fact) => [fact.name, fact]))
  const regionOf = (name: StoreLocationName, depth = 0): [Region, RegionSource] | undefined => {
    const fact = byName.get(name)
    const said = stated.get(name)
    const derived = fact?.derived
    if (derived && said && (derived.region !== said.region || derived.provider !== said.provider))
      throw new RangeError(
        `states ${said.region}@${said.provider} for ${name}, but its address belongs to ${derived.region}@${derived.provider}`,
      )
    if (derived) return [derived, 'derived']
    if (said) return [said, 'stated']
    const around = fact?.within && depth < storeLocationNames.length ? regionOf(fact.within, depth + 1) : undefined
    return around && [around[0], 'within']
  }
  return facts.map(({ name }) => {
    const found = regionOf(name)
    if (!found) return { name, region: null, provider: null, source: null, ...unknown }
    const [{ region, provider }, source] = found
    return { name, region, provider, source, ...assessRegion({ region, provider }) }
  })
}

/** Places that are not known to be in the EEA. While there is one, no EU project or agent can be created. */
export const outside = (locations: readonly StoreLocation[]): StoreLocation[] =>
  locations.filter(({ jurisdiction }) => jurisdiction !== 'eea')

/** Why the place is not in the EEA, and what to do. */
export function explainOutside({ name, region, provider, jurisdiction, country }: StoreLocation): string {
  if (region === null)
    return `the region of ${name} is not stated; state it in KP_REGIONS, for example ${name}=de@own or ${name}=eu-central-1@aws`
  const where = `${name} is in ${region}@${provider}`
  if (jurisdiction === 'unknown') return `${where}, an unknown region, so it is not known to be in the EEA`
  return `${where}, which is in ${country}, outside the European Economic Area`
}

/** Why the application must not start under KP_RESIDENCY, naming the first place outside. Undefined when it may start. */
export function residencyFault(residency: 'eu' | undefined, locations: readonly StoreLocation[]): string | undefined {
  const [first] = residency === undefined ? [] : outside(locations)
  return first && `cannot be eu: ${explainOutside(first)}`
}

/** Parses the regions that can be chosen, such as `eu,de,ch`. @throws RangeError naming the item that is malformed */
export function parseDataRegions(text: string): string[] {
  const regions = text
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '')
  for (const region of regions)
    if (assessRegion({ region, provider: 'own' }).jurisdiction === 'unknown' || region === 'uk')
      throw new RangeError(
        `must contain eu or two-letter country codes (ISO 3166-1), separated by commas. "${region}" is not valid`,
      )
  return [...new Set(regions)]
}

/** The regions that a place is in: its country, and `eu` for the EEA. None while its region is not known. */
export const regionsAround = ({ country, jurisdiction }: RegionAssessment): string[] => [
  ...new Set([
    ...(jurisdiction === 'eea' ? ['eu'] : []),
    ...(country === null || jurisdiction === 'unknown' ? [] : [country.toLowerCase()]),
  ]),
]

/** Places that prevent a project, conversation or agent of this region from being created here. Empty when there are none. */
export const regionsThatBlock = (region: string | null, locations: readonly StoreLocation[]): StoreLocationName[] =>
  region === null
    ? []
    : locations.filter((location) => !regionsAround(location).includes(region)).map(({ name }) => name)

/** The offered regions that all places are in: promises of these are fulfilled. */
export const fulfilledRegions = (locations: readonly StoreLocation[], offered: readonly string[]): string[] =>
  offered.filter((region) => regionsThatBlock(region, locations).length === 0)

/**
 * The state of residency as evidence. A place outside breaks a promise to the installation; `broken` counts the projects and agents whose
 * region is no longer offered, or some place is not in. Without a promise or a stated region the check does not apply.
 */
export function residencyState(
  residency: 'eu' | undefined,
  locations: readonly StoreLocation[],
  broken: number,
): 'holds' | 'attention' | 'fails' | 'not_applicable' {
  if (broken > 0) return 'fails'
  if (outside(locations).length === 0) return 'holds'
  if (residency === 'eu') return 'fails'
  return locations.some(({ region }) => region !== null) ? 'attention' : 'not_applicable'
}

/** Hosts whose name contains the region, in domains that only the provider controls. */
const hosts: readonly (readonly [RegExp, string])[] = [
  [/^s3[.-]([a-z0-9-]+)\.amazonaws\.com$/, 'aws'],
  [/\.s3[.-]([a-z0-9-]+)\.amazonaws\.com$/, 'aws'],
  [/\.([a-z0-9-]+)\.rds\.amazonaws\.com$/, 'aws'],
  [/^email-smtp\.([a-z0-9-]+)\.amazonaws\.com$/, 'aws'],
  [/^[0-9a-f]+\.(eu|fedramp)\.r2\.cloudflarestorage\.com$/, 'cloudflare'],
  [/^([a-z0-9]+)\.your-objectstorage\.com$/, 'hetzner'],
  [/^s3\.([a-z0-9-]+)\.scw\.cloud$/, 'scaleway'],
  [/^s3\.([a-z0-9-]+)\.(?:io\.|perf\.)?cloud\.ovh\.(?:net|us)$/, 'ovh'],
  [/^([a-z0-9]+)\.digitaloceanspaces\.com$/, 'digitalocean'],
  [/^s3[.-]([a-z0-9-]+)\.ionoscloud\.com$/, 'ionos'],
  [/^sos-([a-z0-9-]+)\.exo\.io$/, 'exoscale'],
  [/^(eu|us)\.(?:i\.)?posthog\.com$/, 'posthog'],
  [/^aws-\d+-([a-z]+-[a-z]+-\d)\.pooler\.supabase\.com$/, 'supabase'],
  [/^([a-z]+-[a-z]+\d+)-aiplatform\.googleapis\.com$/, 'google'],
]

/** Hosts of Neon: `….eu-central-1.aws.neon.tech`. */
const neonHost = /\.([a-z0-9-]+)\.(aws|azure)\.neon\.tech$/

/** The region that a host name proves, or null. */
export function regionOfHost(hostname: string): Region | null {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  for (const [pattern, provider] of hosts) {
    const region = pattern.exec(host)?.[1]
    if (region !== undefined) return { region, provider }
  }
  const [, region, cloud] = neonHost.exec(host) ?? []
  return region === undefined ? null : { region: `${cloud}-${region}`, provider: 'neon' }
}
