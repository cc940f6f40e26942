'use client'

import { useTranslations } from 'next-intl'
import { useCallback } from 'react'
import { useTyped } from '#components/frame/typed.ts'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { channels, requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import type { Minder } from './endpoints.ts'
import { dues, isQueueFiltered, type QueueFilterValues, sorts } from './filters.ts'

interface QueueFiltersProps {
  filters: QueueFilterValues
  change: (changes: Partial<QueueFilterValues> | null) => void
  minders: readonly Minder[]
  me: string
}

export function QueueFilters({ filters, change, minders, me }: QueueFiltersProps) {
  const t = useTranslations('queue')
  const any = { value: '', title: t('filters.any') }
  const pass = useCallback((q: string) => change({ q: q || null }), [change])
  const { typed, setTyped } = useTyped(filters.q ?? '', pass)
  const choice = <K extends keyof QueueFilterValues>(
    key: K,
    list: readonly NonNullable<QueueFilterValues[K]>[],
    text: string,
  ) => {
    const found = list.find((one) => one === text)
    change({ [key]: found ?? null } as Partial<QueueFilterValues>)
  }
  const others = minders.filter(({ account_id }) => account_id !== me)
  return (
    <search aria-label={t('filters.label')} className="grid gap-3">
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-4 lg:grid-cols-7">
        <Field
          label={t('filters.q')}
          data-filter=""
          value={typed}
          maxLength={40}
          autoComplete="off"
          spellCheck={false}
          placeholder="preq_…"
          onChange={(event) => setTyped(event.currentTarget.value.trim())}
          onKeyDown={(event) => {
            if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur()
          }}
        />
        <Select
          label={t('filters.due')}
          value={filters.due ?? ''}
          onChange={(event) => choice('due', dues, event.currentTarget.value)}
          options={[any, ...dues.map((value) => ({ value, title: t(`dueTags.${value}`) }))]}
        />
        <Select
          label={t('filters.kind')}
          value={filters.kind ?? ''}
          onChange={(event) => choice('kind', requestKinds, event.currentTarget.value)}
          options={[any, ...requestKinds.map((value) => ({ value, title: t(`kinds.${value}`) }))]}
        />
        <Select
          label={t('filters.state')}
          value={filters.state ?? ''}
          onChange={(event) => choice('state', states, event.currentTarget.value)}
          options={[any, ...states.map((value) => ({ value, title: t(`states.${value}`) }))]}
        />
        <Select
          label={t('filters.channel')}
          value={filters.channel ?? ''}
          onChange={(event) => choice('channel', channels, event.currentTarget.value)}
          options={[any, ...channels.map((value) => ({ value, title: t(`channels.${value}`) }))]}
        />
        <Select
          label={t('filters.assignee')}
          value={filters.assignee ?? ''}
          onChange={(event) => change({ assignee: event.currentTarget.value || null })}
          options={[
            any,
            { value: 'me', title: t('assignee.me') },
            { value: 'none', title: t('assignee.none') },
            ...others.map(({ account_id, name }) => ({ value: account_id, title: name })),
          ]}
        />
        <Select
          label={t('filters.sort')}
          value={filters.sort}
          onChange={(event) => choice('sort', sorts, event.currentTarget.value)}
          options={sorts.map((value) => ({ value, title: t(`sort.${value}`) }))}
        />
      </div>
      {filters.hold !== null && (
        <p className="text-sm text-quiet">
          {t.rich('filters.hold', { id: filters.hold, b: (text) => text })}{' '}
          <ShortId id={filters.hold} what={t('columns.id')} />
        </p>
      )}
      {isQueueFiltered(filters) && (
        <Button tone="plain" size="small" className="justify-self-start" onClick={() => change(null)}>
          {t('filters.clear')}
        </Button>
      )}
    </search>
  )
}
