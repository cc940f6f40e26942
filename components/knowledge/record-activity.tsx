'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { type AuditEntry, queryAt } from '#components/audit/audit-pages.ts'
import { useApiQuery } from '#components/frame/api-query.ts'
import { countText } from '#components/frame/count-text.ts'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Section } from '#components/ui/page.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { DataTable, type ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { type RecordKind, recordKindOf } from './knowledge.ts'

/** Entries shown here; the audit log has all. */
const most = 20

/** Resource types under which the audit log records searches and lists that can show a record of this kind. */
const listTypes = {
  trace: ['knowledge'],
  pattern: ['knowledge'],
  sop: ['knowledge', 'sop'],
  skill: ['knowledge', 'skill'],
} as const
type ListType = (typeof listTypes)[RecordKind][number]

/** A link to searches and lists since the record exists, with their number. */
function ListReads({ type, since }: { type: ListType; since: string }) {
  const t = useTranslations('knowledge.activity.lists')
  const common = useTranslations('common')
  const filters = { resource_type: type, resource_id: 'query', from: since }
  const { data } = useApiQuery(queryAt, { query: { ...filters, limit: 1 } })
  return (
    <TextLink href={`/admin/audit?${new URLSearchParams({ ...filters, reads: 'true' })}`}>
      {t(type)}
      {data && ` (${countText(common, data.total)})`}
    </TextLink>
  )
}

interface RecordActivityProps {
  recordId: string
  createdAt: string
  /** Names by audit actor: `user:<id>` of the reader, and agents. */
  names: Readonly<Record<string, string>>
  /** Auditors and admins see the entries of everyone. */
  mayAudit: boolean
}

/** Who read and changed the record, from the audit log. It loads when opened, because reading the log is audited itself. */
export function RecordActivity({ recordId, createdAt, names, mayAudit }: RecordActivityProps) {
  const t = useTranslations('knowledge.activity')
  const [isOpen, setOpen] = useState(false)
  const asked = useApiQuery(queryAt, { query: { resource_id: recordId, limit: most } }, { enabled: isOpen })
  const columns: ShownColumn<AuditEntry>[] = [
    { key: 'at', title: t('time'), main: true, cell: ({ timestamp }) => <Time at={timestamp} /> },
    { key: 'action', title: t('action'), cell: ({ action }) => t(`actions.${action}`) },
    {
      key: 'by',
      title: t('by'),
      cell: ({ agentId, actorName }) => {
        const name = names[agentId] ?? actorName ?? undefined
        return name === undefined ? <CopyableId id={agentId} what={t('by')} /> : <bdi>{name}</bdi>
      },
    },
  ]
  return (
    <Section id="activity" title={t('title')} lead={t(mayAudit ? 'leadAll' : 'lead')}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className="w-fit cursor-pointer text-accent">{t('show')}</summary>
        <div className="mt-3 grid gap-3">
          {asked.problem && <ProblemAlert problem={asked.problem} />}
          {!asked.data && !asked.problem && <Skeleton className="h-20" />}
          {asked.data &&
            (asked.data.data.length === 0 ? (
              <p className="text-quiet">{t('none')}</p>
            ) : (
              <DataTable label={t('title')} columns={columns} rows={asked.data.data} rowKey={({ id }) => id} />
            ))}
          {mayAudit && asked.data && (
            <p className="flex flex-wrap gap-x-3 text-quiet">
              {t('lists.text')}
              {listTypes[recordKindOf(recordId)].map((type) => (
                <ListReads key={type} type={type} since={createdAt} />
              ))}
            </p>
          )}
          {mayAudit && (
            <p>
              <TextLink href={`/admin/audit?${new URLSearchParams({ resource_id: recordId, reads: 'true' })}`}>
                {t('all')}
              </TextLink>
            </p>
          )}
        </div>
      </details>
    </Section>
  )
}
