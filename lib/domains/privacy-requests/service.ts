import type { Prisma } from '#generated/prisma/client.ts'
import { type Env, hasMailServer } from '#lib/config/env.ts'
import { sealedPurposes, subjectPurpose } from '#lib/config/secret.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { actorsOfRequest } from '#lib/domains/audit/repository.ts'
import { oldestRead } from '#lib/domains/audit/rules.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { ownsProjectOf } from '#lib/domains/projects/queries.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Context, MutationContext, Transaction, TransactionalEvent } from '#lib/kernel/context.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { type EvidenceCheck, type EvidencePage, failsIf } from '#lib/kernel/evidence.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { guardApplication, mutation, read, requireRecentPassword } from '#lib/kernel/use-case.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { cancelForParticipant, fileForParticipant, listForParticipant } from './contract.ts'
import { deadlineNotes, notedReply } from './deadlines-in-ledger.ts'
import { timelineTextFor } from './emails/email-facts.ts'
import { notifying } from './emails/notifications.ts'
import { erasuresAhead, erasuresList } from './erasures/service.ts'
import { beginErasure, cancelRequestIn, conclude, setPart, unsuspend } from './execution/execution.ts'
import type { About } from './filing/filing.ts'
import { fileRequestIn, requestLink, requestLinkUse, verifyRequestIn } from './filing/filing.ts'
import { formConnection, unconfirmedRequests } from './form/connection.ts'
import { formJobs } from './form/jobs.ts'
import { formTriesPerMinute } from './form/rules.ts'
import { formCopy, formStatus, requestForm } from './form/service.ts'
import { clockJobs } from './jobs.ts'
import { ownRequests } from './own/service.ts'
import {
  addressesOf,
  formDataSource,
  requestDataSource,
  requestExporters,
  requestPersonExporters,
} from './personal-data.ts'
import type { CopyChange, ParticipantContact, PrivacyDeps, RequestLocale } from './ports.ts'
import { bulk, requestQueue } from './queue/service.ts'
import {
  answersOfKind,
  dataOfClosedRequests,
  erasuresInTime,
  gracePeriods,
  measureRequests,
  queueStatistics,
} from './repository.ts'
import {
  addressJob,
  change,
  KindName,
  lockedRequest,
  noRequest,
  note,
  notifyAdminJob,
  notifyAdmins,
  notifyJob,
  notifyParties,
  PartStateName,
  type RequestRow,
  type RequestWork,
  StateName,
  settle,
  systemWork,
  wasFullyRetained,
  withParts,
  workOf,
} from './requests.ts'
import {
  isClosed,
  leastGraceOfOthers,
  longerGrace,
  ourTerm,
  type RequestKind,
  requestLinkTriesPerMinute,
  stateOfParts,
  states,
  sum,
} from './rules.ts'
import { filerView, pauseReasons, requestView } from './views.ts'

/** Holds cover the whole subject: nothing was erased, tokens work again, and the erasure waits until the holds end. */
async function holdRequest(
  deps: PrivacyDeps,
  work: RequestWork,
  given: RequestRow,
  outcome: { erased: number; held: number; holds: string },
): Promise<RequestRow> {
  await unsuspend(deps, work, given)
  const why = { ...outcome, nothing_erased: true, ground: 'legal_obligation' }
  const row = await setPart(work, given, 'erasure', 'partly_done', why)
  if (stateOfParts(row.parts.map(({ state }) => PartStateName.parse(state))) !== 'partly_completed')
    return conclude(work, row, why)
  return row.state === 'partly_completed'
    ? row
    : change(work, row, { event: 'kept_whole', to: 'partly_completed', details: why })
}

