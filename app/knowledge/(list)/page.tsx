import type { Metadata } from 'next'
import { getTimeZone, getTranslations } from 'next-intl/server'
import type { SearchParams } from 'nuqs/server'
import { callUseCase, requirePageAccess } from '#app/page-access.ts'
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
  const [t, zone, filters] = await Promise.all([
    getTranslations('knowledge'),
    getTimeZone(),
    loadKnowledgeFilters(searchParams),
  ])
  const [agents, records] = await Promise.all([
    callUseCase(app.agents.listOwn, { query: { limit: '100' } }),
    callUseCase(app.inspection.listRecords, { query: knowledgeQueryOf(filters, zone) }),
  ])
  const sum = (what: 'units' | 'skills') =>
    agents.data.reduce((all, { holds }) => all + Math.min(holds[what], ownAgentsCountedTo - 1), 0)
  // The counts are incomplete: each agent's count has a maximum, and only the first page of agents is counted. The title reports both.
  const isMany = (what: 'units' | 'skills') => agents.data.some(({ holds }) => holds[what] >= ownAgentsCountedTo)
  const counts = {
    units: sum('units'),
    unitsMany: isMany('units') ? 'yes' : 'no',
    skills: sum('skills'),
    skillsMany: isMany('skills') ? 'yes' : 'no',
    newest: agents.total > agents.data.length ? agents.data.length : 0,
  }
  const isSkills = filters.kind === 'skill'
  const kept = new URLSearchParams()
  if (filters.q !== '') kept.set('q', filters.q)
  for (const name of ['visibility', 'agent', 'from', 'to', 'quality'] as const)
    if (filters[name] !== null) kept.set(name, filters[name])
  if (filters.show === 'all') kept.set('show', 'all')
  const forSkills = new URLSearchParams([...kept, ['kind', 'skill']])
  return (
    <Messages of={['knowledge']}>
      <Page width="wide" title={t('title', counts)} lead={<p>{t('lead')}</p>}>
        <Tabs
          label={t('views')}
          tabs={[
            { href: `/knowledge${kept.size > 0 ? `?${kept}` : ''}`, title: t('units'), isCurrent: !isSkills },
            { href: `/knowledge?${forSkills}`, title: t('skills'), isCurrent: isSkills },
          ]}
        />
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
