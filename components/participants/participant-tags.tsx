import { useTranslations } from 'next-intl'
import { Badge } from '#components/ui/badge.tsx'
import { isUnconfirmed, type Participant } from './endpoints.ts'

interface ParticipantTagsProps {
  participant: Pick<Participant, 'restricted_at' | 'claimed' | 'email' | 'email_confirmed'>
}
/** Shows that processing is restricted, that a person claimed the participation, and that its address gives nobody the right to claim it. */
export function ParticipantTags({ participant }: ParticipantTagsProps) {
  const t = useTranslations('participants')
  return (
    <span className="flex flex-wrap gap-1.5">
      {participant.restricted_at === null ? (
        <Badge tone="neutral">{t('active')}</Badge>
      ) : (
        <Badge tone="warning">{t('restricted')}</Badge>
      )}
      {participant.claimed && <Badge tone="progress">{t('claimed')}</Badge>}
      {isUnconfirmed(participant) && <Badge tone="warning">{t('address.unconfirmed')}</Badge>}
    </span>
  )
}