async function follow(deps: PrivacyDeps, work: RequestWork, given: RequestRow, made: RunChange): Promise<RequestRow> {
  const again = { event: 'running', to: 'running', details: { run_id: made.runId } } as const
  let row = given
  // A hold ended, or the erasure was retried.
  if (
    (row.state === 'partly_completed' && made.state !== 'held') ||
    (row.state === 'failed' && made.state !== 'failed')
  )
    row = await change(
      work,
      await setPart(
        work,
        row,
        'erasure',
        'running',
        wasFullyRetained(row) ? { nothing_erased: false, ground: null } : {},
      ),
      again,
    )
  const outcome = { erased: sum(Object.values(made.erased)), held: sum(made.held.map(({ count }) => count)) }
  switch (made.state) {
    case 'erasing':
      return row.state === 'verifying' ? change(work, row, again) : row
    case 'verifying':
      return row.state === 'running'
        ? change(work, row, { event: 'verifying', to: 'verifying', details: outcome })
        : row
    case 'failed':
      await notifyAdmins(deps, work.tx)
      return conclude(work, await setPart(work, row, 'erasure', 'failed', outcome))
    case 'held':
    case 'done': {
      const holds = made.held.map(({ hold }) => hold).join(',')
      if (made.isRetainedWhole) return holdRequest(deps, work, row, { ...outcome, holds })
      const state = made.state === 'held' ? 'partly_done' : 'done'
      const retained = made.state === 'held' && { holds }
      const signed = await work.tx.privacyRequest.update({
        where: { id: row.id },
        data: { receiptId: made.receiptId },
        include: { parts: true },
      })
      return conclude(
        work,
        await setPart(work, signed, 'erasure', state, { ...outcome, receipt_id: made.receiptId, ...retained }),
        {
          ...outcome,
          receipt_id: made.receiptId,
          ...retained,
        },
      )
    }
  }
}

/** Updates requests when their erasure or copy changes, in the same transaction as the change. */
const requestUpdates = (deps: PrivacyDeps) => ({
  /** Called when the state of an erasure run changes. */
  async erasureChanged(tx: Transaction, made: RunChange): Promise<void> {
    const row = made.requestId === null ? undefined : await lockedRequest(tx, made.requestId)
    if (!row) return
    const work = systemWork(tx, made.now, 'erasure')
    await follow(deps, work, row, made)
    await settle(deps, work)
  },

  /** Called when a copy is ready, was fetched, was deleted or failed. Begins an erasure that waited for it. */
  async copyChanged(tx: Transaction, made: CopyChange): Promise<void> {
    const row = await lockedRequest(tx, made.requestId)
    const part = row?.parts.find(({ outcome }) => (outcome as Prisma.JsonObject).export_id === made.exportId)
    if (!row || !part) return
    const work = systemWork(tx, made.now, 'exports')
    const kind = KindName.parse(part.kind)
    const isOver = part.state !== 'running'
    if (made.state === 'failed' && isOver) return
    const state = made.state === 'failed' ? 'failed' : 'done'
    const tries = Number((part.outcome as Prisma.JsonObject).tries ?? 0) + 1
    let next = await setPart(work, row, kind, isOver ? PartStateName.parse(part.state) : state, {
      copy: made.state,
      records: made.records,
      fault: made.state === 'failed' ? made.fault : null,
      ...(made.state === 'failed' && { tries }),
    })
    // The clock job retries the copy. Admins are notified, because an erasure may wait for the copy; of later failures by the daily email.
    if (made.state === 'failed' && tries === 1) await notifyAdmins(deps, tx)
    if (!isClosed(StateName.parse(row.state)) || made.state === 'ready')
      await note(work, next, {
        event: `copy_${made.state}`,
        details: { export_id: made.exportId, kind },
        isSilent: made.state === 'fetched' || made.state === 'gone' || (made.state === 'failed' && tries > 1),
      })
    next = await beginErasure(deps, work, next)
    await conclude(work, next)
    await settle(deps, work)
  },
})

const subjectOf = ({ id, accountId }: ParticipantContact): About =>
  accountId === null ? { participant: id } : { account: accountId }

async function viewForController(ctx: Context, tx: Transaction, row: RequestRow) {
  const view = requestView(row, ctx.now, await pauseReasons(tx, [row]))
  // Only the person sees the result of a request about their account.
  return row.participantId === null ? filerView(view) : view
}

/** Notifies the parties of the changes, and returns the reply with the changed request. */
async function replyAfter(deps: PrivacyDeps, ctx: MutationContext, work: RequestWork, row: RequestRow) {
  await notifyParties(work)
  return {
    body: { data: await viewForController(ctx, ctx.tx, row), message: timelineTextFor(deps, row) },
    resourceId: row.id,
    ...(work.entries.length > 0 && { entries: work.entries }),
  }
}

