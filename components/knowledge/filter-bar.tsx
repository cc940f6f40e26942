'use client'

import { useTimeZone, useTranslations } from 'next-intl'
import { beginningOf } from '#components/frame/local-time.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Button } from '#components/ui/button.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { isNarrowed, type KnowledgeFilters, noKnowledgeFilters, qualities, recordKindFilters } from './filters.ts'
import { recordVisibilities } from './knowledge.ts'

type Changes = { [K in keyof KnowledgeFilters]?: KnowledgeFilters[K] | null }
interface FilterBarProps {
  filters: KnowledgeFilters
  set: (changes: Changes) => void
  agents: readonly { id: string; name: string | null }[]
}

/** A text field that updates the address after a pause in typing. */
function useTypedField(value: string, pass: (text: string) => void) {
  const { typed, setTyped } = useTyped(value, pass)
  return { value: typed, onChange: ({ target }: { target: { value: string } }) => setTyped(target.value) }
}
const chosen = <V extends string>(all: readonly V[], value: string): V | null =>
  all.find((one) => one === value) ?? null

/** Search text and owner; further filters are collapsed. */
export function FilterBar({ filters, set, agents }: FilterBarProps) {
  const t = useTranslations('knowledge')
  const zone = useTimeZone() ?? 'UTC'
  const q = useTypedField(filters.q, (text) => set({ q: text || null }))
  const domain = useTypedField(filters.domain ?? '', (text) => set({ domain: text.trim() || null }))
  const isSkills = filters.kind === 'skill'
  const isWrong = (day: string | null) => (day !== null && !beginningOf(day, zone) ? t('filters.wrongDay') : undefined)
  const isMoreUsed = [
    filters.visibility,
    filters.agent,
    filters.domain,
    filters.from,
    filters.to,
    filters.quality,
  ].some((one) => one !== null)
  return (
    <search aria-label={t('filters.label')} className="grid gap-3">
      <div className="grid gap-3 sm:grid-cols-[1fr_14rem_12rem]">
        <Field data-filter type="search" name="q" label={t('filters.q')} dir="auto" autoComplete="off" {...q} />
        <Select
          label={t('filters.show')}
          name="show"
          value={filters.show}
          onChange={({ target }) => set({ show: target.value === 'all' ? 'all' : null })}
          options={[
            { value: 'mine', title: t('filters.mine') },
            { value: 'all', title: t('filters.all') },
          ]}
        />
        {!isSkills && (
          <Select
            label={t('filters.kind')}
            name="kind"
            value={filters.kind ?? ''}
            onChange={({ target }) => set({ kind: chosen(recordKindFilters, target.value) })}
            options={[
              { value: '', title: t('filters.anyKind') },
              ...recordKindFilters
                .filter((kind) => kind !== 'skill')
                .map((kind) => ({ value: kind, title: t(`kinds.${kind}`) })),
            ]}
          />
        )}
      </div>
      <details open={isMoreUsed || undefined}>
        <summary className="w-fit cursor-pointer text-accent">{t('filters.more')}</summary>
        <div className="mt-3 grid gap-3 sm:grid-cols-3">
          <Select
            label={t('filters.visibility')}
            name="visibility"
            value={filters.visibility ?? ''}
            onChange={({ target }) => set({ visibility: chosen(recordVisibilities, target.value) })}
            options={[
              { value: '', title: t('filters.anyVisibility') },
              ...recordVisibilities.map((value) => ({ value, title: t(`visibility.${value}.name`) })),
            ]}
          />
          <Select
            label={t('filters.agent')}
            name="agent"
            value={filters.agent ?? ''}
            onChange={({ target }) => set({ agent: target.value || null })}
            options={[
              { value: '', title: t('filters.anyAgent') },
              ...agents.map(({ id, name }) => ({ value: id, title: name ?? id })),
              // The agent of another owner, from a link.
              ...(filters.agent !== null && !agents.some(({ id }) => id === filters.agent)
                ? [{ value: filters.agent, title: filters.agent }]
                : []),
            ]}
          />
          <Select
            label={t('filters.quality')}
            name="quality"
            value={filters.quality ?? ''}
            onChange={({ target }) => set({ quality: chosen(qualities, target.value) })}
            options={[
              { value: '', title: t('filters.anyQuality') },
              ...qualities.map((value) => ({
                value,
                title: t('filters.atLeast', { percent: Math.round(Number(value) * 100) }),
              })),
            ]}
          />
          {!isSkills && <Field name="domain" label={t('filters.domain')} dir="auto" autoComplete="off" {...domain} />}
          <Field
            type="date"
            name="from"
            label={t('filters.from')}
            value={filters.from ?? ''}
            onChange={({ target }) => set({ from: target.value || null })}
            error={isWrong(filters.from)}
          />
          <Field
            type="date"
            name="to"
            label={t('filters.to')}
            value={filters.to ?? ''}
            onChange={({ target }) => set({ to: target.value || null })}
            error={isWrong(filters.to)}
          />
        </div>
      </details>
      {isNarrowed(filters) && (
        <Button tone="ghost" size="small" className="justify-self-start" onClick={() => set(noKnowledgeFilters)}>
          {t('filters.clear')}
        </Button>
      )}
    </search>
  )
}
