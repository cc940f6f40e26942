import {
  controlsSection,
  digestJobs,
  outagesSection,
  safetySection,
} from '#lib/domains/accounts/email-choices/service.ts'
import { waitingStores } from '#lib/domains/erasure/engine/repository.ts'
import { quarantined } from '#lib/domains/knowledge/queries.ts'
import { dueSectionAt } from '#lib/domains/privacy-requests/emails/notifications.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'
import type { composeCompliance } from './reports.ts'

/** The daily digest of admins, with a section of each domain that has something to report. */
export const composeDigest = (
  { db, origin }: Foundation,
  { emails }: PeopleModules,
  compliance: ReturnType<typeof composeCompliance>,
) =>
  digestJobs({
    emails,
    sources: {
      requests: (now) => dueSectionAt({ db, origin }, now),
      async outages() {
        const stores = await waitingStores(db, {})
        return stores.length === 0 ? undefined : (locale) => outagesSection(locale, stores, `${origin}/admin/erasures`)
      },
      async controls(now) {
        const counts = await compliance.useCases.compliance.counts(now)
        return counts.fails + counts.attention === 0
          ? undefined
          : (locale) => controlsSection(locale, counts, `${origin}/admin/compliance`)
      },
      async safety() {
        const count = await quarantined(db)
        return count === 0 ? undefined : (locale) => safetySection(locale, count, `${origin}/admin/safety`)
      },
    },
  })
