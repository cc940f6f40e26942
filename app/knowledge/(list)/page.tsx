import type { Metadata } from 'next'
import { getTimeZone, getTranslations } from 'next-intl/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
import type { SearchParams } from '#components/frame/query-parsers.ts'
import { Messages } from '#components/frame/words.tsx'
import { knowledgeQueryOf, loadKnowledgeFilters } from '#components/knowledge/filters.ts'
import { RecordList } from '#components/knowledge/record-list.tsx'
import { Page } from '#components/ui/page.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
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
  const kept = new URLSearchParams()
  if (filters.q !== '') kept.set('q', filters.q)
  for (const name of ['visibility', 'agent', 'from', 'to', 'quality'] as const)
    if (filters[name] !== null) kept.set(name, filters[name])
  if (filters.show === 'all') kept.set('show', 'all')
  const forSkills = new URLSearchParams([...kept, ['kind', 'skill']])
  const [units, skills] = [countOf('units'), countOf('skills')]
  const tabs = (
    <Tabs
      label={t('views')}
      tabs={[
        {
          href: `/knowledge${kept.size > 0 ? `?${kept}` : ''}`,
          title: t('units'),
          isCurrent: !isSkills,
          ...(units !== undefined && { count: units }),
        },
        {
          href: `/knowledge?${forSkills}`,
          title: t('skills'),
          isCurrent: isSkills,
          ...(skills !== undefined && { count: skills }),
        },
      ]}
    />
  )
  return (
    <Messages of={['knowledge']}>
      <Page width="wide" title={t('name')} tabs={tabs}>
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
