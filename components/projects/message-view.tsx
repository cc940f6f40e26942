'use client'

import { clsx } from 'clsx'
import { Paperclip } from 'lucide-react'
import { useFormatter, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiQuery } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { ButtonLink } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { PlainLink, TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { attachmentFile, conversationPage, erasePage, messageEndpoint, type ProjectMessage } from './endpoints.ts'
import { useSizes } from './sizes.ts'
import { WriterName } from './writer-name.tsx'

/** Earlier versions of a message; they load when opened. */
function Former({ projectId, message }: { projectId: string; message: ProjectMessage }) {
  const t = useTranslations('projects.conversation')
  const [isOpen, setOpen] = useState(false)
  const params = { projectId, conversationId: message.conversation_id, messageId: message.id }
  const whole = useApiQuery(messageEndpoint, { params }, { enabled: isOpen })
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="cursor-pointer text-sm text-accent">{t('edited', { count: message.edits })}</summary>
      <div className="mt-2 grid gap-2 border-l-2 border-line pl-3">
        {whole.problem && <ProblemAlert problem={whole.problem} />}
        {whole.isLoading && <Skeleton className="h-10" />}
        <ol aria-label={t('edits')} className="grid gap-3">
          {whole.data?.data.former.map(({ id, content, edited_at }) => (
            <li key={id} className="grid gap-1 text-sm text-quiet">
              <p className="whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
                {content}
              </p>
              <p>{t.rich('until', { time: () => <Time key="until" at={edited_at} /> })}</p>
            </li>
          ))}
        </ol>
      </div>
    </details>
  )
}

interface MessageViewProps {
  projectId: string
  message: ProjectMessage
  mayErase: boolean
  /** The message that the address names. */
  isNamed?: boolean
  /** Index among the shown messages, for keyboard navigation. `isAtHand`: it is the current row. */
  row?: number
  isAtHand?: boolean
}
/** A message with its files, its earlier versions and a link to erase it. */
export function MessageItem({ projectId, message, mayErase, isNamed, row, isAtHand }: MessageViewProps) {
  const t = useTranslations('projects.conversation')
  const format = useFormatter()
  const size = useSizes()
  const { id, conversation_id: conversation, created_at: at, attachments } = message
  const time = format.dateTime(new Date(at), { dateStyle: 'medium', timeStyle: 'short' })
  return (
    <article
      id={`message-${id}`}
      data-row={row}
      aria-label={`${t(`roles.${message.role}`)}, ${time}`}
      className={clsx(
        'grid gap-2 py-4 outline-none',
        isNamed && '-mx-3 rounded-box bg-accent-wash px-3',
        isAtHand && 'outline-2 outline-accent',
      )}
    >
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
        <Badge tone={message.role === 'user' ? 'progress' : 'neutral'}>{t(`roles.${message.role}`)}</Badge>
        <span className="font-medium">
          <WriterName writer={message.author} />
        </span>
        <TextLink href={conversationPage(projectId, conversation, id)} prefetch={false} title={t('link')} tone="quiet">
          <Time at={at} />
        </TextLink>
        {mayErase && (
          <ButtonLink
            tone="quiet"
            size="small"
            className="ml-auto"
            href={erasePage(projectId, { kind: 'message', id, conversation })}
            prefetch={false}
            aria-label={t('eraseNamed', { time })}
          >
            {t('erase')}
          </ButtonLink>
        )}
      </header>
      <p className="whitespace-pre-wrap [overflow-wrap:anywhere]" dir="auto">
        {message.content}
      </p>
      {attachments.length > 0 && (
        <ul aria-label={t('attachments')} className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {attachments.map(({ id: file, name, bytes }) => (
            <li key={file} className="flex min-w-0 items-center gap-1.5">
              <Paperclip aria-hidden className="size-3.5 shrink-0 text-quiet" />
              <PlainLink
                href={attachmentFile(projectId, message, file)}
                download
                aria-label={t('attachment', { name, size: size(bytes) })}
                className="min-w-0 [overflow-wrap:anywhere]"
              >
                <bdi>{name}</bdi>
              </PlainLink>
              <span className="shrink-0 text-quiet">{size(bytes)}</span>
            </li>
          ))}
        </ul>
      )}
      {message.edits > 0 && <Former projectId={projectId} message={message} />}
    </article>
  )
}
