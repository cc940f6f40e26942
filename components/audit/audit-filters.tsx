'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import type { FormEvent, KeyboardEvent } from 'react'
import { fieldTime, momentOf } from '#components/frame/local-time.ts'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { type AuditBrowserFilters, auditActionFilters, isAuditFiltered } from './filters.ts'

interface AuditFiltersProps {
  filters: AuditBrowserFilters
  onChange: (filters: Omit<AuditBrowserFilters, 'action'> & { action: AuditBrowserFilters['action'] }) => void
  onClear: () => void
}
const minuteOf = (iso: string | null, zone: string): string => fieldTime(iso, zone).slice(0, 16)
const isAction = (text: string): text is (typeof auditActionFilters)[number] =>
  auditActionFilters.some((one) => one === text)

/** The filters. They apply on Enter or with the button, not while typing. */
export function AuditFilterBar({ filters, onChange, onClear }: AuditFiltersProps) {
  const t = useTranslations('audit')
  const zone = useTimeZone() ?? 'UTC'
  const hasMore = [filters.resource_type, filters.resource_id, filters.from, filters.to].some((set) => set !== null)
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim() || null
    // The stored moment is more precise than the field: keep it if the field is unchanged.
    const moment = (name: 'from' | 'to') => {
      const field = text(name) ?? ''
      return field === minuteOf(filters[name], zone) ? filters[name] : momentOf(field, zone)
    }
    const action = text('action') ?? ''
    onChange({
      q: text('q'),
      agent_id: text('agent_id'),
      action: isAction(action) ? action : null,
      resource_type: text('resource_type'),
      resource_id: text('resource_id'),
      from: moment('from'),
      to: moment('to'),
    })
  }
  const leave = (event: KeyboardEvent<HTMLFormElement>) => {
    if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur()
  }
  const field = (name: 'q' | 'agent_id' | 'resource_type' | 'resource_id', most: number) => (
    <Field
      key={`${name}:${filters[name] ?? ''}`}
      label={t(`filters.${name}`)}
      name={name}
      defaultValue={filters[name] ?? ''}
      maxLength={most}
      autoComplete="off"
      spellCheck={false}
      {...(name === 'q' && { type: 'search', 'data-filter': '' })}
    />
  )
  const time = (name: 'from' | 'to') => (
    <Field
      key={`${name}:${filters[name] ?? ''}`}
      label={t(`filters.${name}`)}
      name={name}
      type="datetime-local"
      defaultValue={minuteOf(filters[name], zone)}
      className="min-w-0"
    />
  )
  return (
    <form aria-label={t('filters.label')} onSubmit={apply} onKeyDown={leave} className="grid gap-4">
      <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
        <div className="sm:col-span-2">{field('q', 200)}</div>
        {field('agent_id', 200)}
        <Select
          key={`action:${filters.action ?? ''}`}
          label={t('filters.action')}
          name="action"
          defaultValue={filters.action ?? ''}
          options={[
            { value: '', title: t('filters.anyAction') },
            ...auditActionFilters.map((value) => ({ value, title: t(`actions.${value}`) })),
          ]}
        />
      </div>
      <details open={hasMore}>
        <summary className="w-fit cursor-pointer text-accent underline-offset-3 hover:underline">
          {t('filters.more')}
        </summary>
        <div className="mt-4 grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
          {field('resource_type', 100)}
          {field('resource_id', 200)}
          {time('from')}
          {time('to')}
        </div>
      </details>
      <div className="flex flex-wrap gap-2">
        <Button type="submit" size="small">
          {t('filters.apply')}
        </Button>
        {(isAuditFiltered(filters) || filters.to !== null) && (
          <Button tone="plain" size="small" onClick={onClear}>
            {t('filters.clear')}
          </Button>
        )}
      </div>
    </form>
  )
}
