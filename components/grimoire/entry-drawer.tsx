'use client'

import { useFormatter, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { Drawer } from '#components/ui/dialog.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { Time } from '#components/ui/time.tsx'
import type { EntryContent } from '#lib/client/sealing/entry.ts'
import { entryAt, type GrimoireEntry, type ReadableContent } from './endpoints.ts'
import { useReadings } from './use-readings.ts'
import type { OpenVault } from './use-vault.ts'
import { VaultFault } from './vault-fault.tsx'
import { wholeText } from './vault-rules.ts'

const asSaid = ({ tags, parents, ...rest }: EntryContent): ReadableContent => ({
  ...rest,
  tags: [...tags],
  parents: [...parents],
})

interface EntryDrawerProps {
  agentId: string
  entryId: string
  /** The row, if the list has loaded it. */
  known: GrimoireEntry | undefined
  vault: OpenVault
  onClose: () => void
  /** Undefined when nothing can be written now. Editing is offered once the content of the entry is readable. */
  onEdit?: (entry: GrimoireEntry, said: ReadableContent) => void
  /** Undefined when the reader may not delete. */
  onDelete?: (entry: GrimoireEntry) => void
}
/**
 * Shows one entry in full. A private entry is decrypted here; while the grimoire is locked only the metadata that the server has is shown.
 */
export function GrimoireEntryDrawer({ agentId, entryId, known, vault, onClose, onEdit, onDelete }: EntryDrawerProps) {
  const t = useTranslations('agentGrimoire')
  const asked = useApiQuery(entryAt, { params: { id: agentId, entryId } }, { enabled: known === undefined })
  const entry = known ?? asked.data?.data
  const { problem } = asked
  const isGone = problem?.code === 'not_found' || problem?.code === 'invalid'
  return (
    <Drawer
      open
      onOpenChange={(isOpen) => !isOpen && onClose()}
      title={entry ? t(`kinds.${entry.kind}`) : t('entry.title')}
    >
      {entry ? (
        <Whole
          entry={entry}
          vault={vault}
          {...(onEdit && { onEdit: (said: ReadableContent) => onEdit(entry, said) })}
          {...(onDelete && { onDelete: () => onDelete(entry) })}
        />
      ) : isGone ? (
        <Alert tone="warning" title={t('entry.gone')} isLive />
      ) : problem ? (
        <ProblemAlert problem={problem} />
      ) : (
        <Skeleton className="h-40" />
      )}
    </Drawer>
  )
}

interface WholeProps extends Pick<EntryDrawerProps, 'vault'> {
  entry: GrimoireEntry
  onEdit?: (said: ReadableContent) => void
  onDelete?: () => void
}
function Whole({ entry, vault, onEdit, onDelete }: WholeProps) {
  const t = useTranslations('agentGrimoire')
  const { readingOf, fault } = useReadings(vault, [entry])
  const reading = readingOf(entry)
  const content: ReadableContent | undefined =
    entry.entry ?? (reading && 'entry' in reading ? asSaid(reading.entry) : undefined)
  return (
    <div className="grid gap-5">
      {fault && <VaultFault code={fault} />}
      {reading && 'refused' in reading && <VaultFault code={reading.refused} />}
      {!vault.isOpen && entry.scope === 'private' && (
        <Alert tone="info" title={t('entry.sealed')}>
          <p>{t('entry.sealedText')}</p>
        </Alert>
      )}
      {content && (
        <div
          data-entry-content
          dir="auto"
          className={
            typeof content.content === 'string'
              ? 'rounded-box border border-line bg-raised px-4 py-3 whitespace-pre-wrap [overflow-wrap:anywhere]'
              : 'rounded-box border border-line bg-raised px-4 py-3 font-mono text-[0.8125rem] whitespace-pre-wrap [overflow-wrap:anywhere]'
          }
        >
          {wholeText(content.content)}
        </div>
      )}
      <EntryFacts entry={entry} content={content} />
      <div className="flex flex-wrap gap-2">
        {onEdit && content && (
          <Button tone="plain" size="small" onClick={() => onEdit(content)}>
            {t('entry.edit')}
          </Button>
        )}
        {onDelete && (
          <Button tone="danger" size="small" onClick={onDelete}>
            {t('entry.delete')}
          </Button>
        )}
      </div>
    </div>
  )
}

function EntryFacts({ entry, content }: { entry: GrimoireEntry; content: ReadableContent | undefined }) {
  const t = useTranslations('agentGrimoire')
  const format = useFormatter()
  const facts: [string, ReactNode][] = [
    [t('entry.id'), <CopyableId key="id" id={entry.id} what={t('entry.id')} />],
    [t('columns.scope'), t(`scopes.${entry.scope}`)],
  ]
  if (content) {
    facts.push([
      t('columns.confidence'),
      content.confidence === null ? t('entry.unsaid') : format.number(content.confidence, { maximumFractionDigits: 2 }),
    ])
    if (content.tags.length > 0)
      facts.push([
        t('columns.tags'),
        <span key="tags" className="flex flex-wrap gap-1.5">
          {content.tags.map((tag) => (
            <Badge key={tag} className="max-w-full truncate">
              <bdi>{tag}</bdi>
            </Badge>
          ))}
        </span>,
      ])
    if (content.provenance !== null)
      facts.push([
        t('entry.provenance'),
        <span key="provenance" className="whitespace-pre-wrap">
          {wholeText(content.provenance)}
        </span>,
      ])
    if (content.parents.length > 0)
      facts.push([
        t('entry.parents'),
        <span key="parents" className="grid gap-0.5">
          {content.parents.map((parent) => (
            <CopyableId key={parent} id={parent} what={t('entry.parents')} />
          ))}
        </span>,
      ])
    if (content.valid_from !== null) facts.push([t('entry.from'), <Time key="from" at={content.valid_from} />])
  }
  facts.push([t('columns.written'), <Time key="written" at={entry.created_at} />])
  if (entry.updated_at !== entry.created_at)
    facts.push([t('entry.changed'), <Time key="changed" at={entry.updated_at} />])
  facts.push([
    t('columns.until'),
    entry.valid_until === null ? t('entry.stays') : <Time key="until" at={entry.valid_until} relative />,
  ])
  return <FactList facts={facts} />
}
