'use client'

import { useFormatter, useTranslations } from 'next-intl'
import type { ComponentProps, ReactNode } from 'react'
import { Badge } from '#components/ui/badge.tsx'
import { DataTable } from '#components/ui/table.tsx'
import { Time } from '#components/ui/time.tsx'
import type { GrimoireEntry } from './endpoints.ts'
import type { Read } from './vault-protocol.ts'
import { shortTextOf } from './vault-rules.ts'

interface EntryListProps {
  pages: NonNullable<ComponentProps<typeof DataTable<GrimoireEntry>>['pages']> & { rows: readonly GrimoireEntry[] }
  cursor: number
  isOpen: boolean
  readingOf: (entry: GrimoireEntry) => Read | undefined
  onOpen: (id: string) => void
  toolbar: ReactNode
  /** An `EmptyState`. */
  empty: ReactNode
}
/** Lists entries. Decrypted content is neither sorted nor exported. Clade entries are always readable; private entries are readable only while the grimoire is open. */
export function EntryList({ pages, cursor, isOpen, readingOf, onOpen, toolbar, empty }: EntryListProps) {
  const t = useTranslations('agentGrimoire')
  const format = useFormatter()
  const contentOf = (row: GrimoireEntry) => {
    const reading = readingOf(row)
    return row.entry ?? (reading && 'entry' in reading ? reading.entry : undefined)
  }
  const wordsOf = (row: GrimoireEntry): string => {
    const reading = readingOf(row)
    if (reading && 'refused' in reading) return t('list.refused')
    const content = contentOf(row)
    if (content) return shortTextOf(content.content) || t('list.empty')
    return t(isOpen ? 'list.opening' : 'list.sealed')
  }
  return (
    <DataTable
      name="grimoire"
      label={t('list.label')}
      rows={pages.rows}
      pages={pages}
      rowKey={({ id }) => id}
      onOpen={({ id }) => onOpen(id)}
      cursor={cursor}
      toolbar={toolbar}
      empty={empty}
      columns={[
        {
          key: 'what',
          title: t('columns.what'),
          main: true,
          minWidth: 'long',
          cell: (row) => {
            const words = wordsOf(row)
            return (
              <button
                type="button"
                className="text-left text-accent underline decoration-1 underline-offset-3 [overflow-wrap:anywhere] hover:decoration-2"
                aria-label={t('list.open', { what: contentOf(row) ? words : `${words} ${row.id}` })}
                onClick={() => onOpen(row.id)}
              >
                <bdi>{words}</bdi>
              </button>
            )
          },
        },
        {
          key: 'kind',
          title: t('columns.kind'),
          value: ({ kind }) => t(`kinds.${kind}`),
          cell: ({ kind }) => <span className="whitespace-nowrap">{t(`kinds.${kind}`)}</span>,
        },
        {
          key: 'scope',
          title: t('columns.scope'),
          value: ({ scope }) => t(`scopes.${scope}`),
          cell: ({ scope }) => <Badge tone={scope === 'clade' ? 'progress' : 'neutral'}>{t(`scopes.${scope}`)}</Badge>,
        },
        {
          key: 'confidence',
          title: t('columns.confidence'),
          numeric: true,
          cell: (row) => {
            const confidence = contentOf(row)?.confidence ?? null
            return confidence === null ? '–' : format.number(confidence, { maximumFractionDigits: 2 })
          },
        },
        {
          key: 'written',
          title: t('columns.written'),
          value: ({ created_at }) => created_at,
          cell: ({ created_at }) => <Time at={created_at} isDay />,
        },
        {
          key: 'until',
          title: t('columns.until'),
          value: ({ valid_until }) => valid_until,
          cell: ({ valid_until }) => (valid_until === null ? '–' : <Time at={valid_until} isDay relative />),
        },
      ]}
    />
  )
}
