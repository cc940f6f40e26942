import { useTranslations } from 'next-intl'
import type { ProjectMessage } from './endpoints.ts'

/** The author of a message. The id is in the tooltip, because an erased author has no name. */
export function WriterName({ writer: { kind, id, name } }: { writer: ProjectMessage['author'] }) {
  const t = useTranslations('projects')
  return (
    <span title={id}>
      <bdi>{name ?? t('conversation.someone')}</bdi>
      {kind === 'agent' && <span className="text-quiet"> · {t('members.kinds.agent')}</span>}
    </span>
  )
}
