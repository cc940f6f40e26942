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
import { type AuditEntry, type ListedAct, queryAt } from './audit-pages.ts'
import { useEntryNames } from './entry-names.ts'
import { auditEntryOf } from './filters.ts'
import { useSentences } from './sentences.ts'

type Only = { agent_id: string } | { resource_type: string } | { resource_type: string; resource_id: string }
interface EntryDrawerProps {
  /** The entry in the address; null if none is open. */
  entryKey: string | null
  /** The act with the entry, if its row is loaded. */
  known: ListedAct | undefined
  onClose: () => void
  onOnly: (filters: Only) => void
}

/** An act: its sentences, and one click deeper its ids and the entries as stored. */
export function AuditEntryDrawer({ entryKey, known, onClose, onOnly }: EntryDrawerProps) {
  const t = useTranslations('audit.entry')
  const wanted = entryKey === null ? undefined : auditEntryOf(entryKey)
  // A link may name an entry outside the loaded rows: query its timestamp without filters.
  const asked = useApiQuery(
    queryAt,
    { query: { from: wanted?.timestamp, to: wanted?.timestamp, limit: 100 } },
    { enabled: wanted !== undefined },
  )
  const entries = asked.data?.data ?? []
  const entry =
    known?.parts.find((part) => part.entry.id === wanted?.id)?.entry ?? entries.find(({ id }) => id === wanted?.id)
  const isGone = entryKey !== null && !entry && (wanted === undefined || asked.data !== undefined)
  const kinds = new Set(known?.parts.map((part) => kindOf(part.entry)))
  const parts = known?.parts ?? (entry ? [{ entry, count: 1 }] : [])
  return (
    <Drawer open={entryKey !== null} onOpenChange={(isOpen) => !isOpen && onClose()} title={t('title')} letsKeysThrough>
      {asked.problem && !entry && <ProblemAlert problem={asked.problem} />}
      {isGone && <Alert tone="warning" title={t('gone')} />}
      {!entry && !isGone && !asked.problem && <Skeleton className="h-48" />}
      {entry && (
        <ActText
          entry={entry}
          parts={parts}
          names={known?.names ?? {}}
          tries={known?.tries ?? 1}
          entries={known ? entries.filter((one) => kinds.has(kindOf(one))) : [entry]}
          total={known?.count ?? 1}
          onOnly={onOnly}
        />
      )}
    </Drawer>
  )
}
const kindOf = ({ agentId, action, resourceType, details }: AuditEntry): string =>
  [agentId, action, resourceType, details?.operation, details?.event].join(' ')

interface ActTextProps extends Pick<ListedAct, 'parts' | 'names' | 'tries'> {
  entry: AuditEntry
  /** The stored entries that are loaded. */
  entries: readonly AuditEntry[]
  total: number
  onOnly: (filters: Only) => void
}

function ActText({ entry, parts, names: found, tries, entries, total, onOnly }: ActTextProps) {
  const t = useTranslations('audit.entry')
  const names = useEntryNames()(entry)
  const { sentenceOf } = useSentences()
  const { timestamp, agentId, resourceType, resourceId, ip } = entry
  const [first, ...others] = parts
  const only = (name: 'actor' | 'resource' | 'type', filters: Only) => (
    <Button tone="plain" size="small" onClick={() => onOnly(filters)}>
      {t(name)}
    </Button>
  )
  return (
    <div data-entry={entry.id} className="grid gap-5">
      <div className="grid gap-1">
        {first && (
          <p className="text-base font-medium [overflow-wrap:anywhere]">{sentenceOf(first, { names: found, tries })}</p>
        )}
        <p className="text-quiet">
          <Time at={timestamp} show="both" />
        </p>
      </div>
      {others.length > 0 && (
        <section className="grid gap-2">
          <h3 className="font-medium">{t('steps')}</h3>
          <ul className="list-disc pl-5">
            {others.map((part) => (
              <li key={part.entry.id} className="[overflow-wrap:anywhere]">
                {sentenceOf(part, { names: found })}
              </li>
            ))}
          </ul>
        </section>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <span className="text-sm text-quiet">{t('only')}</span>
        {only('actor', { agent_id: agentId })}
        {only('resource', { resource_type: resourceType, resource_id: resourceId })}
        {only('type', { resource_type: resourceType })}
      </div>
      <details className="grid gap-4">
        <summary className="min-h-6 w-fit cursor-pointer text-accent underline-offset-3 hover:underline">
          {t('details')}
        </summary>
        <div className="mt-3 grid gap-4">
          <FactList
            facts={[
              [
                t('whoLabel'),
                <span key="who" className="grid">
                  {names.isActorNamed && names.actor}
                  <CopyableId id={agentId} what={t('actorId')} />
                </span>,
              ],
              [
                t('whatLabel'),
                <span key="what" className="grid">
                  {names.type} {entry.resourceName}
                  <CopyableId id={resourceId} what={t('what')} />
                </span>,
              ],
              [t('address'), ip || t('noAddress')],
            ]}
          />
          <h3 className="font-medium">{t('raw')}</h3>
          {total > entries.length && entries.length > 0 && (
            <p className="text-sm text-quiet">{t('first', { count: entries.length, total })}</p>
          )}
          {entries.slice(0, maxShown).map((one) => (
            <CodeBlock key={one.id} code={JSON.stringify(storedOf(one), null, 2)} what={t('copyJson')} />
          ))}
        </div>
      </details>
    </div>
  )
}
/** Stored entries of one act that the drawer shows. */
const maxShown = 100

/** The entry as it is stored, without the names that were added for reading. */
const storedOf = ({ actorName: _actor, resourceName: _resource, ...stored }: AuditEntry) => stored
