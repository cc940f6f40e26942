import { z } from 'zod'
import { invalid, Problem } from './problem.ts'

/** A region that data can be promised to: `eu` for the European Economic Area, or the two letters of a country. */
export const dataRegionForm = /^[a-z]{2}$/

/** A region that agents, projects and conversations can require. The installation's settings name those that can be chosen. */
export const DataRegion = z
  .string()
  .regex(dataRegionForm, 'must be eu or a two-letter country code')
  .meta({ id: 'DataRegion', description: '`eu`, or a two-letter country code from KP_DATA_REGIONS' })

/** The regions that can be chosen here for agents, projects and conversations. */
export interface DataRegions {
  choosable: readonly string[]
  /** Places that are not in the region. */
  regionsThatBlock(region: string): readonly string[]
}

/**
 * Checks that a region can be chosen here, and that its data can be stored.
 * @throws {Problem} `invalid` for a region that cannot be chosen; `code` if a place is outside of the region
 */
export function requireRegion(
  regions: DataRegions,
  region: string | null | undefined,
  code: 'outside_region' | 'conflict',
): void {
  if (region == null) return
  if (!regions.choosable.includes(region)) throw invalid(['region'], `must be one of ${regions.choosable.join(', ')}`)
  requireStorable(regions, region, code)
}

/** Whether new data of a region can be stored here: the settings name the region, and all places are in it. */
export const isStorable = (regions: DataRegions, region: string | null | undefined): boolean =>
  region == null || (regions.choosable.includes(region) && regions.regionsThatBlock(region).length === 0)

/**
 * Checks that new data can be stored for a record that already has the region: the settings may have changed since its creation.
 * @throws {Problem} `code`, with the region
 */
export function requireStorable(
  { choosable, regionsThatBlock }: DataRegions,
  region: string | null | undefined,
  code: 'outside_region' | 'conflict',
): void {
  if (region == null) return
  const refused = (why: string, what: string) =>
    new Problem(code, { detail: `${why} Nothing was stored. ${what}`, extensions: { region } })
  if (!choosable.includes(region))
    throw refused(
      `This installation no longer offers the region ${region}.`,
      'Ask its operator to name the region in KP_DATA_REGIONS again.',
    )
  const names = regionsThatBlock(region)
  if (names.length > 0)
    throw refused(
      `Not everything in this installation is known to be in the region ${region}: ${names.join(', ')}.`,
      'Ask its operator to move these places into the region, or to state their regions in KP_REGIONS.',
    )
}
