import type { DataSource, RetainedRecord } from '#lib/kernel/data-source.ts'
import en from '#messages/en.ts'

const { lines } = en.privacy.held
const { stores } = en.privacy.where
export type LineKey = keyof typeof lines
export type StoreKey = keyof typeof stores

/**
 * Message key for a data source or retained record: next-intl nests keys at dots, so dots become underscores. Undefined if there is no
 * translation.
 */
export function lineKeyOf(name: string): LineKey | undefined {
  const key = name.replaceAll('.', '_')
  return isLine(key) ? key : undefined
}
const isLine = (key: string): key is LineKey => Object.hasOwn(lines, key)
export const isStore = (name: string): name is StoreKey => Object.hasOwn(stores, name)

export const groups = ['identity', 'content', 'passing', 'proof'] as const
export type Group = (typeof groups)[number]
type Named = Pick<RetainedRecord, 'name' | 'store' | 'what' | 'purpose' | 'kept'>

const groupOfStage = { derived: 'passing', content: 'content', agent: 'identity', account: 'identity' } as const
const order: string[] = Object.keys(lines)
const placeOf = ({ name }: Named): number => order.indexOf(lineKeyOf(name) ?? '')

/** All data sources and retained records by group, in the order of the messages. */
export function noticeLines(
  dataSources: readonly DataSource[],
  retainedRecords: readonly RetainedRecord[],
): Record<Group, Named[]> {
  const made: Record<Group, Named[]> = { identity: [], content: [], passing: [], proof: [...retainedRecords] }
  for (const dataSource of dataSources) made[groupOfStage[dataSource.stage]].push(dataSource)
  for (const group of groups) made[group].sort((one, other) => placeOf(one) - placeOf(other))
  return made
}
