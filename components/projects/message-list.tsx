'use client'

import { useTranslations } from 'next-intl'
import { useLayoutEffect, useRef } from 'react'
import { useApiInfiniteQuery } from '#components/frame/api-query.ts'
import { useRowKeys } from '#components/frame/row-keys.ts'
import { Button } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { type MessagePage, messagesAt, type ProjectMessage } from './endpoints.ts'
import { MessageItem } from './message-view.tsx'

/** The position in a conversation: at its end, its beginning, or one message. */
export type ConversationPosition =
  | { at: 'last'; newest: MessagePage }
  | { at: 'first'; oldest: MessagePage }
  | { at: 'message'; message: ProjectMessage; cursor: string; newest: MessagePage; oldest: MessagePage }

interface MessageListProps {
  projectId: string
  conversationId: string
  position: ConversationPosition
  isOwner: boolean
}
const atOnce = 50

/** Messages in chronological order. More load in both directions from the start position. */
export function MessageList({ projectId, conversationId, position, isOwner }: MessageListProps) {
  const t = useTranslations('projects.conversation')
  const common = useTranslations('common')
  const params = { projectId, conversationId }
  const cursor = position.at === 'message' ? { cursor: position.cursor } : {}
  const earlier = useApiInfiniteQuery(
    messagesAt,
    { params, query: { order: 'newest', limit: atOnce, ...cursor } },
    { initial: 'newest' in position ? position.newest : undefined, enabled: position.at !== 'first' },
  )
  const later = useApiInfiniteQuery(
    messagesAt,
    { params, query: { order: 'oldest', limit: atOnce, ...cursor } },
    { initial: 'oldest' in position ? position.oldest : undefined, enabled: position.at !== 'last' },
  )
  const named = position.at === 'message' ? position.message : undefined
  const before = position.at === 'first' ? [] : earlier.rows.toReversed()
  const after = position.at === 'last' ? [] : later.rows
  const messages = [...before, ...(named ? [named] : []), ...after]
  const keys = useRowKeys({ count: messages.length, onOpen: null })

  // Messages that load above push the rest down: scroll so that the visible message stays in place.
  const height = useRef<{ first: string | undefined; height: number }>({ first: undefined, height: 0 })
  const first = messages[0]?.id
  useLayoutEffect(() => {
    const now = document.documentElement.scrollHeight
    const grown = now - height.current.height
    if (height.current.first !== undefined && height.current.first !== first && grown > 0) window.scrollBy(0, grown)
    height.current = { first, height: now }
  }, [first])

  const problem = earlier.problem ?? later.problem
  if (messages.length === 0 && !problem)
    return (
      <EmptyState title={t('none')}>
        <p>{t('noneText')}</p>
      </EmptyState>
    )
  const isAtStart = position.at === 'first' || !earlier.hasMore
  const isAtEnd = position.at === 'last' || !later.hasMore
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-3 text-sm text-quiet">
        {isAtStart ? (
          <p>{t('atStart')}</p>
        ) : (
          <Button tone="plain" size="small" onClick={earlier.more} aria-disabled={earlier.isLoadingMore}>
            {earlier.isLoadingMore ? common('loadingMore') : t('earlier')}
          </Button>
        )}
      </div>
      {problem && <ProblemAlert problem={problem} />}
      <section aria-label={t('messages')} className="divide-y divide-line border-y border-line">
        {messages.map((message, row) => (
          <MessageItem
            key={message.id}
            projectId={projectId}
            message={message}
            mayErase={isOwner || message.is_mine}
            isNamed={message.id === named?.id}
            row={row}
            isAtHand={row === keys.cursor}
          />
        ))}
      </section>
      <div className="flex flex-wrap items-center gap-3 text-sm text-quiet">
        {isAtEnd ? (
          <p>{t('atEnd')}</p>
        ) : (
          <Button tone="plain" size="small" onClick={later.more} aria-disabled={later.isLoadingMore}>
            {later.isLoadingMore ? common('loadingMore') : t('later')}
          </Button>
        )}
      </div>
    </div>
  )
}
