'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { MoreButton } from '#components/ui/more-button.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Tag } from '#components/ui/tag.tsx'
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
  if (list.rows.length === 0 && !list.problem)
    return (
      <Empty title={t('none')}>
        <p>{t('noneText')}</p>
      </Empty>
    )
  const columns: ShownColumn<Note>[] = [
    {
      key: 'reference',
      title: t('columns.reference'),
      main: true,
      cell: ({ reference }) => <ShortId id={reference} what={t('columns.reference')} />,
    },
    { key: 'kind', title: t('columns.kind'), cell: (note) => t(`kinds.${note.kind}`) },
    { key: 'chain', title: t('columns.chain'), cell: ({ chain }) => <code className="font-mono">{chain}</code> },
    {
      key: 'standing',
      title: t('columns.standing'),
      cell: () => (
        <span className="flex flex-wrap gap-1">
          <Tag>{t('public')}</Tag>
          <Tag>{t('permanent')}</Tag>
        </span>
      ),
    },
    { key: 'noted', title: t('columns.noted'), cell: ({ reported_at }) => <Time at={reported_at} /> },
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
      <DataTable label={t('list')} rows={list.rows} rowKey={({ id }) => id} cursor={cursor} columns={columns} />
      <MoreButton pages={list} />
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