type FilingBody = Input<typeof fileForParticipant>['body']

function requireConsistent({ kinds, grace, statement, changes }: FilingBody): void {
  if (grace !== undefined && !kinds.includes('erasure')) throw invalid(['grace'], 'is only for an erasure')
  if (changes && !kinds.includes('rectification')) throw invalid(['changes'], 'is only for a rectification')
  if (kinds.includes('rectification') && statement === undefined && !changes)
    throw invalid(['statement'], 'is required for a rectification without `changes`')
}
function requireAllowedFor(isUnclaimed: boolean, { kinds, changes }: FilingBody): void {
  if (changes && !isUnclaimed)
    throw invalid(
      ['changes'],
      'is only for an unclaimed participation: the person who claimed it corrects their account',
    )
  if (isUnclaimed && kinds.includes('erasure') && (kinds.includes('access') || kinds.includes('portability')))
    throw invalid(['kinds'], 'cannot combine a copy with an erasure: request the copy first, and download the export')
}

const applicationKinds: readonly RequestKind[] = ['access', 'portability', 'erasure']
/** A token files copies, and erasures that can still be cancelled, only for people without an account, and states their identity. */
function requireFitFor({ actsAs, accountId }: ParticipantContact, { kinds, grace, identity }: FilingBody): void {
  if (actsAs !== 'application') return
  if (identity === undefined) throw invalid(['identity'], 'is required for a token')
  if (!kinds.every((kind) => applicationKinds.includes(kind)))
    throw invalid(['kinds'], 'can be access, portability and erasure for a token')
  if (grace === 'now')
    throw invalid(['grace'], 'must be at least 24h for a token, so that the request can be cancelled')
  if (accountId !== null)
    throw new Problem(
      'conflict',
      'A person claimed this participation with an account. They file the request on their page /settings/privacy. Nothing was changed.',
    )
}
const channelOf = { owner: 'manager', manager: 'manager', admin: 'mail', application: 'api' } as const

const file = (deps: PrivacyDeps) =>
  mutation(fileForParticipant, async (ctx, { params, body }) => {
    const { kinds, grace, statement, changes, identity } = body
    requireConsistent(body)
    const found = await deps.participants.find(ctx, params)
    if (found.actsAs === 'application') guardApplication(ctx)
    requireFitFor(found, body)
    // Filing confirms the identity, so it needs what an admin's confirmation needs, unless an owner does it, who can erase what the participant wrote.
    const isOffice = found.actsAs === 'admin' || found.actsAs === 'manager'
    const isErasure = kinds.includes('erasure')
    if (isOffice) {
      requireRecentPassword(ctx)
      if (isErasure && found.accountId === null)
        await deps.requireApproval(ctx, { operation: fileForParticipant, input: { params, body } })
    }
    const about = subjectOf(found)
    const isUnclaimed = 'participant' in about
    requireAllowedFor(isUnclaimed, body)
    await deps.participants.refuseTakeover(ctx, params, changes ?? {})
    const party = found.actsAs === 'admin' ? 'admin' : 'manager'
    const work = workOf(ctx, party)
    const filed = await fileRequestIn(deps, work, {
      about,
      kinds,
      channel: channelOf[found.actsAs],
      filedBy: ctx.actor.id,
      receivedAt: ctx.now,
      isProven: isUnclaimed,
      // An erasure that the person does not order is announced, so that they can cancel it: by a token to the reported address, otherwise only to
      // one that is confirmed.
      ...((found.actsAs === 'application' || (isOffice && isErasure && found.emailConfirmed)) &&
        found.email !== null && { contact: { email: found.email, locale: 'en' } }),
      grace:
        isOffice && isErasure && isUnclaimed ? longerGrace(grace ?? leastGraceOfOthers, leastGraceOfOthers) : grace,
      ...(changes && { changes }),
      ...(statement !== undefined && { statement: plainTextPhrases(statement, 'statement', deps.strict) }),
    })
    let { row } = filed
    if (isUnclaimed && row.state === 'received')
      row = await verifyRequestIn(deps, work, row, found.actsAs === 'application' ? 'token' : party, identity)
    else if (!isUnclaimed && filed.isNew && row.contact !== null) await requestLink(work, row, 'verify')
    const reply = await replyAfter(deps, ctx, work, row)
    const replied = { ...reply, body: { ...reply.body, joined: filed.joined }, status: filed.isNew ? 201 : 200 }
    return notedReply(deps, filed, replied, ctx.now)
  })

