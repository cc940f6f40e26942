import type { MailPort } from '#lib/stores/mail/mail.ts'
import { requestsAtAGlance } from './at-a-glance.ts'
import { bulk } from './bulk.ts'
import { clockJobs } from './clock.ts'
import { erasuresAhead } from './erasures-ahead.ts'
import { erasuresList } from './erasures-list.ts'
import { following } from './following.ts'
import { linkUse } from './link-use.ts'
import { notifying } from './notifying.ts'
import { ownRequests } from './own-requests.ts'
import { participantRequests } from './participant-requests.ts'
import type { PrivacyParts } from './ports.ts'
import { requestQueue } from './queue.ts'

/** The use cases of privacy requests under the GDPR. */
export const privacyRequestsService = (parts: PrivacyParts) => ({
  ...ownRequests(parts),
  ...participantRequests(parts),
  ...linkUse(parts),
  ...requestQueue(parts),
  ...bulk(parts),
  ...erasuresList(parts),
  ...erasuresAhead(parts),
  ...following(parts),
  ...requestsAtAGlance(parts),
})

export const privacyRequestsJobs = (parts: PrivacyParts, mail: MailPort) => [
  ...clockJobs(parts),
  ...notifying(parts, mail),
]
