import type { PersonalData } from '#lib/kernel/module.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import { addressesOf, requestDataSource } from './data-source.ts'
import { requestsEvidence } from './evidence.ts'
import { requestExporters, requestPersonExporters } from './exporters.ts'
import { formDataSource } from './form/data-source.ts'
import { deadlineNotes } from './noted-deadlines.ts'
import type { PrivacyDeps } from './ports.ts'
import { privacyRequestsJobs, privacyRequestsService } from './service.ts'

export const privacyRequestsData = (deps: Parameters<typeof requestDataSource>[0]): PersonalData => ({
  dataSources: [requestDataSource(deps), formDataSource(deps)],
  exporters: requestExporters(deps.db),
  personExporters: requestPersonExporters(deps.db, (account) => addressesOf(deps, account)),
})

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
