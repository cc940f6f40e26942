'use client'

import { useTranslations } from 'next-intl'
import { parseAsString, parseAsStringLiteral, useQueryStates } from 'nuqs'
import { useCallback, useState } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useKeys } from '#components/frame/keys.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useTyped } from '#components/frame/typed.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tabs } from '#components/ui/tabs.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { type Hold, type HoldPage, holdsAt, holdViews } from './endpoints.ts'
import { HoldForm } from './hold-form.tsx'
import { holdQuery } from './hold-query.ts'
import { ReleaseDialog } from './release-dialog.tsx'

function EndCell({ hold }: { hold: Hold }) {
  const t = useTranslations('holds')
  const { active, expires_at, released_at } = hold
  if (released_at !== null) return t.rich('released', { time: () => <Time at={released_at} /> })
  if (expires_at === null) return t('untilReleased')
  return active ? <Time at={expires_at} relative /> : t.rich('ended', { time: () => <Time at={expires_at} /> })
}

export function HoldList({ initial, asked }: { initial: HoldPage; asked: Record<string, string> }) {
  const t = useTranslations('holds')
  const [{ active, q }, setFilters] = useQueryStates({
    active: parseAsStringLiteral(holdViews).withDefault('true'),
    q: parseAsString,
  })
  const query = holdQuery(active, q)
  const isAsked = JSON.stringify(query) === JSON.stringify(asked)
  const list = useApiInfiniteQuery(holdsAt, { query }, isAsked ? { initial } : {})
  const { rows } = list
  const pass = useCallback((text: string) => void setFilters({ q: text || null }), [setFilters])
  const { typed, setTyped } = useTyped(q ?? '', pass)
  const [isNew, setIsNew] = useState(false)
  const [releasing, setReleasing] = useState<Hold>()
  const [told, setTold] = useState('')
  const setNew = () => {
    setTold('')
    setIsNew(true)
  }
  const { cursor } = useRowKeys({
    count: rows.length,
    onOpen: (index) => {
      const row = rows[index]
      if (row?.active) setReleasing(row)
    },
  })
  useKeys([{ key: 'n', label: t('new.open'), run: setNew }])

  const columns: ShownColumn<Hold>[] = [
    {
      key: 'covers',
      title: t('columns.covers'),
      main: true,
      cell: ({ kind, target_id }) => (
        <span className="grid min-w-48 gap-0.5">
          {t(`kinds.${kind}`)}
          <ShortId id={target_id} what={t('columns.covers')} />
        </span>
      ),
    },
    {
      key: 'reason',
      title: t('columns.reason'),
      cell: ({ reason }) => (
        <span dir="auto" className="line-clamp-3 min-w-40">
          {reason}
        </span>
      ),
    },
    {
      key: 'since',
      title: t('columns.since'),
      cell: ({ created_at, created_by }) => (
        <span className="grid justify-items-start gap-0.5">
          <Time at={created_at} />
          <ShortId id={created_by} what={t('columns.by')} />
        </span>
      ),
    },
    { key: 'until', title: t('columns.until'), cell: (hold) => <EndCell hold={hold} /> },
    {
      key: 'do',
      title: t('columns.do'),
      cell: (hold) => (
        <span className="grid justify-items-start gap-2">
          <TextLink
            href={`/admin/requests?open=all&hold=${hold.id}`}
            aria-label={t('requestsNamed', { target: hold.target_id })}
          >
            {t('requests')}
          </TextLink>
          {hold.active && (
            <Button
              tone="plain"
              size="small"
              aria-label={t('releaseNamed', { target: hold.target_id })}
              onClick={() => {
                setTold('')
                setReleasing(hold)
              }}
            >
              {t('release')}
            </Button>
          )}
        </span>
      ),
    },
  ]

  return (
    <div className="grid gap-6">
      <div className="flex flex-wrap items-end justify-between gap-3">
        <Field
          label={t('filter')}
          data-filter=""
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value.trim())}
          onKeyDown={(event) => {
            if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur()
          }}
          maxLength={200}
          autoComplete="off"
          spellCheck={false}
        />
        <Button onClick={setNew} aria-keyshortcuts="n">
          {t('new.open')}
        </Button>
      </div>
      <Tabs
        label={t('views.label')}
        tabs={holdViews.map((view) => ({
          href: `/admin/holds?${new URLSearchParams({ active: view, ...(q && { q }) })}`,
          title: t(`views.${view}`),
          isCurrent: view === active,
        }))}
      />
      {told !== '' && <Alert tone="done" title={told} isLive />}
      {list.isLoading ? (
        <Skeleton className="h-40" />
      ) : rows.length === 0 && !list.problem ? (
        <Empty title={q ? t('empty.filtered') : t(`empty.${active}`)}>
          <p>{t('empty.text')}</p>
        </Empty>
      ) : (
        <>
          <DataTable label={t('label')} columns={columns} rows={rows} rowKey={({ id }) => id} cursor={cursor} />
          <MoreButton pages={list} />
        </>
      )}
      {isNew && (
        <HoldForm
          close={() => setIsNew(false)}
          done={() => {
            setIsNew(false)
            setTold(t('new.done'))
          }}
        />
      )}
      {releasing && (
        <ReleaseDialog
          hold={releasing}
          close={() => setReleasing(undefined)}
          done={() => {
            setReleasing(undefined)
            setTold(t('releasing.done'))
          }}
        />
      )}
    </div>
  )
}
