'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiInfiniteQuery, useApiMutation } from '#components/frame/api-query.ts'
import { ListTable } from '#components/frame/list-table.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import type { ShownColumn } from '#components/ui/table-column.ts'
import { Time } from '#components/ui/time.tsx'
import { chainTouched, deleteNoteAt, type Note, type NotePage, notesAt, recordsPerPage } from './records.ts'

/** The columns of the list; `onDelete` is absent if the reader may not delete. */
function useNoteColumns(onDelete: ((note: Note) => void) | undefined): ShownColumn<Note>[] {
  const t = useTranslations('agentRecords.chain')
  return [
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
    ...(onDelete
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
                onClick={() => onDelete(note)}
              >
                {t('delete')}
              </Button>
            ),
          },
        ]
      : []),
  ]
}

interface ChainNotesProps {
  agentId: string
  initial: NotePage
  mayDelete: boolean
}
/** References to records on public blockchains. We can delete the reference, but nobody can delete the record. */
export function ChainNotes({ agentId, initial, mayDelete }: ChainNotesProps) {
  const t = useTranslations('agentRecords.chain')
  const list = useApiInfiniteQuery(notesAt, { params: { id: agentId }, query: { limit: recordsPerPage } }, { initial })
  const [asked, setAsked] = useState<Note>()
  const remove = useApiMutation(deleteNoteAt, { touches: chainTouched })
  const columns = useNoteColumns(mayDelete ? setAsked : undefined)
  return (
    <div className="grid gap-3">
      <ListTable
        name="blockchain-references"
        label={t('list')}
        list={list}
        columns={columns}
        rowKey={({ id }) => id}
        none={t('none')}
      >
        {t('noneText')}
      </ListTable>
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
