import { type Env, hasMailServer } from '#lib/config/env.ts'
import { sealedPurposes, subjectPurpose } from '#lib/config/secret.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { actorsOfRequest } from '#lib/domains/audit/repository.ts'
import { oldestRead } from '#lib/domains/audit/rules.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { ownsProjectOf } from '#lib/domains/projects/queries.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { RunChange } from '#lib/kernel/erasure-run.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { type EvidenceCheck, type EvidencePage, failsIf } from '#lib/kernel/evidence.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { TransactionalEvent } from '#lib/kernel/transactional-event.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { EmailSections } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { formTriesPerMinute } from './form/rules.ts'
import { deadlineNotes } from './noted-deadlines.ts'
import {
  addressesOf,
  formDataSource,
  requestDataSource,
  requestExporters,
  requestPersonExporters,
} from './personal-data.ts'
import type { CopyChange, PrivacyDeps, RequestLocale } from './ports.ts'
import { answersOfKind, dataOfClosedRequests, erasuresInTime, gracePeriods, measureRequests } from './repository.ts'
import { ourTerm, type RequestKind, requestLinkTriesPerMinute, states } from './rules.ts'
import { privacyRequestsJobs, privacyRequestsService } from './service.ts'
import { addressJob, notifyAdminJob, notifyJob } from './timeline.ts'

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
  ledger: Pick<Ledger, 'append' | 'read'>
  keyFor(purpose: string): () => Uint8Array
  networks: { limitKeyOf(address: string): string; customerNetworkOf(address: string): string }
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
  const { customerNetworkOf, limitKeyOf } = parts.networks
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
    actorsOf: (id, now) => actorsOfRequest(db, { id, from: oldestRead(now) }),
    countTry: (address) => countTry({ key: `privacy-link:${limitKeyOf(address)}`, limit: requestLinkTriesPerMinute }),
    form: {
      isOn: parts.settings.isRequestFormOn,
      isForwardedByHand: !hasMailServer(env),
      key: keyFor(sealedPurposes.privacyForms),
      networkOf: (address) => (address.includes(':') ? customerNetworkOf(address) : limitKeyOf(address)),
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
