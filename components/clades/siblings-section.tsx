import { useTranslations } from 'next-intl'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Section } from '#components/ui/page.tsx'
import type { CladeSibling } from './clades.ts'
import { SiblingTable } from './sibling-table.tsx'

interface SiblingsSectionProps {
  agentId: string
  /** The owner's email address, for the command line. */
  email: string
  siblings: readonly CladeSibling[]
}

/** The agent's siblings, or how to create the first one. */
export function SiblingsSection({ agentId, email, siblings }: SiblingsSectionProps) {
  const t = useTranslations('agentSharing.siblings')
  const isAlone = siblings.length === 0
  return (
    <Section id="siblings" title={t('title')} lead={isAlone ? undefined : t('lead')}>
      {isAlone ? (
        <EmptyState title={t('noneTitle')}>
          <p>{t('none')}</p>
          <div className="text-left">
            <CodeBlock code={`kp agent create --ancestor ${agentId} --as ${email}`} what={t('command')} />
          </div>
        </EmptyState>
      ) : (
        <SiblingTable siblings={siblings} />
      )}
    </Section>
  )
}
