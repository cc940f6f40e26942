import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { AuditBrowser } from '#components/audit/audit-browser.tsx'
import type { AuditPage } from '#components/audit/audit-pages.ts'
import { auditPageSize, auditQueryOf, isAuditFiltered, loadAuditFilters, rounded } from '#components/audit/filters.ts'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import type { ProblemDocument } from '#lib/client/request.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('audit'))('name') })

/** Loads the first page of the log. Returns the problem when the filters in the URL are invalid, so that the page still renders. */
async function firstPage(query: Record<string, string>): Promise<{ first?: AuditPage; problem?: ProblemDocument }> {
  try {
    return { first: await callUseCase(app.audit.list, { query: { ...query, limit: String(auditPageSize) } }) }
  } catch (error) {
    if (!Problem.is(error, 'invalid', 'unavailable')) throw error
    return { problem: { title: error.title, status: error.status, code: error.code } }
  }
}

type Title = Awaited<ReturnType<typeof getTranslations<'audit.title'>>>
function titleOf(t: Title, page: AuditPage | undefined, isNarrowed: boolean): string {
  if (!page) return t('refused')
  const { total: count, counted, total_estimate: estimate } = page
  if (counted === 'exact') return t(isNarrowed ? 'found' : 'whole', { count })
  if (estimate !== null) return t(isNarrowed ? 'foundAbout' : 'wholeAbout', { count: rounded(estimate) })
  return t('foundMore', { count })
}

export default async function AuditLogPage({ searchParams }: PageProps<'/admin/audit'>) {
  await requirePageAccess('audit')
  const filters = await loadAuditFilters(searchParams)
  // Only entries before now: reading the log writes an entry, which must not be in the list.
  const query = auditQueryOf(filters, new Date(app.pipeline.clock.now().getTime() - 1).toISOString())
  const [t, title, { first, problem }] = await Promise.all([
    getTranslations('audit'),
    getTranslations('audit.title'),
    firstPage(query),
  ])
  return (
    <Messages of={['audit']}>
      <Page
        width="wide"
        title={titleOf(title, first, isAuditFiltered(filters) || filters.to !== null)}
        lead={
          <>
            <p>{t('lead')}</p>
            {first && first.total_estimate !== null && <p className="text-sm">{t('estimate')}</p>}
          </>
        }
      >
        <AuditBrowser query={query} first={first} problem={problem} />
      </Page>
    </Messages>
  )
}
