import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Section } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { type CladeSibling, type Preview, type SharingHindrance, sharingPage } from './clades.ts'
import { SharePreview } from './share-preview.tsx'

interface PreviewSectionProps {
  agentId: string
  entryId: string
  /** `none` when the entry does not exist, `private` when it cannot be shared. */
  preview: Preview | 'private' | 'none'
  siblings: readonly CladeSibling[]
  hindrance: SharingHindrance | undefined
  /** An earlier share of the same entry that was not recalled. */
  earlierShare: string | undefined
}

/** What sharing an entry would send, or why it cannot be shared. */
export function PreviewSection({ agentId, entryId, preview, siblings, hindrance, earlierShare }: PreviewSectionProps) {
  const t = useTranslations('agentSharing')
  return (
    <Section id="preview" title={t('preview.title')} lead={t('preview.lead')}>
      {typeof preview === 'string' ? (
        <Alert tone="warning" title={t(`preview.${preview}.title`)}>
          <p>{t(`preview.${preview}.text`)}</p>
          {preview === 'private' && (
            <CodeBlock code={`kp clade share ${entryId} --agent ${agentId}`} what={t('entries.command')} />
          )}
        </Alert>
      ) : (
        <>
          {earlierShare !== undefined && (
            <p>
              {t.rich('preview.already', {
                link: (text) => <TextLink href={sharingPage(agentId, { share: earlierShare })}>{text}</TextLink>,
              })}
            </p>
          )}
          <SharePreview
            key={entryId}
            agentId={agentId}
            entryId={entryId}
            preview={preview}
            siblings={siblings}
            isHindered={hindrance !== undefined}
          />
          {hindrance === 'off' && <p className="text-quiet">{t('preview.off')}</p>}
          {hindrance === 'alone' && <p className="text-quiet">{t('preview.alone')}</p>}
        </>
      )}
    </Section>
  )
}
