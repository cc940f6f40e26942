import type { Metadata } from 'next'
import { getTimeZone, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { knowledgeQueryOf, loadKnowledgeFilters } from '#components/knowledge/filters.ts'
import { RecordList } from '#components/knowledge/record-list.tsx'
import { RecordTabs } from '#components/knowledge/record-tabs.tsx'
import { Page } from '#components/ui/page.tsx'
import { app } from '#lib/app-instance.ts'
import { ownAgentsCountedTo } from '#lib/domains/agents/rules.ts'

export const generateMetadata = async (): Promise<Metadata> => ({ title: (await getTranslations('knowledge'))('name') })

export default async function KnowledgePage({ searchParams }: { searchParams: Promise<SearchParams> }) {
  await requirePageAccess('knowledge')
  const [t, common, zone, filters] = await Promise.all([
    getTranslations('knowledge'),
    getTranslations('common'),
    getTimeZone(),
    loadKnowledgeFilters(searchParams),
  ])
  const [agents, records] = await Promise.all([
    callUseCase(app.agents.listOwn, { query: { limit: '100' } }),
    callUseCase(app.inspection.listRecords, { query: knowledgeQueryOf(filters, zone) }),
  ])
  // The list has only the first page of agents: with more, the counts would be incomplete.
  const isComplete = agents.total <= agents.data.length
  const countOf = (what: 'units' | 'skills') => {
    if (!isComplete) return undefined
    const count = agents.data.reduce((all, { holds }) => all + Math.min(holds[what], ownAgentsCountedTo - 1), 0)
    const isMore = agents.data.some(({ holds }) => holds[what] >= ownAgentsCountedTo)
    return common('counted', { count, more: isMore ? 'first' : 'no' })
  }
  const isSkills = filters.kind === 'skill'
  const [units, skills] = [countOf('units'), countOf('skills')]
  const counts = { ...(units !== undefined && { units }), ...(skills !== undefined && { skills }) }
  return (
    <Messages of={['knowledge']}>
      <Page width="wide" title={t('name')} tabs={<RecordTabs counts={counts} />}>
        <RecordList
          key={isSkills ? 'skills' : 'units'}
          initial={records}
          initialFilters={filters}
          agents={agents.data.map(({ agent_id, name }) => ({ id: agent_id, name }))}
        />
      </Page>
    </Messages>
  )
}
