'use client'

import { useTranslations } from 'next-intl'
import { useCallback } from 'react'
import { SavedViews } from '#components/frame/saved-views.tsx'
import { Button } from '#components/ui/button.tsx'
import { type Facet, FilterBar } from '#components/ui/filter-bar.tsx'
import { channels, requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import type { Minder } from './endpoints.ts'
import { addressOf, dues, isQueueFiltered, type QueueFilterValues, queueViews } from './filters.ts'

interface QueueFiltersProps {
  filters: QueueFilterValues
  change: (changes: Partial<QueueFilterValues> | null) => void
  minders: readonly Minder[]
  me: string
}

/** The facets. Open, closed and all requests share one facet with the single states. */
function useFacets({ filters, change, minders, me }: QueueFiltersProps): Facet[] {
  const t = useTranslations('queue')
  const names = useTranslations('requestNames')
  const facet = <K extends 'kind' | 'due' | 'channel'>(
    key: K,
    title: string,
    values: readonly NonNullable<QueueFilterValues[K]>[],
    titleOf: (value: NonNullable<QueueFilterValues[K]>) => string,
  ): Facet => ({
    key,
    title,
    options: values.map((value) => ({ value, title: titleOf(value) })),
    value: filters[key] === null ? [] : [filters[key]],
    onChange: ([chosen]) => change({ [key]: values.find((value) => value === chosen) ?? null }),
  })
  return [
    {
      key: 'state',
      title: t('filters.state'),
      options: [
        ...queueViews.map((value) => ({ value, title: t(`views.${value}`) })),
        ...states.map((value) => ({ value, title: names(`states.${value}`) })),
      ],
      value: [filters.state ?? filters.open],
      onChange: ([chosen]) => {
        const state = states.find((one) => one === chosen) ?? null
        change({ state, open: state ? 'all' : (queueViews.find((one) => one === chosen) ?? 'true') })
      },
    },
    facet('kind', t('filters.kind'), requestKinds, (value) => names(`kinds.${value}`)),
    {
      ...facet('due', t('filters.due'), dues, (value) => t(`dueTags.${value}`)),
      onChange: ([chosen]) => {
        const due = dues.find((one) => one === chosen) ?? null
        // Requests that were completed late are closed.
        change({ due, ...(due === 'late' && { open: 'all' }) })
      },
    },
    {
      key: 'assignee',
      title: t('filters.assignee'),
      options: [
        { value: 'me', title: t('assignee.me') },
        { value: 'none', title: t('assignee.none') },
        ...minders
          .filter(({ account_id }) => account_id !== me)
          .map(({ account_id, name }) => ({ value: account_id, title: name })),
      ],
      value: filters.assignee === null ? [] : [filters.assignee],
      onChange: ([assignee]) => change({ assignee: assignee ?? null }),
    },
    facet('channel', t('filters.channel'), channels, (value) => t(`channels.${value}`)),
  ]
}

export function QueueFilters(props: QueueFiltersProps) {
  const { filters, change } = props
  const t = useTranslations('queue')
  const search = useCallback((q: string) => change({ q: q.trim() || null }), [change])
  return (
    <FilterBar
      search={{ label: t('filters.q'), value: filters.q ?? '', onChange: search }}
      facets={useFacets(props)}
      isFiltered={isQueueFiltered(filters)}
      onClear={() => change(null)}
    >
      {filters.hold !== null && (
        <Button tone="accent" size="small" onClick={() => change({ hold: null })}>
          {t('filters.hold')}
        </Button>
      )}
      <SavedViews page="requests" search={addressOf('', filters).slice(1)} />
    </FilterBar>
  )
}
