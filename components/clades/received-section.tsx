import { useFormatter, useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type ReceivedShare, sharesPerPage, sharingPage } from './clades.ts'
import { ReceivedList } from './received-list.tsx'

interface ReceivedSectionProps {
  agentId: string
  rows: readonly ReceivedShare[]
  names: Readonly<Record<string, string>>
  /** Shares and recalls that the agent has not downloaded. */
  pending: number
  /** The sequence number that precedes the rows; 0 for the first page. */
  after: number
  nextAfter: number
}

/** Shares that the agent received from its siblings. */
export function ReceivedSection({ agentId, rows, names, pending, after, nextAfter }: ReceivedSectionProps) {
  const t = useTranslations('agentSharing.received')
  const format = useFormatter()
  const page = sharingPage(agentId)
  const isFull = rows.length === sharesPerPage
  return (
    <Section id="received" title={t('title')} lead={rows.length > 0 && t('lead')}>
      {pending > 0 && (
        <div className="grid gap-2">
          <p>{t('pending', { count: pending, shown: format.number(pending) })}</p>
          <CodeBlock code={`kp clade pending --agent ${agentId}`} what={t('command')} />
        </div>
      )}
      {rows.length > 0 ? (
        <ReceivedList rows={rows} names={names} />
      ) : (
        <p className="text-quiet">{t(after === 0 ? 'none' : 'noMore')}</p>
      )}
      {(after !== 0 || isFull) && (
        <p className="flex flex-wrap gap-x-4 gap-y-1">
          {after !== 0 && <TextLink href={`${page}#received`}>{t('first')}</TextLink>}
          {isFull && <TextLink href={`${page}?after=${nextAfter}#received`}>{t('next')}</TextLink>}
        </p>
      )}
    </Section>
  )
}
