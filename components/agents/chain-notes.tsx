'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import { chainTouched, deleteNoteAt, type Note, type NotePage, notesAt, recordsPerPage } from './records.ts'

interface ChainNotesProps {
  agentId: string
  initial: NotePage
  mayDelete: boolean
}
/** References to records on public blockchains. We can delete the reference, but nobody can delete the record. */
export function ChainNotes({ agentId, initial, mayDelete }: ChainNotesProps) {
  const t = useTranslations('agentRecords.chain')
  const list = useApiInfiniteQuery(notesAt, { params: { id: agentId }, query: { limit: recordsPerPage } }, { initial })
  const { cursor } = useRowKeys({ count: list.rows.length, onOpen: null })
  const [asked, setAsked] = useState<Note>()
  const remove = useApiMutation(deleteNoteAt, { touches: chainTouched })
  const columns: ShownColumn<Note>[] = [
    {
      key: 'reference',
      title: t('columns.reference'),
      main: true,
      value: ({ reference }) => reference,
      cell: ({ reference }) => <CopyableId id={reference} what={t('columns.reference')} />,
    },
    {
      key: 'kind',
      title: t('columns.kind'),
      value: (note) => t(`kinds.${note.kind}`),
      cell: (note) => t(`kinds.${note.kind}`),
    },
    {
      key: 'chain',
      title: t('columns.chain'),
      value: ({ chain }) => chain,
      cell: ({ chain }) => <code className="font-mono">{chain}</code>,
    },
    {
      key: 'standing',
      title: t('columns.standing'),
      cell: () => (
        <span className="flex flex-wrap gap-1">
          <Badge>{t('public')}</Badge>
          <Badge>{t('permanent')}</Badge>
        </span>
      ),
    },
    {
      key: 'noted',
      title: t('columns.noted'),
      value: ({ reported_at }) => reported_at,
      cell: ({ reported_at }) => <Time at={reported_at} />,
    },
    ...(mayDelete
      ? [
          {
            key: 'actions',
            title: t('columns.actions'),
            isTitleHidden: true,
            cell: (note: Note) => (
              <Button
                tone="plain"
                size="small"
                aria-label={t('deleteNamed', { reference: note.reference })}
                onClick={() => setAsked(note)}
              >
                {t('delete')}
              </Button>
            ),
          },
        ]
      : []),
  ]
  return (
    <div className="grid gap-3">
      <DataTable
        name="blockchain-references"
        label={t('list')}
        rows={list.rows}
        pages={list}
        rowKey={({ id }) => id}
        cursor={cursor}
        columns={columns}
        empty={
          <EmptyState title={t('none')}>
            <p>{t('noneText')}</p>
          </EmptyState>
        }
      />
      <Confirm
        open={asked !== undefined}
        onOpenChange={(open) => !open && setAsked(undefined)}
        title={t('ask')}
        consequences={
          <>
            <p>{t('goes')}</p>
            <p>{t('stays')}</p>
          </>
        }
        action={t('do')}
        change={remove}
        onConfirm={() =>
          asked && remove.begin({ params: { id: agentId, referenceId: asked.id } }, () => setAsked(undefined))
        }
      >
        {asked && <p className="font-mono text-[0.8125rem] [overflow-wrap:anywhere]">{asked.reference}</p>}
      </Confirm>
    </div>
  )
}
