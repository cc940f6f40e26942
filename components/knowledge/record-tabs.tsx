'use client'

import { useTranslations } from 'next-intl'
import { createSerializer } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { Tabs } from '#components/ui/tabs.tsx'
import { isNarrowed, type KnowledgeFilters, knowledgeFilterParsers } from './filters.ts'

const address = createSerializer(knowledgeFilterParsers)

/** Whether the list shows all records of the reader's agents, which the tabs count. */
const isCounted = (filters: KnowledgeFilters): boolean =>
  filters.show === 'mine' && (filters.kind === null || filters.kind === 'skill') && !isNarrowed(filters)

/** Units and skills, with the same filters. `counts` of the reader's agents are shown only above the list that they count. */
export function RecordTabs({ counts }: { counts: Partial<Record<'units' | 'skills', string>> }) {
  const t = useTranslations('knowledge')
  const [filters] = useQueryStates(knowledgeFilterParsers)
  const isSkills = filters.kind === 'skill'
  const tab = (what: 'units' | 'skills', isCurrent: boolean) => ({
    href: address('/knowledge', { ...filters, domain: null, kind: what === 'skills' ? 'skill' : null }),
    title: t(what),
    isCurrent,
    ...(counts[what] !== undefined && isCounted(filters) && { count: counts[what] }),
  })
  return <Tabs label={t('views')} tabs={[tab('units', !isSkills), tab('skills', isSkills)]} />
}
