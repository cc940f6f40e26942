'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { beginningOf } from '#components/frame/local-time.ts'
import { useTyped } from '#components/frame/typed.ts'
import { DateRangePicker } from '#components/ui/date-range.tsx'
import { type Facet, FilterBar } from '#components/ui/filter-bar.tsx'
import { isNarrowed, type KnowledgeFilters, noKnowledgeFilters, qualities, recordKindFilters } from './filters.ts'
import { recordVisibilities } from './knowledge.ts'

type Changes = { [K in keyof KnowledgeFilters]?: KnowledgeFilters[K] | null }
interface KnowledgeFilterBarProps {
  filters: KnowledgeFilters
  set: (changes: Changes) => void
  agents: readonly { id: string; name: string | null }[]
}

const chosen = <V extends string>(all: readonly V[], [value]: string[]): V | null =>
  all.find((one) => one === value) ?? null
const given = (value: string | null): string[] => (value === null ? [] : [value])

function DomainField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const t = useTranslations('knowledge.filters')
  const { typed, setTyped } = useTyped(value, onChange)
  return (
    <input
      name="domain"
      dir="auto"
      aria-label={t('domain')}
      placeholder={t('domain')}
      maxLength={300}
      autoComplete="off"
      value={typed}
      onChange={({ target }) => setTyped(target.value)}
      className="min-h-8 w-40 rounded-box border border-edge bg-raised px-2 py-1 text-base placeholder:text-quiet sm:text-sm"
    />
  )
}

/** Search, owner and the other filters of the knowledge list. */
export function KnowledgeFilterBar({ filters, set, agents }: KnowledgeFilterBarProps) {
  const t = useTranslations('knowledge')
  const zone = useTimeZone() ?? 'UTC'
  const isSkills = filters.kind === 'skill'
  const isWrong = [filters.from, filters.to].some((day) => day !== null && !beginningOf(day, zone))
  const foreign = filters.agent !== null && !agents.some(({ id }) => id === filters.agent) ? [filters.agent] : []
  const facets: Facet[] = [
    {
      key: 'show',
      title: t('filters.show'),
      value: [filters.show],
      options: (['mine', 'all'] as const).map((value) => ({ value, title: t(`filters.${value}`) })),
      onChange: ([value]) => set({ show: value === 'all' ? 'all' : null }),
    },
    ...(isSkills
      ? []
      : [
          {
            key: 'kind',
            title: t('filters.kind'),
            value: given(filters.kind),
            options: recordKindFilters
              .filter((kind) => kind !== 'skill')
              .map((value) => ({ value, title: t(`kinds.${value}`) })),
            onChange: (value: string[]) => set({ kind: chosen(recordKindFilters, value) }),
          },
        ]),
    {
      key: 'visibility',
      title: t('filters.visibility'),
      value: given(filters.visibility),
      options: recordVisibilities.map((value) => ({ value, title: t(`visibility.${value}.name`) })),
      onChange: (value) => set({ visibility: chosen(recordVisibilities, value) }),
    },
    {
      key: 'agent',
      title: t('filters.agent'),
      value: given(filters.agent),
      options: [
        ...agents.map(({ id, name }) => ({ value: id, title: name ?? id })),
        // The agent of another owner, from a link.
        ...foreign.map((id) => ({ value: id, title: id })),
      ],
      onChange: ([value]) => set({ agent: value ?? null }),
    },
    {
      key: 'quality',
      title: t('filters.quality'),
      value: given(filters.quality),
      options: qualities.map((value) => ({
        value,
        title: t('filters.atLeast', { percent: Math.round(Number(value) * 100) }),
      })),
      onChange: (value) => set({ quality: chosen(qualities, value) }),
    },
  ]
  return (
    <div className="grid gap-2">
      <FilterBar
        search={{ label: t('filters.q'), value: filters.q, onChange: (text) => set({ q: text || null }) }}
        facets={facets}
        isFiltered={isNarrowed(filters)}
        onClear={() => set(noKnowledgeFilters)}
      >
        {!isSkills && (
          <DomainField value={filters.domain ?? ''} onChange={(text) => set({ domain: text.trim() || null })} />
        )}
        <DateRangePicker label={t('list.stored')} value={filters} onChange={set} presets={[7, 30]} />
      </FilterBar>
      {isWrong && (
        <p role="alert" className="text-sm text-red">
          {t('filters.wrongDay')}
        </p>
      )}
    </div>
  )
}
