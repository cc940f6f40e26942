import { useTranslations } from 'next-intl'
import { Tag } from '#components/ui/tag.tsx'
import type { Participant } from './endpoints.ts'

/** Shows that processing is restricted, and that a person claimed the participation. */
export function ParticipantTags({ participant }: { participant: Pick<Participant, 'restricted_at' | 'claimed'> }) {
  const t = useTranslations('participants')
  return (
    <span className="flex flex-wrap gap-1.5">
      {participant.restricted_at === null ? (
        <Tag tone="plain">{t('active')}</Tag>
      ) : (
        <Tag tone="amber">{t('restricted')}</Tag>
      )}
      {participant.claimed && <Tag tone="accent">{t('claimed')}</Tag>}
    </span>
  )
}
