import { eeaCountries } from '#lib/kernel/region-rules.ts'
import { providerNames, regionsOf } from './region-rules.ts'

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
export type StoreLocationName = (typeof storeLocationNames)[number]
const isPlaceName = (text: string): text is StoreLocationName =>
  (storeLocationNames as readonly string[]).includes(text)

/** Written as `fsn1@hetzner`. Both parts are in lower case, and the provider has its canonical name. */
export interface Region {
  region: string
  provider: string
}

/** eea: in the European Economic Area. unknown: the region is not stated or not listed, and is not treated as EEA. */
export type Jurisdiction = 'eea' | 'outside' | 'unknown'
export interface RegionAssessment {
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

/**
 * The jurisdiction of a region. A provider in the table has only the listed regions. For any other provider, such as
 * `own`, the region is a country (`de@own`) or `eu`.
 */
export function assessRegion({ region, provider }: Region): RegionAssessment {
  const known = regionsOf.get(provider)
  if (known) {
    const country = known.get(region)
    return country === undefined ? unknown : inCountry(country)
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
export type RegionSource = 'stated' | 'derived' | 'within'
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
export const hindering = (region: string | null, locations: readonly StoreLocation[]): StoreLocationName[] =>
  region === null
    ? []
    : locations.filter((location) => !regionsAround(location).includes(region)).map(({ name }) => name)

/** The offered regions that all places are in: promises of these are fulfilled. */
export const fulfilledRegions = (locations: readonly StoreLocation[], offered: readonly string[]): string[] =>
  offered.filter((region) => hindering(region, locations).length === 0)

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
