import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import type { Participant } from './endpoints.ts'

/** Shows that processing is restricted, and that a person claimed the participation. */
export function ParticipantTags({ participant }: { participant: Pick<Participant, 'restricted_at' | 'claimed'> }) {
  const t = useTranslations('participants')
  return (
    <span className="flex flex-wrap gap-1.5">
      {participant.restricted_at === null ? (
        <Badge tone="neutral">{t('active')}</Badge>
      ) : (
        <Badge tone="warning">{t('restricted')}</Badge>
      )}
      {participant.claimed && <Badge tone="progress">{t('claimed')}</Badge>}
    </span>
  )
}
