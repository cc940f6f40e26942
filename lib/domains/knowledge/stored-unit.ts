import { type Recognise, withNames } from '#lib/domains/pii/analyzer.ts'
import { type FieldFindings, fieldTexts, personalWarnings } from '#lib/domains/pii/fields.ts'
import { listedInstructions } from '#lib/domains/sanitizer/contract.ts'
import { withTimeout } from '#lib/kernel/concurrency.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { RecordScope } from '#lib/kernel/erasure-scope.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Reply } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rejectUnderLegalHold } from './erasure/repository.ts'
import type { ChosenIdPorts } from './refusals.ts'
import type { KnowledgeReader, UnitRow } from './repository.ts'

/** The caller's access rights. */
export const knowledgeReaderOf = ({ actor }: Pick<Context, 'actor'>): KnowledgeReader => ({
  agents: actor.agents,
  organisation: actor.organisationId ?? null,
  admin: actor.isAdmin,
})

/** ETag of a unit: its version and its quality, which votes change without a new version. */
export const etagOf = ({ version, quality }: { version: number; quality: number }): string =>
  `"v${version}-${Math.round(quality * 10_000)}"`

/** Whether an If-Match header allows a change of this version. Quality is ignored: votes do not change the unit. */
export const passes = (ifMatch: string | undefined, version: number): boolean =>
  ifMatch === undefined ||
  ifMatch.trim() === '*' ||
  ifMatch.split(',').some((tag) => /^"v(\d+)(?:-\d+)?"$/.exec(tag.trim())?.[1] === String(version))

/** Functions of the erasure domain, which this domain does not import. */
interface UnitErasures {
  begin(
    tx: Transaction,
    order: {
      scope: RecordScope
      formerOwner: string
      requestedBy: string
      reason: string
      wasPublic: boolean
      now: Date
    },
  ): Promise<string>
  finishCommitted(receiptId: string): Promise<Receipt>
  receiptFor(deletedId: string, owners: readonly string[], tx?: Transaction): Promise<string | undefined>
}

/** Finds names of people in texts; undefined if no analyzer is configured. */
type Names = Recognise | undefined

/** Warning if the configured analyzer did not answer. */
const namesMissing =
  'The text was not checked for names and postal addresses of people, because the connected analyzer did not answer.'

/** A scanned value with its findings and warnings. */
interface Warned {
  value: unknown
  found: readonly FieldFindings[]
  warnings: readonly string[]
}
const keyOf = ({ path }: Pick<FieldFindings, 'path'>): string => JSON.stringify(path)

/**
 * Returns the warnings of each item, including the analyzer's findings. Never throws. Takes no longer than one analyzer request, however
 * many items there are; without an analyzer nothing is requested. Do not call it within a transaction: it waits for another server.
 */
export async function namesWarned(recognise: Recognise | undefined, items: readonly Warned[]): Promise<string[][]> {
  if (recognise === undefined) return items.map(({ warnings }) => [...warnings])
  const texts = items.flatMap(({ value, found }, item) => {
    const known = new Map(found.filter(({ isKey }) => !isKey).map((field) => [keyOf(field), field.findings]))
    return fieldTexts(value).map((field) => ({ ...field, item, ours: known.get(keyOf(field)) ?? [] }))
  })
  const { findings, missing } = await withNames(
    recognise,
    texts.map(({ text }) => text),
    texts.map(({ ours }) => ours),
  )
  const places = texts.map((field, at) => ({ ...field, isMissing: missing.has(at), findings: findings[at] ?? [] }))
  return items.map(({ found, warnings }, item) => {
    const own = places.filter((place) => place.item === item)
    const reported = own.filter((place) => place.findings.length > 0)
    const again = new Set(reported.map(keyOf))
    const retained = found.filter((field) => field.isKey || !again.has(keyOf(field)))
    const before = new Set(personalWarnings(found))
    return [
      ...warnings.filter((warning) => !before.has(warning)),
      ...personalWarnings([...retained, ...reported]),
      ...(own.some(({ isMissing }) => isMissing) ? [namesMissing] : []),
    ]
  })
}

/** Returns the warnings of one record, including names found in it. Call it outside of transactions. */
export async function warningsWithNames(names: Names, of: Warned): Promise<string[]> {
  const [warnings] = await namesWarned(names, [of])
  return warnings ?? [...of.warnings]
}

