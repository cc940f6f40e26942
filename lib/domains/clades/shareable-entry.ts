import { z } from 'zod'
import { DepthError } from '#lib/domains/sanitizer/fields.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import type { EntryBody } from './contract.ts'
import type { CladeAgent, CladePorts, OwnEntry } from './ports.ts'
import { recognised } from './recognising.ts'
import { isShared, type SharedKind } from './rules.ts'
import { strippedKinds } from './strip-kinds.ts'
import { type ShareableEntry, type StrippedEntry, stripEntry } from './strip-rules.ts'
import type { AnalyzerMatch } from './strip-texts.ts'

/** What to share: a stored entry, or the content of a private entry that the owner's client opened and stripped. */
export interface ShareOrder {
  entry_id?: string | undefined
  entry?: EntryBody | undefined
  removed?: StrippedEntry['removed'] | undefined
  origins?: string[] | undefined
}
/** Names to remove: those that the installation knows, and those that an analyzer found. */
interface NamesToStrip {
  names: readonly string[]
  found?: readonly AnalyzerMatch[]
}

const AnyJson = z.json()
const ofClient = (body: EntryBody): ShareableEntry => ({
  ...body,
  provenance: body.provenance ?? null,
  valid_from: body.valid_from?.toISOString() ?? null,
  valid_until: body.valid_until?.toISOString() ?? null,
})
const ofGrimoire = (entry: OwnEntry): ShareableEntry => ({
  ...entry,
  content: AnyJson.parse(entry.content),
  confidence: entry.confidence ?? 0,
  provenance: AnyJson.parse(entry.provenance ?? null),
})

/**
 * The entry that an order names.
 * @throws Problem `invalid`, `not_found`, or `conflict` for a private entry without content
 */
export async function entryToShare(
  entriesOf: CladePorts['entriesOf'],
  tx: Transaction,
  agentId: string,
  { entry_id: id, entry: content }: ShareOrder,
  now: Date,
): Promise<ShareableEntry> {
  if (id === undefined) {
    if (content) return ofClient(content)
    throw invalid(['entry_id'], 'is required without `entry`')
  }
  const entry = (await entriesOf(tx, agentId, [id], now)).get(id)
  if (!entry) throw new Problem('not_found', 'This agent has no entry with this id, or the entry has expired.')
  if (content) return ofClient(content)
  if (entry === 'private')
    throw new Problem(
      'conflict',
      'The server cannot read this private entry. Nothing was sent. Share it in the console or with `kp clade share`, which strip and send it.',
    )
  return ofGrimoire(entry)
}

/**
 * The entry without private data, and what was removed here and by the owner's client.
 * @throws Problem `invalid` for a kind that is never shared, or too deep content
 */
export function strippedEntry(
  entry: ShareableEntry,
  known: NamesToStrip,
  order: ShareOrder = {},
): StrippedEntry & { kind: SharedKind } {
  const { kind } = entry
  if (!isShared(kind)) throw invalid(['kind'], 'must not be "episode": episodes are never shared')
  const removedBefore = order.entry ? (order.removed ?? {}) : {}
  try {
    const { payload, removed } = stripEntry(entry, known)
    const counts = strippedKinds.map((one) => [one, (removedBefore[one] ?? 0) + (removed[one] ?? 0)] as const)
    return { payload, removed: Object.fromEntries(counts.filter(([, count]) => count > 0)), kind }
  } catch (error) {
    if (DepthError.is(error)) throw invalid(['entry', 'content'], 'must not nest more than 100 objects and arrays')
    throw error
  }
}

/** The entry, and the names that an analyzer finds in it after the rules have stripped it. */
export async function analyzedEntry(
  { db, entriesOf, namesOf, recognise }: Pick<CladePorts, 'db' | 'entriesOf' | 'namesOf' | 'recognise'>,
  agent: CladeAgent,
  order: ShareOrder,
  now: Date,
) {
  const names = agent.ownerId === null ? [] : await namesOf(undefined, agent.ownerId)
  const entry = await entryToShare(entriesOf, db.prisma, agent.id, order, now)
  return { entry, names, ...(await recognised(recognise, strippedEntry(entry, { names }).payload)) }
}
