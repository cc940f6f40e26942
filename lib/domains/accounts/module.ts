import type { PersonalData } from '#lib/kernel/module.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { accountsJobs } from './jobs.ts'
import {
  accountDataSource,
  accountExporters,
  emailChoiceDataSource,
  factorDataSource,
  identityDataSource,
  linkDataSource,
  readNoticeDataSource,
  recoveryCodeDataSource,
  sessionDataSource,
  signInDataSource,
} from './personal-data.ts'
import type { AccountsDeps } from './ports.ts'
import { accountsService } from './service.ts'

export const accountsData = (db: Database): PersonalData => ({
  dataSources: [
    sessionDataSource(db),
    signInDataSource(db),
    linkDataSource(db),
    factorDataSource(db),
    recoveryCodeDataSource(db),
    emailChoiceDataSource(db),
    readNoticeDataSource(db),
    identityDataSource(db),
    accountDataSource(db),
  ],
  personExporters: accountExporters(db),
})

/** People, organizations, passwords and sessions. */
export const accountsModule = ({
  db,
  mail,
  publicUrl,
  provider,
  emails,
  ...deps
}: AccountsDeps & Parameters<typeof accountsJobs>[2] & { db: Database; mail: MailPort }) => ({
  useCases: { accounts: accountsService(db, deps) },
  jobs: accountsJobs(db, mail, { publicUrl, provider, emails }),
})