/** Adds warnings about names to a reply. The search runs after the commit, so that no locks are held meanwhile. */
export function namedAfterCommit<T extends { warnings?: string[] | undefined }>(
  names: Names,
  of: Omit<Warned, 'warnings'>,
  reply: Reply<T>,
): Reply<T> {
  const { body, status, headers } = reply
  if (names === undefined || body === undefined) return reply
  return {
    ...reply,
    async afterCommit() {
      const warnings = await warningsWithNames(names, { ...of, warnings: body.warnings ?? [] })
      return {
        body: warnings.length > 0 ? { ...body, warnings } : body,
        ...(status !== undefined && { status }),
        ...(headers && { headers }),
      }
    },
  }
}

export interface KnowledgeDeps {
  db: Database
  erasures: UnitErasures
  strict: boolean
  /** Key for hashes of reporters' networks. */
  networkKey: () => Uint8Array
  names: Names
  chosenIds: ChosenIdPorts
  /** Retention in days by visibility; null means unlimited. */
  periods(): Promise<Periods>
}

/** The API form of a unit. */
export const shown = (row: UnitRow) => ({
  id: row.id,
  unit: { ...row.document, id: row.id },
  visibility: row.visibility,
  quality_score: row.quality_score,
  ...listedInstructions(row.instructions),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

/** Problem for a missing unit or skill: 410 with the receipt for its former owner, 404 for others. */
export async function erasedOrNotFound(
  { receiptFor }: Pick<UnitErasures, 'receiptFor'>,
  { actor }: Pick<Context, 'actor'>,
  id: string,
  tx?: Transaction,
): Promise<Problem> {
  const receiptId = await receiptFor(id, actor.agents, tx)
  return receiptId === undefined
    ? new Problem(
        'not_found',
        `No ${id.startsWith('kp:skill:') ? 'skill' : 'unit'} with this id exists, or you cannot access it.`,
      )
    : new Problem('erased', {
        detail: 'This record was erased. See its receipt.',
        extensions: { receipt_id: receiptId },
        headers: { Link: `</v1/receipts/${receiptId}>; rel="related"` },
      })
}

/** A unit or skill to erase; its row is locked. */
interface Erasable {
  kind: 'unit' | 'skill'
  id: string
  author: string
  /** Further agents that the content is attributed to. */
  attributedTo?: readonly (string | null)[]
  version: number
  /** Whether others could have copied it. */
  wasPublic: boolean
}

/** Milliseconds that a request waits for verification; after that the job completes it. */
const verificationPatience = 20_000

const prefersReceipt = (prefer: string | undefined): boolean =>
  /(?:^|,)\s*return\s*=\s*"?representation"?\s*(?:[,;]|$)/i.test(prefer ?? '')

/**
 * Starts the erasure in the transaction and completes it after the commit. Returns 204 with the receipt's id, or the receipt if the client
 * prefers it.
 * @throws {Problem} `precondition_failed`, `held`; `unavailable` if verification is not complete yet
 */
export async function eraseRow(
  erasures: UnitErasures,
  { tx, actor, now }: MutationContext,
  { kind, id, author, attributedTo = [], version, wasPublic }: Erasable,
  headers: { prefer?: string | undefined; 'if-match'?: string | undefined },
): Promise<Reply<Receipt>> {
  if (!passes(headers['if-match'], version))
    throw new Problem(
      'precondition_failed',
      `The ${kind} has changed since you read it, so nothing was erased. Read it again.`,
    )
  await rejectUnderLegalHold(tx, { kind, id, agents: [author, ...attributedTo] }, now)
  const receiptId = await erasures.begin(tx, {
    scope: kind === 'unit' ? { unit: id } : { skill: id },
    formerOwner: author,
    requestedBy: actor.id,
    reason: actor.agents.includes(author) ? 'user_request' : 'admin_request',
    wasPublic,
    now,
  })
  const headersOut = {
    'X-Deletion-Receipt': receiptId,
    Link: `</v1/receipts/${receiptId}>; rel="related"; title="deletion receipt"`,
  }
  return {
    body: undefined,
    status: 204,
    resourceId: id,
    details: { receipt: receiptId },
    headers: headersOut,
    afterCommit: async () => {
      const late = new Problem('unavailable', 'The verification takes longer than usual.')
      const receipt = await withTimeout(verificationPatience, erasures.finishCommitted(receiptId), late).catch(
        (cause: unknown) => {
          throw new Problem('unavailable', {
            detail: `The ${kind} was erased, but the erasure could not be verified yet. The verification is retried automatically. Request the receipt later.`,
            headers: { ...headersOut, 'Retry-After': '60' },
            extensions: { receipt_id: receiptId },
            cause,
          })
        },
      )
      return prefersReceipt(headers.prefer)
        ? { body: receipt, status: 200, headers: { ...headersOut, 'Preference-Applied': 'return=representation' } }
        : { body: undefined, status: 204, headers: headersOut }
    },
  }
}
