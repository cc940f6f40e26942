import { notifying } from '#lib/domains/privacy-requests/emails/notifications.ts'
import { erasuresAhead } from '#lib/domains/privacy-requests/erasures/erasures-ahead.ts'
import { erasuresList } from '#lib/domains/privacy-requests/erasures/erasures-list.ts'
import { clockJobs } from '#lib/domains/privacy-requests/execution/clock.ts'
import { following } from '#lib/domains/privacy-requests/execution/erasure-outcome.ts'
import { requestLinkUse } from '#lib/domains/privacy-requests/filing/link-use.ts'
import { formConnection } from '#lib/domains/privacy-requests/form/connection.ts'
import { formCopy } from '#lib/domains/privacy-requests/form/copy.ts'
import { formJobs } from '#lib/domains/privacy-requests/form/jobs.ts'
import { requestForm } from '#lib/domains/privacy-requests/form/sending.ts'
import { formStatus } from '#lib/domains/privacy-requests/form/status.ts'
import { ownRequests } from '#lib/domains/privacy-requests/own/requests.ts'
import { bulk } from '#lib/domains/privacy-requests/queue/bulk.ts'
import { requestQueue } from '#lib/domains/privacy-requests/queue/queue.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'

import { participantRequests } from './participant-requests.ts'
import type { PrivacyDeps } from './ports.ts'
import { requestSearch } from './request-search.ts'
import { requestSummary } from './summary.ts'

/** The use cases of privacy requests under the GDPR. */
export const privacyRequestsService = (deps: PrivacyDeps) => ({
  ...ownRequests(deps),
  ...participantRequests(deps),
  ...requestLinkUse(deps),
  ...requestForm(deps),
  ...formStatus(deps),
  ...formCopy(deps),
  ...formConnection(deps),
  ...requestQueue(deps),
  ...bulk(deps),
  ...erasuresList(deps),
  ...erasuresAhead(deps),
  ...following(deps),
  ...requestSummary(deps),
  ...requestSearch(deps),
})

export const privacyRequestsJobs = (deps: PrivacyDeps, mail: MailPort) => [
  ...clockJobs(deps),
  ...notifying(deps, mail),
  ...formJobs(deps, mail),
]
