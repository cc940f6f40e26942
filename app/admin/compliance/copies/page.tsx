import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import { CopyList } from '#components/compliance/copy-list.tsx'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { app } from '#lib/app-instance.ts'
import { copyProblems } from '#lib/domains/exports/contract.ts'

export const generateMetadata = async (): Promise<Metadata> => ({
  title: (await getTranslations('compliance.copies'))('name'),
})

/** The prepared copies that the compliance page counts as failed or kept too long. */
export default async function CopiesPage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  const { role } = await requirePageAccess('copies')
  const given = await searchParams
  const scope = given.scope === 'provided' ? 'provided' : 'all'
  const problem = given.problem === 'late' ? 'late' : 'failed'
  const [t, words, kinds, { data, total }] = await Promise.all([
    getTranslations('compliance.copies'),
    getTranslations('compliance'),
    getTranslations('requestNames.kinds'),
    callUseCase(app.exports.listCopyProblems, { query: { scope, problem } }),
  ])
  return (
    <Messages of={['compliance', 'causes', 'storeProgress']}>
      <Page
        width="wide"
        title={t('name')}
        breadcrumbs={[{ href: '/admin/compliance', title: words('name') }]}
        summary={kinds(scope === 'all' ? 'access' : 'portability')}
        lead={<p>{t(`${problem}.text`)}</p>}
        tabs={
          <Tabs
            label={t('name')}
            tabs={copyProblems.map((one) => ({
              href: `/admin/compliance/copies?scope=${scope}&problem=${one}`,
              title: t(`${one}.title`),
              isCurrent: one === problem,
            }))}
          />
        }
      >
        <CopyList key={problem} copies={data} total={total} isAdmin={role === 'admin'} />
      </Page>
    </Messages>
  )
}