const list = ({ db, participants }: Pick<PrivacyDeps, 'db' | 'participants'>) =>
  read(listForParticipant, async (ctx, { params }) => {
    const { id, accountId, actsAs } = await participants.find(ctx, params)
    const rows = await db.prisma.privacyRequest.findMany({
      where: {
        ...(actsAs === 'application' && { channel: 'api', filedBy: ctx.actor.id }),
        OR: [{ participantId: id }, ...(accountId === null ? [] : [{ accountId, filedBy: ctx.actor.id }])],
      },
      orderBy: [{ receivedAt: 'desc' }, { id: 'desc' }],
      take: 100,
      include: withParts,
    })
    return {
      body: { data: await Promise.all(rows.map((row) => viewForController(ctx, db.prisma, row))) },
      resourceId: id,
      details: { count: rows.length },
    }
  })

const cancel = (deps: PrivacyDeps) =>
  mutation(cancelForParticipant, async (ctx, { params }) => {
    const { id: participantId, actsAs } = await deps.participants.find(ctx, params)
    const row = await lockedRequest(ctx.tx, params.id, { participantId })
    if (!row) throw noRequest()
    // The owner of an agent cancels what a token of the agent filed.
    if (row.filedBy === null || ![ctx.actor.id, ...ctx.actor.agents].includes(row.filedBy))
      throw new Problem(
        'forbidden',
        'Somebody else filed this request, so you cannot cancel it. An admin can refuse it with the reason and the remedies. Nothing was changed.',
      )
    const work = workOf(ctx, actsAs === 'admin' ? 'admin' : 'manager')
    return replyAfter(deps, ctx, work, await cancelRequestIn(deps, work, row))
  })

/** Use cases for requests that the controller of a project files for its participants, who may have no account. */
const participantRequests = (deps: PrivacyDeps) => ({
  fileForParticipant: file(deps),
  listForParticipant: list(deps),
  cancelForParticipant: cancel(deps),
})

const daysFrom = (at: Date, days: number): Date => new Date(at.getTime() + days * 86_400_000)
interface QueueStatistics {
  open: number
  unassigned: number
  overdue: number
  /** Past the legal deadline, not only past our own. */
  legally_overdue: number
  /** Due within seven days. */
  week: number
  /** Closed in the last 90 days, without cancelled ones. */
  closed: number
  median_days: number | null
}
/** Counts for admins. They use indexes and are not audited, because the lists behind them are. */
const queueSummary = ({ db }: Pick<PrivacyDeps, 'db'>) => ({
  /** Numbers for the head of the queue: due within a week, and the median time until requests were closed. */
  async statistics(now: Date): Promise<QueueStatistics> {
    const [row] = await queueStatistics(db, { now, from: daysFrom(now, -90) })
    return row ?? { open: 0, unassigned: 0, overdue: 0, legally_overdue: 0, week: 0, closed: 0, median_days: null }
  },
})

/** The use cases of privacy requests under the GDPR. */
const privacyRequestsService = (deps: PrivacyDeps) => ({
  ...ownRequests(deps),
  ...participantRequests(deps),
  ...requestLinkUse(deps),
  ...requestForm(deps),
  ...unconfirmedRequests(deps),
  ...formStatus(deps),
  ...formCopy(deps),
  ...formConnection(deps),
  ...requestQueue(deps),
  ...bulk(deps),
  ...erasuresList(deps),
  ...erasuresAhead(deps),
  ...requestUpdates(deps),
  ...queueSummary(deps),
})

const privacyRequestsJobs = (deps: PrivacyDeps, mail: MailPort) => [
  ...clockJobs(deps),
  ...notifying(deps, mail),
  ...formJobs(deps, mail),
]

type RequestSourceDeps = Parameters<typeof requestDataSource>[0]

