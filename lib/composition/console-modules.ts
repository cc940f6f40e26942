import { hasMailServer } from '#lib/config/locations.ts'
import { digestEmailJob } from '#lib/domains/accounts/email-choices/service.ts'
import { noticeJob } from '#lib/domains/accounts/writes.ts'
import { consoleModule } from '#lib/domains/console/service.ts'
import { outboxModule } from '#lib/domains/outbox/service.ts'
import { noteRequestLinksShown } from '#lib/domains/privacy-requests/filing/links.ts'
import { addressJob, notifyAdminJob, notifyJob } from '#lib/domains/privacy-requests/timeline.ts'
import { closingEmailJob } from '#lib/domains/projects/closing/service.ts'
import type { Retention } from './content-modules.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'
import type { CollectedData } from './personal-data.ts'

/** Jobs whose failure the console reports as an undelivered email. */
const emailJobs = [noticeJob, notifyJob, addressJob, notifyAdminJob, digestEmailJob]

export const composeConsole = (
  { assessedLocations, db, env, mail }: Foundation,
  { dataSources }: CollectedData,
  { periods }: Retention,
) =>
  consoleModule({
    db,
    dataSources,
    periods,
    settings: {
      hasMailServer: hasMailServer(env),
      hasContact: env.KP_PRIVACY_EMAIL !== undefined,
      statesBackups: env.KP_BACKUP_DAYS !== undefined,
      unknownRegions: assessedLocations.filter(({ region }) => region === null).length,
      hasIdentityProvider: env.KP_OIDC_ISSUER !== undefined,
    },
    mail: { jobs: emailJobs, folder: mail.folder },
  })

export const composeOutbox = ({ db, mail, storeLocations }: Foundation, { approvals, people }: PeopleModules) =>
  outboxModule({
    db,
    folder: mail.folder,
    mail,
    delivery: storeLocations.mail,
    emailJobs: [...emailJobs, closingEmailJob],
    accountMarked: people.accountMarked,
    async noteLinksShown(secrets, now) {
      await people.noteLinksShown(secrets, now)
      await noteRequestLinksShown(db.prisma, secrets, now)
    },
    needsApprovals: approvals.useCases.approvals.isRequired,
  })
