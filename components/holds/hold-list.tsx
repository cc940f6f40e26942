'use client'

import { useTranslations } from 'next-intl'
import { useCallback, useMemo, useState } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { parseAsString, parseAsStringLiteral } from '#components/frame/query-parsers.ts'
import { useQueryStates } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { Page } from '#components/ui/page.tsx'
import { useSelection } from '#components/ui/selection.ts'
import { DataTable } from '#components/ui/table.tsx'
import { showToast } from '#components/ui/toast.ts'
import { type Hold, type HoldPage, holdsAt, holdViews } from './endpoints.ts'
import { targetName, useHoldColumns } from './hold-columns.tsx'
import { HoldForm } from './hold-form.tsx'
import { holdQuery } from './hold-query.ts'
import { ReleaseDialog } from './release-dialog.tsx'
import type { HoldTarget } from './target-field.tsx'

interface HoldListProps {
  initial: HoldPage
  asked: Record<string, string>
  /** The person whom `account` in the address names: the form opens with them as the target. */
  person: HoldTarget | undefined
}
/** Legal holds. Several can be released at once, each with its own outcome. */
export function HoldList({ initial, asked, person }: HoldListProps) {
  const t = useTranslations('holds')
  const [{ active, q, account }, setFilters] = useQueryStates({
    active: parseAsStringLiteral(holdViews).withDefault('true'),
    q: parseAsString,
    account: parseAsString,
  })
  const query = holdQuery(active, q)
  const isAsked = JSON.stringify(query) === JSON.stringify(asked)
  const list = useApiInfiniteQuery(holdsAt, { query }, isAsked ? { initial } : {})
  const { rows } = list
  const search = useCallback((text: string) => void setFilters({ q: text.trim() || null }), [setFilters])
  const [isNew, setIsNew] = useState(false)
  const target = account === null ? undefined : person
  const closeForm = () => {
    setIsNew(false)
    void setFilters({ account: null })
  }
  const [releasing, setReleasing] = useState<readonly Hold[]>()
  const selection = useSelection(useMemo(() => rows.filter((row) => row.active).map(({ id }) => id), [rows]))
  const chosen = rows.filter(({ id }) => selection.chosen.has(id))
  const { cursor } = useRowKeys({
    count: rows.length,
    openLabel: t('release'),
    onOpen: (index) => {
      const row = rows[index]
      if (row?.active) setReleasing([row])
    },
  })
  useKeys([{ key: 'n', label: t('new.open'), run: () => setIsNew(true) }])
  const columns = useHoldColumns(active, (hold) => setReleasing([hold]))
  const create = (
    <Button onClick={() => setIsNew(true)} aria-keyshortcuts="n">
      {t('new.open')}
    </Button>
  )

  return (
    <Page width="wide" title={t('name')} lead={<p>{t('lead')}</p>} actions={create}>
      <DataTable
        name="holds"
        label={t('name')}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        rowName={targetName}
        cursor={cursor}
        pages={list}
        {...(active === 'true' && { selection })}
        toolbar={
          <FilterBar
            search={{ label: t('filter'), value: q ?? '', onChange: search }}
            facets={[
              {
                key: 'active',
                title: t('views.label'),
                options: holdViews.map((value) => ({ value, title: t(`views.${value}`) })),
                value: [active],
                onChange: ([value]) => void setFilters({ active: value === 'false' ? 'false' : null }),
              },
            ]}
            isFiltered={q !== null || active !== 'true'}
            onClear={() => void setFilters(null)}
          />
        }
        empty={
          <EmptyState title={q ? t('empty.filtered') : t(`empty.${active}`)} action={active === 'true' && !q && create}>
            <p>{t('empty.text')}</p>
          </EmptyState>
        }
        bulk={
          <BulkBar count={chosen.length} onClear={selection.clear}>
            <Button tone="danger" size="small" onClick={() => setReleasing(chosen)}>
              {t('release')}
            </Button>
          </BulkBar>
        }
      />
      {(isNew || target) && (
        <HoldForm
          person={target}
          close={closeForm}
          done={() => {
            closeForm()
            showToast({ title: t('new.done') })
          }}
        />
      )}
      {releasing && <ReleaseDialog holds={releasing} close={() => setReleasing(undefined)} />}
    </Page>
  )
}
