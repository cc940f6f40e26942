'use client'

import { useTranslations } from 'next-intl'
import { useCallback, useDeferredValue, useState } from 'react'
import { parseAsString, parseAsStringLiteral } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useTyped } from '#components/frame/typed.ts'
import { useDataNames } from '#components/stores/data-names.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import type { PlanDecision } from './endpoints.ts'
import { decisionViews, filtered } from './plan-rules.ts'
import { usePlanWords } from './plan-words.ts'

const tones = { deleted: 'progress', changed: 'warning', kept: 'neutral', untouched: 'neutral' } as const
/** Rows per step: each click adds this many. */
const atOnce = 100

export function DecisionTable({ label, verdicts }: { label: string; verdicts: readonly PlanDecision[] }) {
  const t = useTranslations('projects.plan')
  const words = usePlanWords()
  const names = useDataNames()
  const [most, setMost] = useState(atOnce)
  const shown = verdicts.slice(0, most)
  const { cursor } = useRowKeys({ count: shown.length, onOpen: null })
  const columns: ShownColumn<PlanDecision>[] = [
    {
      key: 'what',
      title: t('verdicts.columns.what'),
      main: true,
      cell: ({ kind, id, name }) => (
        <span className="grid gap-0.5">
          <bdi className="line-clamp-3">{name === null || name === '' ? t('verdicts.unnamed') : name}</bdi>
          <span className="flex flex-wrap items-center gap-x-2 font-normal text-quiet">
            {words.kind(kind)} <CopyableId id={id} what={words.kind(kind)} />
          </span>
        </span>
      ),
    },
    {
      key: 'store',
      title: t('verdicts.columns.store'),
      cell: ({ store }) => <span className="whitespace-nowrap">{names.place(store)}</span>,
    },
    {
      key: 'verdict',
      title: t('verdicts.columns.verdict'),
      cell: ({ verdict }) => <Badge tone={tones[verdict]}>{t(`outcomes.${verdict}`)}</Badge>,
    },
    {
      key: 'why',
      title: t('verdicts.columns.why'),
      cell: ({ reason, evidence }) => (
        <span className="grid min-w-40 gap-1">
          {words.reason(reason)}
          {evidence.length > 0 && (
            <span className="flex flex-wrap gap-1">
              {evidence.map((one) => (
                <code
                  key={one}
                  className="rounded-small bg-sunken px-1 font-mono text-[0.8125rem] text-quiet [overflow-wrap:anywhere]"
                >
                  {one}
                </code>
              ))}
            </span>
          )}
        </span>
      ),
    },
    { key: 'found', title: t('verdicts.columns.found'), cell: ({ found }) => words.found(found) },
  ]
  return (
    <div className="grid gap-3">
      <DataTable
        label={label}
        rows={shown}
        rowKey={({ store, kind, id }) => `${store} ${kind} ${id}`}
        cursor={cursor}
        columns={columns}
      />
      {verdicts.length > shown.length && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-sm text-quiet">
          <p role="status">{t('total', { shown: shown.length, count: verdicts.length })}</p>
          <Button tone="plain" size="small" onClick={() => setMost((before) => before + atOnce)}>
            {t('shown')}
          </Button>
        </div>
      )}
    </div>
  )
}

/** All verdicts of a plan. The address holds the filter. */
export function DecisionList({ verdicts }: { verdicts: readonly PlanDecision[] }) {
  const t = useTranslations('projects.plan.verdicts')
  const outcome = useTranslations('projects.plan.outcomes')
  const [{ verdict: view, q }, setFilters] = useQueryStates({
    verdict: parseAsStringLiteral(decisionViews).withDefault('all'),
    q: parseAsString.withDefault(''),
  })
  const pass = useCallback((text: string) => void setFilters({ q: text || null }), [setFilters])
  const { typed, setTyped } = useTyped(q, pass)
  const wanted = useDeferredValue(q)
  const found = filtered(verdicts, view, wanted)
  return (
    <div className="grid gap-4">
      <search className="grid gap-4 sm:grid-cols-[1fr_14rem]">
        <Field
          data-filter=""
          type="search"
          label={t('filter')}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <Select
          label={t('view')}
          value={view}
          options={decisionViews.map((value) => ({ value, title: value === 'all' ? t('all') : outcome(value) }))}
          onChange={({ target }) =>
            void setFilters({ verdict: decisionViews.find((one) => one === target.value) ?? null })
          }
        />
      </search>
      {found.length === 0 ? (
        <p className="text-quiet">{t('none')}</p>
      ) : (
        <DecisionTable key={`${view} ${wanted}`} label={t('title')} verdicts={found} />
      )}
    </div>
  )
}
