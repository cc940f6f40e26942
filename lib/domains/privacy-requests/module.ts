import { type EvidenceCheck, type EvidencePage, failsIf } from '#lib/kernel/evidence.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { deadlineNotes } from './noted-deadlines.ts'
import {
  addressesOf,
  formDataSource,
  requestDataSource,
  requestExporters,
  requestPersonExporters,
} from './personal-data.ts'
import type { PrivacyDeps } from './ports.ts'
import { answersOfKind, dataOfClosedRequests, erasuresInTime, gracePeriods, measureRequests } from './repository.ts'
import { ourTerm, type RequestKind, states } from './rules.ts'
import { privacyRequestsJobs, privacyRequestsService } from './service.ts'

export const privacyRequestsData = (deps: Parameters<typeof requestDataSource>[0]): PersonalData => ({
  dataSources: [requestDataSource(deps), formDataSource(deps)],
  exporters: requestExporters(deps.db),
  personExporters: requestPersonExporters(deps.db, (account) => addressesOf(deps, account)),
})

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

/** Privacy requests under the GDPR. */
export const privacyRequestsModule = ({
  mail,
  ledger,
  ...deps
}: PrivacyDeps & { mail: MailPort; ledger: Pick<Ledger, 'append' | 'read'> }) => ({
  useCases: { requests: privacyRequestsService(deps) },
  jobs: [...privacyRequestsJobs(deps, mail), deadlineNotes(deps.db, ledger).job],
  checks: requestsEvidence(),
})

/** Metrics: requests by state, and the numbers of overdue and nearly due requests. */
export const requestMeasures = (db: Database): Measuring => ({
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
