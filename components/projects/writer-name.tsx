import { useTranslations } from 'next-intl'
import type { Message } from './places.ts'

/** Who wrote it; an id where nobody is called so any more. */
export function WriterName({ writer: { kind, id, name } }: { writer: Message['author'] }) {
  const t = useTranslations('projects')
  return (
    <span title={id}>
      <bdi>{name ?? t('conversation.someone')}</bdi>
      {kind === 'agent' && <span className="text-quiet"> · {t('members.kinds.agent')}</span>}
    </span>
  )
}
