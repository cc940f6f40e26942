'use client'

import { useState } from 'react'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Badge } from '#components/ui/badge.tsx'
import { BulkBar } from '#components/ui/bulk-bar.tsx'
import { Button } from '#components/ui/button.tsx'
import { type DateRange, DateRangePicker } from '#components/ui/date-range.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { FilterBar } from '#components/ui/filter-bar.tsx'
import { useSelection } from '#components/ui/selection.ts'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'

interface Row {
  id: string
  subject: string
  days: number
  received: string
}
const rows: readonly Row[] = [
  { id: 'preq_1', subject: 'Kim Example', days: -28, received: '2026-01-01T12:00:00Z' },
  { id: 'preq_2', subject: 'Aword'.repeat(20), days: 2, received: '2026-01-11T12:00:00Z' },
  { id: 'preq_3', subject: 'Dana M. Example', days: 12, received: '2026-01-21T12:00:00Z' },
]
const columns: readonly ShownColumn<Row>[] = [
  { key: 'subject', title: 'Subject', main: true, cell: ({ subject }) => subject, value: ({ subject }) => subject },
  {
    key: 'due',
    title: 'Due',
    cell: ({ days }) => <Badge tone={days < 0 ? 'danger' : 'neutral'}>{days} days</Badge>,
    value: ({ days }) => days,
    minWidth: 'short',
  },
  {
    key: 'received',
    title: 'Received',
    cell: ({ received }) => <Time at={received} show="relative" />,
    value: ({ received }) => received,
  },
  { key: 'id', title: 'ID', cell: ({ id }) => id, value: ({ id }) => id, isHiddenAtFirst: true },
]
const page = {
  rows: [],
  total: 0,
  hasMore: false,
  isLoading: false,
  isLoadingMore: false,
  more: () => {},
  problem: undefined,
  again: () => {},
}
const none = <EmptyState title="No requests match these filters" action={<Button size="small">Clear filters</Button>} />

export function TableExamples() {
  const [text, setText] = useState('')
  const [kinds, setKinds] = useState<string[]>([])
  const [range, setRange] = useState<DateRange>({ from: null, to: null })
  const shown = rows.filter(({ subject }) => subject.toLowerCase().includes(text.toLowerCase()))
  const { chosen, toggle, toggleAll, clear } = useSelection(shown.map(({ id }) => id))
  const { cursor } = useRowKeys({ count: shown.length, onOpen: null })
  return (
    <>
      <DataTable
        name="example"
        label="Requests"
        columns={columns}
        rows={shown}
        rowKey={({ id }) => id}
        rowName={({ subject }) => subject}
        selection={{ chosen, toggle, toggleAll }}
        cursor={cursor}
        empty={none}
        toolbar={
          <FilterBar
            search={{ label: 'Search subjects', value: text, onChange: setText }}
            facets={[
              {
                key: 'kind',
                title: 'Type',
                options: [
                  { value: 'access', title: 'Access', count: 3 },
                  { value: 'erasure', title: 'Deletion', count: 5 },
                ],
                value: kinds,
                onChange: setKinds,
                isMultiple: true,
              },
            ]}
            isFiltered={text !== '' || kinds.length > 0}
            onClear={() => {
              setText('')
              setKinds([])
            }}
          />
        }
        bulk={
          <BulkBar count={chosen.size} onClear={clear}>
            <Button size="small">Assign</Button>
          </BulkBar>
        }
      />
      <DateRangePicker label="Received" value={range} onChange={setRange} />
      <DataTable
        label="Loading"
        columns={columns}
        rows={[]}
        rowKey={({ id }) => id}
        pages={{ ...page, isLoading: true }}
      />
      <DataTable
        label="Failed"
        columns={columns}
        rows={[]}
        rowKey={({ id }) => id}
        pages={{ ...page, problem: { title: 'Unavailable', status: 503, code: 'unavailable' } }}
      />
      <DataTable label="Empty" columns={columns} rows={[]} rowKey={({ id }) => id} pages={page} empty={none} />
    </>
  )
}
