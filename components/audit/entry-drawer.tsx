'use client'

import { useTranslations } from 'next-intl'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { Time } from '#components/ui/time.tsx'
import { type AuditEntry, queryAt } from './audit-pages.ts'
import { useEntryNames } from './entry-names.ts'
import { auditEntryOf } from './filters.ts'

type Only = { agent_id: string } | { resource_type: string } | { resource_type: string; resource_id: string }
interface EntryDrawerProps {
  /** The entry in the address; null if none is open. */
  entryKey: string | null
  /** The entry, if its row is loaded. */
  known: AuditEntry | undefined
  onClose: () => void
  onOnly: (filters: Only) => void
}

/** One entry as stored. */
export function AuditEntryDrawer({ entryKey, known, onClose, onOnly }: EntryDrawerProps) {
  const t = useTranslations('audit.entry')
  const wanted = entryKey === null ? undefined : auditEntryOf(entryKey)
  // A link may name an entry outside the loaded rows: query its timestamp without filters.
  const asked = useApiQuery(
    queryAt,
    { query: { from: wanted?.timestamp, to: wanted?.timestamp, limit: 100 } },
    { enabled: wanted !== undefined && known === undefined },
  )
  const entry = known ?? asked.data?.data.find(({ id }) => id === wanted?.id)
  const isGone = entryKey !== null && !entry && (wanted === undefined || asked.data !== undefined)
  return (
    <Drawer open={entryKey !== null} onOpenChange={(isOpen) => !isOpen && onClose()} title={t('title')} letsKeysThrough>
      {asked.problem && !entry && <ProblemAlert problem={asked.problem} />}
      {isGone && <Alert tone="warning" title={t('gone')} />}
      {!entry && !isGone && !asked.problem && <Skeleton className="h-48" />}
      {entry && <EntryText entry={entry} onOnly={onOnly} />}
    </Drawer>
  )
}

function EntryText({ entry, onOnly }: { entry: AuditEntry; onOnly: (filters: Only) => void }) {
  const t = useTranslations('audit.entry')
  const audit = useTranslations('audit')
  const names = useEntryNames()(entry)
  const { timestamp, agentId, resourceType, resourceId, ip } = entry
  const only = (name: 'actor' | 'resource' | 'type', filters: Only) => (
    <Button tone="plain" size="small" onClick={() => onOnly(filters)}>
      {t(name)}
    </Button>
  )
  return (
    <div data-entry={entry.id} className="grid gap-5">
      <FactList
        facts={[
          [audit('columns.time'), <Time key="time" at={timestamp} show="both" />],
          [audit('columns.action'), names.action],
          [
            audit('columns.actor'),
            <span key="who" className="grid">
              {names.isActorNamed && names.actor}
              <CopyableId id={agentId} what={t('actorId')} />
            </span>,
          ],
          [
            audit('columns.resource'),
            <span key="what" className="grid">
              {names.type} {entry.resourceName}
              <CopyableId id={resourceId} what={t('what')} />
            </span>,
          ],
          [t('address'), ip || t('noAddress')],
        ]}
      />
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-sm text-quiet">{t('only')}</span>
        {only('actor', { agent_id: agentId })}
        {only('resource', { resource_type: resourceType, resource_id: resourceId })}
        {only('type', { resource_type: resourceType })}
      </div>
      <section className="grid gap-2">
        <h3 className="font-medium">{t('raw')}</h3>
        <CodeBlock code={JSON.stringify(storedOf(entry), null, 2)} what={t('copyJson')} />
      </section>
    </div>
  )
}

/** The entry as it is stored, without the names that were added for reading. */
const storedOf = ({ actorName: _actor, resourceName: _resource, ...stored }: AuditEntry) => stored