export function privacyRequestsData({
  keyFor,
  env,
  ...parts
}: Pick<RequestsModuleParts, 'env' | 'keyFor'> &
  Pick<RequestSourceDeps, 'addressOf' | 'db' | 'pipeline'>): PersonalData {
  const deps = { ...parts, subjectKey: keyFor(subjectPurpose), requestsYears: env.KP_REQUESTS_YEARS }
  return {
    dataSources: [requestDataSource(deps), formDataSource(deps)],
    exporters: requestExporters(deps.db),
    personExporters: requestPersonExporters(deps.db, (account) => addressesOf(deps, account)),
  }
}

const day = 86_400_000
/** The sealed address is deleted at most 7 days after closing; allows 2 hours of delay. */
const contactRetained = 7 * day + day / 12
const requestsOf = (kind: RequestKind): EvidencePage => `/admin/requests?open=all&kind=${kind}`
const overdueOf = (kind: RequestKind): EvidencePage => `/admin/requests?kind=${kind}&due=overdue`
/** Counts answered, open and overdue requests of one kind. */
const answered = (line: EvidenceCheck['line'], kind: RequestKind): EvidenceCheck => ({
  line,
  name: `requests.${kind}`,
  page: requestsOf(kind),
  async ask(query, now) {
    const [row] = await answersOfKind(query, { kind, now })
    const { asked = 0, done = 0, refused = 0, open = 0, overdue = 0, last = null } = row ?? {}
    return {
      state: asked === 0 ? 'not_applicable' : failsIf(overdue > 0),
      numbers: { asked, done, refused, open, overdue },
      times: { last },
      problems: [{ problem: 'requests.overdue', count: overdue, page: overdueOf(kind) }],
    }
  },
})

/** Checks that requests were answered in time, and that no erasure began before the end of its grace period. */
const requestsEvidence = (): EvidenceCheck[] => [
  answered('access', 'access'),
  answered('portability', 'portability'),
  {
    line: 'erasure',
    name: 'requests.erasure',
    page: requestsOf('erasure'),
    async ask(query, now) {
      const [row] = await erasuresInTime(query, { now })
      const { done = 0, in_time: inTime = 0, open = 0, overdue = 0 } = row ?? {}
      return {
        state: done + open === 0 ? 'not_applicable' : overdue > 0 ? 'fails' : inTime < done ? 'attention' : 'holds',
        numbers: { done, inTime, open, overdue, hours: ourTerm / 3_600_000 },
        problems: [
          { problem: 'requests.overdue', count: overdue, page: overdueOf('erasure') },
          { problem: 'requests.late', count: done - inTime, page: '/admin/requests?open=all&kind=erasure&due=late' },
        ],
      }
    },
  },
  {
    line: 'grace',
    name: 'requests.grace',
    page: requestsOf('erasure'),
    async ask(query, now) {
      const [row] = await gracePeriods(query, { now })
      const { waiting = 0, begun = 0, early = 0, cancelled = 0 } = row ?? {}
      return {
        state: waiting + begun + cancelled === 0 ? 'not_applicable' : failsIf(early > 0),
        numbers: { waiting, begun, early, cancelled },
      }
    },
  },
  {
    line: 'minimisation',
    name: 'requests.leftovers',
    page: '/admin/requests?open=false',
    async ask(query, now) {
      const [row] = await dataOfClosedRequests(query, { before: new Date(now.getTime() - contactRetained) })
      const { closed = 0, payloads = 0, contacts = 0 } = row ?? {}
      return { state: failsIf(payloads + contacts > 0), numbers: { closed, payloads, contacts } }
    },
  },
]

/** Metrics: requests by state, and the numbers of overdue and nearly due requests. */
const requestMeasures = (db: Database): Measuring => ({
  name: 'privacy_requests',
  async measure(now) {
    const [row] = await measureRequests(db, { now })
    const byState = row?.by_state ?? {}
    return [
      {
        name: 'kp_privacy_requests',
        help: 'Privacy requests by state',
        type: 'gauge',
        samples: states.map((state) => ({ labels: { state }, value: byState[state] ?? 0 })),
      },
      {
        name: 'kp_privacy_requests_overdue',
        help: 'Open privacy requests that missed our own or the legal deadline, without paused requests',
        type: 'gauge',
        samples: [{ value: row?.overdue ?? 0 }],
      },
      {
        name: 'kp_privacy_requests_near',
        help: 'Open privacy requests with less than a quarter of the time until a deadline left',
        type: 'gauge',
        samples: [{ value: row?.near ?? 0 }],
      },
    ]
  },
})

