import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { sharingPage } from './clades.ts'
import { EntryChoice } from './entry-choice.tsx'
import type { ListedShareable } from './entry-excerpt.ts'

interface EntriesSectionProps {
  agentId: string
  rows: readonly ListedShareable[]
  /** Whether these are not the newest entries. */
  isOlder: boolean
  /** The cursor of older entries. */
  next: string | null
}

/** Entries that can be shared, and the commands that share private ones. */
export function EntriesSection({ agentId, rows, isOlder, next }: EntriesSectionProps) {
  const t = useTranslations('agentSharing.entries')
  const page = sharingPage(agentId)
  return (
    <Section id="entries" title={t('title')} lead={rows.length > 0 && t('lead')}>
      {rows.length === 0 && !isOlder ? (
        <EmptyState title={t('noneTitle')}>
          <p>{t('none')}</p>
        </EmptyState>
      ) : (
        <EntryChoice agentId={agentId} rows={rows} />
      )}
      {(isOlder || next !== null) && (
        <p className="flex flex-wrap gap-x-4 gap-y-1">
          {isOlder && <TextLink href={`${page}#entries`}>{t('newest')}</TextLink>}
          {next !== null && (
            <TextLink href={`${page}?older=${encodeURIComponent(next)}#entries`}>{t('older')}</TextLink>
          )}
        </p>
      )}
      <p className="text-quiet">{t('private')}</p>
      <CodeBlock
        code={`kp clade preview <entry> --agent ${agentId}\nkp clade share <entry> --agent ${agentId}`}
        what={t('command')}
      />
    </Section>
  )
}
