'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery, useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { useQueryState } from '#components/frame/query-state.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { useSizes } from '#components/projects/sizes.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import {
  deleteExchangeAt,
  type ExchangePage,
  exchangeAt,
  exchangesAt,
  type ListedExchange,
  logTouched,
  recordsPerPage,
} from './records.ts'

/** The redactions before storing, in words: kinds with counts. */
function useRedactedWords(): (redacted: ListedExchange['redacted']) => string {
  const t = useTranslations('agentRecords.log')
  const common = useTranslations('common')
  const kindName = useTranslations('sensitiveKinds')
  const { list } = usePunctuation()
  return (redacted) => {
    const kinds = Object.keys(redacted) as (keyof typeof redacted)[]
    const parts = kinds.map((kind) => common('nameCount', { name: kindName(kind), count: redacted[kind] ?? 0 }))
    return parts.length === 0 ? t('nothingRedacted') : list(parts)
  }
}

interface ModelLogProps {
  agentId: string
  initial: ExchangePage
  mayDelete: boolean
}
/** Logged exchanges with language models: contents and expiry of each. */
export function ModelLog({ agentId, initial, mayDelete }: ModelLogProps) {
  const t = useTranslations('agentRecords.log')
  const size = useSizes()
  const redactedWords = useRedactedWords()
  const list = useApiInfiniteQuery(exchangesAt, { query: { agent_id: agentId, limit: recordsPerPage } }, { initial })
  const [open, setOpen] = useQueryState('exchange', { history: 'push' })
  const [asked, setAsked] = useState<string>()
  const show = (id: string | null) => void setOpen(id)
  const { cursor } = useRowKeys({
    count: list.rows.length,
    onOpen: (index) => show(list.rows[index]?.id ?? null),
  })
  const remove = useApiMutation(deleteExchangeAt, { touches: logTouched })
  const closeAsked = () => setAsked(undefined)
  const columns: ShownColumn<ListedExchange>[] = [
    {
      key: 'written',
      title: t('columns.written'),
      main: true,
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'model',
      title: t('columns.model'),
      value: ({ model }) => model,
      cell: ({ model }) => (model === null ? t('noModel') : <bdi>{model}</bdi>),
    },
    {
      key: 'bytes',
      title: t('columns.bytes'),
      numeric: true,
      value: ({ bytes }) => bytes,
      cell: ({ bytes }) => size(bytes),
    },
    {
      key: 'redacted',
      title: t('columns.redacted'),
      value: ({ redacted }) => redactedWords(redacted),
    },
    {
      key: 'goes',
      title: t('columns.goes'),
      value: ({ expires_at }) => expires_at,
      cell: ({ expires_at }) => <Time at={expires_at} relative />,
    },
    {
      key: 'actions',
      title: t('columns.actions'),
      isTitleHidden: true,
      cell: ({ id }) => (
        <span className="flex flex-wrap gap-2">
          <Button tone="plain" size="small" onClick={() => show(id)}>
            {t('read')}
          </Button>
          {mayDelete && (
            <Button tone="plain" size="small" onClick={() => setAsked(id)}>
              {t('delete')}
            </Button>
          )}
        </span>
      ),
    },
  ]
  return (
    <div className="grid gap-3">
      <DataTable
        name="model-log"
        label={t('list')}
        rows={list.rows}
        pages={list}
        rowKey={({ id }) => id}
        onOpen={({ id }) => show(id)}
        cursor={cursor}
        columns={columns}
        empty={
          <EmptyState title={t('none')}>
            <p>{t('noneText')}</p>
          </EmptyState>
        }
      />
      <ExchangeDrawer id={open} onClose={() => show(null)} />
      <Confirm
        open={asked !== undefined}
        onOpenChange={(isOpen) => !isOpen && closeAsked()}
        title={t('ask')}
        consequences={<p>{t('goesNow')}</p>}
        action={t('do')}
        change={remove}
        onConfirm={() => asked !== undefined && remove.begin({ params: { id: asked } }, closeAsked)}
      />
    </div>
  )
}

/** One exchange as stored; it loads when opened. */
function ExchangeDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  const t = useTranslations('agentRecords.log')
  const redactedWords = useRedactedWords()
  const asked = useApiQuery(exchangeAt, { params: { id: id ?? '' } }, { enabled: id !== null })
  const exchange = asked.data?.data
  return (
    <Drawer open={id !== null} onOpenChange={(isOpen) => !isOpen && onClose()} title={t('one')}>
      {asked.problem && <ProblemAlert problem={asked.problem} />}
      {!exchange && !asked.problem && <Skeleton className="h-48" />}
      {exchange && !asked.problem && (
        <div className="grid gap-5">
          <FactList
            facts={[
              [t('columns.written'), <Time key="written" at={exchange.created_at} />],
              [t('columns.goes'), <Time key="goes" at={exchange.expires_at} relative />],
              [t('columns.model'), exchange.model === null ? t('noModel') : <bdi key="model">{exchange.model}</bdi>],
              [t('columns.redacted'), redactedWords(exchange.redacted)],
            ]}
          />
          <ol className="grid gap-4">
            {[...exchange.messages.entries()].map(([at, { role, content }]) => (
              <li key={at} className="grid gap-1 border-l-2 border-line pl-4">
                <p className="text-sm text-quiet">{t(`roles.${role}`)}</p>
                <p dir="auto" className="whitespace-pre-wrap [overflow-wrap:anywhere]">
                  {content}
                </p>
              </li>
            ))}
          </ol>
        </div>
      )}
    </Drawer>
  )
}