/** What privacy requests take from the platform by name, and what other modules give them. */
interface RequestsModuleParts
  extends Pick<
    PrivacyDeps,
    'agents' | 'answersForPart' | 'db' | 'expectedRetention' | 'origin' | 'participants' | 'pipeline' | 'strict'
  > {
  env: Pick<Env, 'KP_GRACE_SIGN_IN' | 'KP_GRACE_TOKENS' | 'KP_PRIVACY_EMAIL' | 'KP_REQUESTS_YEARS' | 'KP_SMTP_URL'>
  mail: MailPort
  ledger: Pick<Ledger, 'append' | 'readSince'>
  keyFor(purpose: string): () => Uint8Array
  networks: { limitKeyOf(address: string): string }
  /** Counts an attempt. @throws Problem `rate_limited` */
  countTry(window: { key: string; limit: number }): Promise<void>
  accounts: Omit<PrivacyDeps['people'], 'mayFileFor'>
  emails: {
    sendAtOnce(
      to: { accountId: string; kind: 'requests' },
      write: (locale: RequestLocale) => EmailSections,
    ): Promise<unknown>
  }
  runs: PrivacyDeps['erasures']
  exports: PrivacyDeps['copies']
  settings: { isRequestFormOn(tx: Transaction): Promise<boolean> }
  approvals: Pick<PrivacyDeps, 'requireApproval'>
  erasureChanges: Pick<TransactionalEvent<RunChange>, 'listen'>
  exportChanges: Pick<TransactionalEvent<CopyChange>, 'listen'>
}

/** Ids of the current legal holds on a subject. */
async function holdsOn(tx: Transaction, subject: Subject, now: Date): Promise<string[]> {
  const { account, agents } = await holdsInForce.inForce(tx, subject, now)
  return [...new Set([...(account === null ? [] : [account]), ...agents.values()])]
}

/** Privacy requests under the GDPR. */
export function privacyRequestsModule(parts: RequestsModuleParts) {
  const { accounts, countTry, db, emails, env, keyFor, ledger, mail } = parts
  const { limitKeyOf } = parts.networks
  const deps: PrivacyDeps = {
    ...parts,
    people: {
      ...accounts,
      mayFileFor: async (tx, filer, member) =>
        (await accountDirectory.sameOrganisation(tx, filer, member)) || (await ownsProjectOf(tx, filer, member)),
    },
    erasures: parts.runs,
    copies: parts.exports,
    requireApproval: parts.approvals.requireApproval,
    subjectKey: keyFor(subjectPurpose),
    contactKey: keyFor(sealedPurposes.privacyContacts),
    holdsOn,
    async sendToAdmin(accountId, write) {
      await emails.sendAtOnce({ accountId, kind: 'requests' }, (locale) => [write(locale)])
    },
    actorsOf: (on, id, now) => actorsOfRequest(on, { id, from: oldestRead(now) }),
    countTry: (address) => countTry({ key: `privacy-link:${limitKeyOf(address)}`, limit: requestLinkTriesPerMinute }),
    form: {
      isOn: parts.settings.isRequestFormOn,
      isForwardedByHand: !hasMailServer(env),
      key: keyFor(sealedPurposes.privacyForms),
      countTry: (address) => countTry({ key: `request-form:${limitKeyOf(address)}`, limit: formTriesPerMinute }),
    },
    graceTokens: env.KP_GRACE_TOKENS,
    graceSignIn: env.KP_GRACE_SIGN_IN,
    privacyEmail: env.KP_PRIVACY_EMAIL ?? null,
    requestsYears: env.KP_REQUESTS_YEARS,
  }
  const requests = privacyRequestsService(deps)
  // Requests begin erasures and copies, whose changes return as events.
  parts.erasureChanges.listen(requests.erasureChanged)
  parts.exportChanges.listen(requests.copyChanged)
  return {
    useCases: { requests },
    jobs: [...privacyRequestsJobs(deps, mail), deadlineNotes(db, ledger).job],
    checks: requestsEvidence(),
    measures: [requestMeasures(db)],
    emailJobs: [notifyJob, addressJob, notifyAdminJob],
  }
}
