import { eeaCountries, providerNames, regionsOf } from './region-rules.ts'

/** What can lie or travel somewhere; the names that KP_REGIONS takes. */
export const placeNames = [
  'postgresql',
  'files',
  'ledger',
  'snapshot_keys',
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
export type PlaceName = (typeof placeNames)[number]
const isPlaceName = (text: string): text is PlaceName => (placeNames as readonly string[]).includes(text)

/** `fsn1@hetzner`: both in lower case, the provider by its one name. */
export interface Region {
  region: string
  provider: string
}

/** eea: in the European Economic Area. unknown: nobody said where, or what was said is in no list: never taken for the EEA. */
export type Jurisdiction = 'eea' | 'outside' | 'unknown'
export interface Judged {
  jurisdiction: Jurisdiction
  /** ISO 3166-1, or EU for a promise of the whole Union; null where it is not known. */
  country: string | null
}
const unknown: Judged = { jurisdiction: 'unknown', country: null }

const countryNames = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const inCountry = (country: string): Judged => ({
  jurisdiction: country === 'EU' || eeaCountries.has(country) ? 'eea' : 'outside',
  country,
})

/**
 * Where a region is. Of a provider in the table, by the table alone; of another, such as `own`, the region is the country itself
 * (`de@own`), or `eu`.
 */
export function judge({ region, provider }: Region): Judged {
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

/** Reads `name=region@provider,…`. Throws a RangeError that says which of them cannot be read, and why. */
export function parseRegions(text: string): ReadonlyMap<PlaceName, Region> {
  const stated = new Map<PlaceName, Region>()
  for (const item of text.split(',').map((part) => part.trim().toLowerCase())) {
    if (item === '') continue
    const [, name = '', region = '', provider = ''] = shape.exec(item) ?? []
    if (name === '') throw new RangeError(`takes name=region@provider, separated by commas, not "${item}"`)
    if (!isPlaceName(name)) throw new RangeError(`has no "${name}"; the names are ${placeNames.join(', ')}`)
    if (stated.has(name)) throw new RangeError(`says twice where ${name} is`)
    stated.set(name, { region, provider: providerNamed(provider) })
  }
  return stated
}

/** What the settings tell of a place without KP_REGIONS. */
export interface PlaceFact {
  name: PlaceName
  /** Region and provider, where the address itself proves them. */
  derived: Region | null
  /** Lies in the same place as this one, unless something else is stated: graph tables in our database, files on this machine. */
  within: PlaceName | null
}
export type RegionSource = 'stated' | 'derived' | 'within'
export interface Placed extends Judged {
  name: PlaceName
  region: string | null
  provider: string | null
  /** Who says so: KP_REGIONS, the address, or the place that it lies within. Null: nobody does. */
  source: RegionSource | null
}

/**
 * Each place with its region: what the address proves, else what is stated for it, else what is known of the place that it lies within.
 * Throws a RangeError where a statement contradicts an address.
 */
export function placed(facts: readonly PlaceFact[], stated: ReadonlyMap<PlaceName, Region>): Placed[] {
  const byName = new Map(facts.map((fact) => [fact.name, fact]))
  const regionOf = (name: PlaceName, depth = 0): [Region, RegionSource] | undefined => {
    const fact = byName.get(name)
    const said = stated.get(name)
    const derived = fact?.derived
    if (derived && said && (derived.region !== said.region || derived.provider !== said.provider))
      throw new RangeError(
        `says that ${name} is ${said.region}@${said.provider}, and its address says ${derived.region}@${derived.provider}`,
      )
    if (derived) return [derived, 'derived']
    if (said) return [said, 'stated']
    const around = fact?.within && depth < placeNames.length ? regionOf(fact.within, depth + 1) : undefined
    return around && [around[0], 'within']
  }
  return facts.map(({ name }) => {
    const found = regionOf(name)
    if (!found) return { name, region: null, provider: null, source: null, ...unknown }
    const [{ region, provider }, source] = found
    return { name, region, provider, source, ...judge({ region, provider }) }
  })
}

/** Those that are not known to be in the EEA: what is for the EU cannot be placed while there is one. */
export const outside = (places: readonly Placed[]): Placed[] =>
  places.filter(({ jurisdiction }) => jurisdiction !== 'eea')

/** Why it is not in the EEA, with what to do. */
export function explainOutside({ name, region, provider, jurisdiction, country }: Placed): string {
  if (region === null)
    return `nobody has said where ${name} is; state it in KP_REGIONS, such as ${name}=de@own or ${name}=eu-central-1@aws`
  const where = `${name} is in ${region}@${provider}`
  if (jurisdiction === 'unknown') return `${where}, which is in no list of regions, so it is not known to be in the EEA`
  return `${where}, which lies in ${country}, outside the European Economic Area`
}

/** Why nothing may start with these places under KP_RESIDENCY; undefined where it may. Names the first. */
export function residencyFault(residency: 'eu' | undefined, places: readonly Placed[]): string | undefined {
  const [first] = residency === undefined ? [] : outside(places)
  return first && `eu cannot be kept: ${explainOutside(first)}`
}

/** Places that keep something from something of a project in the EU from being placed here; empty: it can be. */
export const hindering = (region: 'eu' | null, places: readonly Placed[]): PlaceName[] =>
  region === null ? [] : outside(places).map(({ name }) => name)

/**
 * What these places are worth as evidence. Where the EEA is promised, to all or to some projects and agents, one outside breaks it; where nothing is
 * promised and nothing stated there is nothing to look at.
 */
export function residencyState(
  residency: 'eu' | undefined,
  places: readonly Placed[],
  promisedInEu: number,
): 'holds' | 'attention' | 'fails' | 'not_applicable' {
  if (outside(places).length === 0) return 'holds'
  if (residency === 'eu' || promisedInEu > 0) return 'fails'
  return places.some(({ region }) => region !== null) ? 'attention' : 'not_applicable'
}
