import { type DataSource, type ErasurePhase, stages } from '#lib/kernel/data-source.ts'
import type { LegalHoldCount, StepState } from '#lib/kernel/erasure-run.ts'
import type { ErasureScope, ProjectPart, RecordScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { ErasedKind, Receipt, SubjectKind } from '#lib/kernel/receipt.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { HoldsInForce } from '../engine/dependencies.ts'

/**
 * Default number of items per page, which one transaction of a step erases. Legal holds and other commits wait for the
 * page, so it takes at most some 100 ms.
 */
export const erasurePageSize = 500
/**
 * Milliseconds of rest after a page that took `took` milliseconds, so that other work gets processor time; an erasure
 * has days. Shorter for derived data, which is mostly the work of other servers and must be done before anything else
 * is erased.
 */
export const restAfter = (took: number, stage: ErasurePhase): number => took * (stage === 'derived' ? 0.2 : 0.7)
/** Number of failures after which a step is stuck until an admin retries it. */
export const attemptLimit = 8
/**
 * Milliseconds until the first retry of an unavailable store. The interval doubles up to {@link longestRetry}; the
 * number of retries is unlimited.
 */
const firstRetry = 1_000
/** Maximum milliseconds between the return of a store and the next try. */
export const longestRetry = 30_000
/** Milliseconds of system time until the next try, after this many tries. */
export const retryStoreAfter = (tries: number): number =>
  Math.min(firstRetry * 2 ** Math.min(Math.max(tries, 1) - 1, 16), longestRetry)
/** Milliseconds of waiting for a store after which admins are notified. */
export const alertAfter = 15 * 60_000
/** Milliseconds between an erasure and the second search of shared stores, to which others also write. */
export const recheckAfter = 24 * 3_600_000
/** Milliseconds until a second search that did not finish is repeated. */
export const recheckAgainAfter = 3_600_000
/** Maximum number of times that verification sends a run back before the run fails. */
export const maxRounds = 5

/** More than the number of data sources in a stage: a step's position determines its stage. */
const places = 1_000
/** Returns the data sources in the order of erasure, each with its position. */
export const dataSourcesInOrder = (
  dataSources: readonly DataSource[],
): { dataSource: DataSource; position: number }[] =>
  dataSources
    .map((dataSource, index) => ({ dataSource, position: stages.indexOf(dataSource.stage) * places + index }))
    .sort((one, other) => one.position - other.position)
export const stageAt = (position: number): ErasurePhase => stages[Math.floor(position / places)] ?? 'account'

/**
 * Returns the steps to execute now: in the first stage that is not done, the first open step of each store. A stuck
 * step blocks the steps after it.
 */
export function dueSteps<S extends { store: string; position: number; state: StepState }>(steps: readonly S[]): S[] {
  const open = steps.filter(({ state }) => state !== 'done').sort((one, other) => one.position - other.position)
  const [first] = open
  if (!first) return []
  const firstOfStore = new Map<string, S>()
  for (const step of open)
    if (stageAt(step.position) === stageAt(first.position) && !firstOfStore.has(step.store))
      firstOfStore.set(step.store, step)
  return [...firstOfStore.values()].filter(({ state }) => state !== 'stuck')
}

/** The subject or project part that a run erases. */
export type RunScope = { subject: Subject } | { part: ProjectPart }

export const nobody: Subject = { account: null, agents: [] }
export const isNobody = ({ account, agents, participants = [] }: Subject): boolean =>
  account === null && agents.length === 0 && participants.length === 0
/** Returns the participations as a member to spread, or an empty object without participations. */
export const participating = (participants: readonly string[] = []): Pick<Subject, 'participants'> =>
  participants.length > 0 ? { participants: [...participants] } : {}

/**
 * Returns which parts of the subject may be erased, and which are under their own hold. A hold on the person covers all
 * agents of the person.
 */
export function withoutHeld(
  subject: Subject,
  holds: Omit<HoldsInForce, 'fingerprint'> & { fingerprint?: string },
): { free: Subject; retained: { hold: string; part: Subject }[] } {
  if (holds.account !== null)
    return { free: { account: null, agents: [] }, retained: [{ hold: holds.account, part: subject }] }
  const retained = subject.agents.flatMap((agent) => {
    const hold = holds.agents.get(agent)
    return hold === undefined ? [] : [{ hold, part: { account: null, agents: [agent] } }]
  })
  return {
    free: {
      account: subject.account,
      agents: subject.agents.filter((agent) => !holds.agents.has(agent)),
      ...participating(subject.participants),
    },
    retained,
  }
}

/** Sums counts of several pages or steps by name. */
export function addedUp(counts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {}
  for (const results of counts)
    for (const [name, count] of Object.entries(results)) sum[name] = (sum[name] ?? 0) + count
  return sum
}
/** Sums counts of several data sources or parts by hold id. */
export const addLegalHoldCounts = (counts: readonly Readonly<Record<string, number>>[]): Record<string, number> =>
  Object.fromEntries(Object.entries(addedUp(counts)).filter(([, count]) => count > 0))
export const legalHoldCounts = (held: Readonly<Record<string, number>>): LegalHoldCount[] =>
  Object.entries(held)
    .map(([hold, count]) => ({ hold, count }))
    .sort((one, other) => (one.hold < other.hold ? -1 : 1))

const subjectNameOf = ({ account, agents, participants = [] }: Subject): string =>
  account ?? agents[0] ?? participants[0] ?? 'nobody'
/** Returns the id of a unit or skill. */
export const recordIdOf = (scope: RecordScope): string => ('unit' in scope ? scope.unit : scope.skill)
/** Returns the scope of an erased unit or skill. */
export const recordScopeOf = (id: string): RecordScope => (id.startsWith('kp:skill:') ? { skill: id } : { unit: id })

/** Returns the id of the subject, part or record of a scope, for receipts and logs. */
export function scopeNameOf(scope: ErasureScope): string {
  if ('subject' in scope) return subjectNameOf(scope.subject)
  return 'part' in scope ? scope.part.id : recordIdOf(scope)
}
function subjectKindOf({ account, agents, participants = [] }: Subject): SubjectKind {
  if (account !== null) return 'account'
  return agents.length === 0 && participants.length > 0 ? 'participant' : 'agent'
}
/** Returns the kind of the id that {@link scopeNameOf} returns. */
export function scopeKindOf(scope: ErasureScope): ErasedKind {
  if ('subject' in scope) return subjectKindOf(scope.subject)
  if ('part' in scope) return scope.part.kind
  return 'unit' in scope ? 'unit' : 'skill'
}

/** Returns the members of a receipt that name its subject, part or record. */
export function namedOnReceipt(
  scope: ErasureScope,
): Pick<Receipt, 'deleted_id'> & Partial<Pick<Receipt, 'subject_kind' | 'part_kind'>> {
  if ('subject' in scope) return { deleted_id: scopeNameOf(scope), subject_kind: subjectKindOf(scope.subject) }
  if ('part' in scope) return { deleted_id: shownId(scope.part.id), part_kind: scope.part.kind }
  return { deleted_id: scopeNameOf(scope) }
}

/** Returns the ids that name the subject, part or record in the deletion log. */
export function namedInLog(scope: ErasureScope): Record<string, string> {
  if ('subject' in scope) return { subject: scopeNameOf(scope), kind: scopeKindOf(scope) }
  if (!('part' in scope)) return { ...scope }
  const { kind, id, project, conversation } = scope.part
  return {
    projectId: project,
    ...(conversation !== null && { conversationId: shownId(conversation) }),
    ...(kind === 'message' && { messageId: shownId(id) }),
    ...(kind === 'document' && { documentId: shownId(id) }),
  }
}

/** Extra names for counts in the deletion log, in addition to the data source's name. */
const countedAs: Readonly<Record<string, string>> = {
  'projects.conversations': 'conversationsDeleted',
  'projects.messages': 'messagesDeleted',
  'projects.documents': 'documentsDeleted',
}
/** Returns the deletion counts for the log by data source, and by extra name where one exists. */
export const countsInLog = (byDataSource: Readonly<Record<string, number>>): Record<string, number> => ({
  ...byDataSource,
  ...Object.fromEntries(
    Object.entries(countedAs).flatMap(([source, name]) => {
      const count = byDataSource[source]
      return count === undefined ? [] : [[name, count]]
    }),
  ),
})
