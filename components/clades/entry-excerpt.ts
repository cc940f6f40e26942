import { isShared, type SharedKind } from '#lib/domains/clades/rules.ts'
import type { EntryView } from '#lib/domains/grimoire/contract.ts'

/** An entry in the list: just enough to recognize it. */
export interface ListedShareable {
  id: string
  kind: SharedKind
  confidence: number
  excerpt: string
  created_at: string
}
const longest = 140

/** The beginning of the content, on one line. */
export function excerptOf(content: unknown): string {
  const text = (typeof content === 'string' ? content : JSON.stringify(content)).replace(/\s+/g, ' ').trim()
  const signs = Array.from(text.slice(0, 4 * longest))
  return signs.length > longest ? `${signs.slice(0, longest - 1).join('')}…` : text
}

/** Undefined for an entry that is unreadable here, and for kinds that are never shared. */
export function shareableOf({ id, kind, entry, created_at }: EntryView): ListedShareable | undefined {
  if (entry === null || !isShared(kind)) return undefined
  return { id, kind, confidence: entry.confidence ?? 0, excerpt: excerptOf(entry.content), created_at }
}
