import type { Inventory } from '#lib/domains/exports/contract.ts'

export const grounds = ['a', 'b', 'c', 'd', 'e', 'f'] as const
export type Ground = (typeof grounds)[number]

/** The grounds of GDPR art. 6(1) in a lawful basis, in the order of the article, without duplicates. */
export function groundsIn(basis: string): Ground[] {
  const named = [...basis.matchAll(/\b6\(1\)\(([a-f])\)/g)].map(([, letter]) => letter)
  return grounds.filter((ground) => named.includes(ground))
}

type InventoryItem = Inventory['data'][number]
/** Data sources that hold records of the subject, sorted by store size and then by count; those without records are listed separately. */
export function sortedHoldings(data: readonly InventoryItem[]): {
  held: InventoryItem[]
  empty: InventoryItem[]
  stores: number
} {
  const held = data.filter(({ count }) => count > 0)
  const ofStore = new Map<string, number>()
  for (const { store, count } of held) ofStore.set(store, (ofStore.get(store) ?? 0) + count)
  const weight = (store: string) => ofStore.get(store) ?? 0
  return {
    held: held.toSorted(
      (one, other) =>
        weight(other.store) - weight(one.store) || one.store.localeCompare(other.store) || other.count - one.count,
    ),
    empty: data.filter(({ count }) => count === 0),
    stores: ofStore.size,
  }
}

/** Records that are stored now as proof or by law; those that are not counted may exist. */
export const storedBeside = (beside: Inventory['kept_beside']): Inventory['kept_beside'] =>
  beside.filter(({ count }) => count !== 0)

const recordPages: Record<string, string> = {
  accounts: '/account',
  'accounts.sessions': '/account',
  'accounts.identities': '/account',
  agents: '/agents',
  tokens: '/tokens',
  'privacy.requests': '/settings/privacy/requests',
  'knowledge.units': '/knowledge',
  'knowledge.skills': '/knowledge',
  'exports.files': '/settings/privacy?tab=download',
  'erasure.receipts': '/settings/privacy/receipts',
  'projects.projects': '/projects',
  'projects.members': '/projects',
  'projects.conversations': '/projects',
  'projects.messages': '/projects',
  'projects.documents': '/projects',
}
/** The page that lists the records of a data source; undefined if there is none, as for mentions in other people’s projects. */
export const recordsPageOf = (name: string): string | undefined => recordPages[name]

export const privacyTabs = ['data', 'download', 'correct', 'restrict', 'delete'] as const
export type PrivacyTab = (typeof privacyTabs)[number]
/** The address of a tab of the privacy page, for the person or one of their agents. */
export function privacyTabHref(tab: PrivacyTab, agentId: string | undefined): string {
  const query = new URLSearchParams()
  if (tab !== 'data') query.set('tab', tab)
  if (agentId !== undefined) query.set('agent', agentId)
  return query.size === 0 ? '/settings/privacy' : `/settings/privacy?${query}`
}
