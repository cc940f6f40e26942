'use client'

import { useLocale, useTimeZone, useTranslations } from 'next-intl'
import { type FormEvent, type KeyboardEvent, useState } from 'react'
import { fieldTime, momentOf } from '#components/frame/local-time.ts'
import { Button } from '#components/ui/button.tsx'
import { ActorField } from './actor-field.tsx'
import { type ActorProblem, type Named, resolveActor } from './actors.ts'
import { useResourceTypes } from './entry-names.ts'
import { type AuditBrowserFilters, auditActionFilters, bareId, isAuditFiltered, noAuditFilters } from './filters.ts'

interface AuditFiltersProps {
  filters: AuditBrowserFilters
  /** Names of the ids in the filters, as far as the shown entries have them. */
  names: { actor: string | null; resource: string | null }
  onChange: (filters: Partial<AuditBrowserFilters>) => void
}
const minuteOf = (iso: string | null, zone: string): string => fieldTime(iso, zone).slice(0, 16)
const inputLook = 'min-h-8 w-full min-w-0 rounded-box border border-edge bg-raised px-2.5 py-1 text-base sm:text-sm'

interface ChoiceProps {
  name: 'action' | 'resource_type'
  value: string | null
  options: readonly { value: string; title: string }[]
}
function Choice({ name, value, options }: ChoiceProps) {
  const t = useTranslations('audit.filters')
  return (
    <label className="grid min-w-0 content-start gap-1">
      <span className="text-sm text-quiet">{t(name)}</span>
      <select key={value ?? ''} name={name} defaultValue={value ?? ''} className={inputLook}>
        <option value="">{t('any')}</option>
        {options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.title}
          </option>
        ))}
      </select>
    </label>
  )
}

/** The resource types by title. A type of the address that has no title is one of them. */
function useTypeOptions(chosen: string | null): ChoiceProps['options'] {
  const types = useResourceTypes()
  const locale = useLocale()
  const all = { ...(chosen !== null && { [chosen]: chosen }), ...types }
  return Object.entries(all)
    .map(([value, title = value]) => ({ value, title }))
    .sort((one, other) => one.title.localeCompare(other.title, locale))
}

/** The filters. They apply on Enter or with the button, not while typing. */
export function AuditFilterBar({ filters, names, onChange }: AuditFiltersProps) {
  const t = useTranslations('audit')
  const zone = useTimeZone() ?? 'UTC'
  const types = useTypeOptions(filters.resource_type)
  const [actor, setActor] = useState<Named>({ id: filters.agent_id, text: names.actor ?? filters.agent_id ?? '' })
  const [resource, setResource] = useState<Named>({
    id: filters.resource_id,
    text: names.resource ?? filters.resource_id ?? '',
  })
  const [problem, setProblem] = useState<{ field: 'actor' | 'resource'; is: ActorProblem; text: string }>()
  const [isBusy, setBusy] = useState(false)
  const errorOf = (field: 'actor' | 'resource') =>
    problem?.field === field ? t(`filters.${problem.is}`, { text: problem.text }) : undefined

  const apply = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isBusy) return
    const form = new FormData(event.currentTarget)
    const text = (name: string) => String(form.get(name) ?? '').trim() || null
    // The stored moment is more precise than the field: keep it if the field is unchanged.
    const moment = (name: 'from' | 'to') => {
      const field = text(name) ?? ''
      return field === minuteOf(filters[name], zone) ? filters[name] : momentOf(field, zone)
    }
    setBusy(true)
    setProblem(undefined)
    try {
      const found = await resolveActor(actor)
      if (found !== null && typeof found === 'object')
        return setProblem({ field: 'actor', is: found.problem, text: actor.text })
      // An id of any resource is valid here, so only names are resolved.
      const about =
        /[:_]/.test(resource.text) && resource.id === null ? resource.text.trim() : await resolveActor(resource)
      if (about !== null && typeof about === 'object')
        return setProblem({ field: 'resource', is: about.problem, text: resource.text })
      onChange({
        q: text('q'),
        agent_id: found,
        action: auditActionFilters.find((one) => one === text('action')) ?? null,
        resource_type: text('resource_type'),
        resource_id: about === null ? null : bareId(about),
        from: moment('from'),
        to: moment('to'),
      })
    } finally {
      setBusy(false)
    }
  }
  const leave = (event: KeyboardEvent<HTMLFormElement>) => {
    if (event.key === 'Escape' && event.target instanceof HTMLElement) event.target.blur()
  }
  const field = (name: 'q' | 'from' | 'to') => {
    const value = name === 'q' ? (filters.q ?? '') : minuteOf(filters[name], zone)
    return (
      <label className="grid min-w-0 content-start gap-1">
        <span className="text-sm text-quiet">{t(`filters.${name}`)}</span>
        <input
          key={value}
          name={name}
          type={name === 'q' ? 'search' : 'datetime-local'}
          defaultValue={value}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          className={inputLook}
          {...(name === 'q' && { 'data-filter': '' })}
        />
      </label>
    )
  }
  const hasMore = [filters.resource_type, filters.from, filters.to].some((set) => set !== null)
  return (
    <form aria-label={t('filters.label')} onSubmit={apply} onKeyDown={leave} className="grid gap-3">
      <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-[1fr_1fr_9rem_1fr_auto] lg:items-end">
        <ActorField label={t('filters.agent_id')} value={actor} onChange={setActor} error={errorOf('actor')} />
        <ActorField
          label={t('filters.resource_id')}
          value={resource}
          onChange={setResource}
          isResource
          error={errorOf('resource')}
        />
        <Choice
          name="action"
          value={filters.action}
          options={auditActionFilters.map((value) => ({ value, title: t(`actions.${value}`) }))}
        />
        {field('q')}
        <div className="flex gap-2">
          <Button type="submit" size="small" aria-disabled={isBusy}>
            {t('filters.apply')}
          </Button>
          {(isAuditFiltered(filters) || filters.to !== null) && (
            <Button tone="quiet" size="small" onClick={() => onChange(noAuditFilters)}>
              {t('filters.clear')}
            </Button>
          )}
        </div>
      </div>
      <details open={hasMore} className="min-w-0">
        <summary className="min-h-6 w-fit cursor-pointer text-accent underline-offset-3 hover:underline">
          {t('filters.more')}
        </summary>
        <div className="mt-3 grid gap-3 sm:grid-cols-3">
          <Choice name="resource_type" value={filters.resource_type} options={types} />
          {field('from')}
          {field('to')}
        </div>
      </details>
    </form>
  )
}
