import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { AuditBrowser } from '#components/audit/audit-browser.tsx'
import type { AuditPage } from '#components/audit/audit-pages.ts'
import { auditPageSize, auditQueryOf, loadAuditFilters } from '#components/audit/filters.ts'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('audit'))('name') })

/** Loads the first page of the log. Returns the problem when the filters in the URL are invalid, so that the page still renders. */
async function firstPage(query: Record<string, string>): Promise<{ first?: AuditPage; problem?: ProblemDocument }> {
  try {
    return { first: await callUseCase(app.audit.acts, { query: { ...query, limit: String(auditPageSize) } }) }
  } catch (error) {
    if (!Problem.is(error, 'invalid', 'unavailable')) throw error
    return { problem: { title: error.title, status: error.status, code: error.code } }
  }
}

export default async function AuditLogPage({ searchParams }: PageProps<'/admin/audit'>) {
  await requirePageAccess('audit')
  const filters = await loadAuditFilters(searchParams)
  // Only entries before now: reading the log writes an entry, which must not be in the list.
  const query = auditQueryOf(filters, new Date(app.pipeline.clock.now().getTime() - 1).toISOString())
  const [t, { first, problem }] = await Promise.all([getTranslations('audit'), firstPage(query)])
  return (
    <Messages of={['acts', 'audit', 'roles']}>
      <Page width="wide" title={t('name')} lead={<p>{t('lead')}</p>}>
        <AuditBrowser query={query} first={first} problem={problem} />
      </Page>
    </Messages>
  )
}
