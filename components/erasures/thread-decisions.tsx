'use client'

import { useFormatter, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { requestPaths } from '#components/queue/endpoints.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { decideThreadAt, type Run, type Thread, threadsAt } from './endpoints.ts'
import { hasThreads } from './fault-rules.ts'

const decisions = {
  retain: { tone: 'plain', confirm: 'main' },
  delete: { tone: 'danger', confirm: 'danger' },
} as const
type Decision = keyof typeof decisions

const authorKinds = ['account', 'agent', 'participant'] as const
const useAuthors = () => {
  const t = useTranslations('storeProgress.threads')
  const format = useFormatter()
  /** The number of authors by kind; the list below has their ids. */
  return (authors: Thread['authors']): string =>
    format.list(
      authorKinds
        .map((kind) => ({ kind, count: authors.filter((author) => author.kind === kind).length }))
        .filter(({ count }) => count > 0)
        .map(({ kind, count }) => t(`authors.${kind}`, { count })),
    )
}

interface DecideProps {
  auditId: string
  thread: Thread
  decision: Decision
  onDecided: () => void
}
/** Confirms a decision and explains what is lost: neither decision can be undone. */
function Decide({ auditId, thread, decision, onDecided }: DecideProps) {
  const t = useTranslations('storeProgress.threads')
  const authorsIn = useAuthors()
  const [isOpen, setOpen] = useState(false)
  const decide = useApiMutation(decideThreadAt, { touches: requestPaths })
  const id = thread.thread_id
  const messages = thread.authors.reduce((sum, author) => sum + author.messages, 0)
  return (
    <>
      <Button tone={decisions[decision].tone} size="small" onClick={() => setOpen(true)}>
        {t(`${decision}.open`)}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={<span className="[overflow-wrap:anywhere]">{t(`${decision}.ask`, { thread: id })}</span>}
        consequences={
          <>
            <p>{t(`${decision}.text`)}</p>
            {decision === 'delete' && messages > 0 && (
              <p className="font-medium text-ink">{t('others', { messages, authors: authorsIn(thread.authors) })}</p>
            )}
          </>
        }
        action={t(`${decision}.open`)}
        tone={decisions[decision].confirm}
        change={decide}
        onConfirm={() =>
          decide.begin({ params: { id: auditId, threadId: id }, body: { decision } }, () => {
            setOpen(false)
            onDecided()
          })
        }
      />
    </>
  )
}

interface ThreadRowProps extends Omit<DecideProps, 'decision'> {
  mayDelete: boolean
}
function ThreadRow({ thread, mayDelete, ...rest }: ThreadRowProps) {
  const t = useTranslations('storeProgress.threads')
  const authorsIn = useAuthors()
  const { thread_id: id, authors, decision } = thread
  const messages = authors.reduce((sum, author) => sum + author.messages, 0)
  const isForOwners = authors.length > 0 && !mayDelete
  return (
    <li className="grid gap-2 py-3">
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <CopyableId id={id} what={t('id')} />
        {decision !== null && <Badge tone="progress">{t(`${decision}.decided`)}</Badge>}
      </p>
      <p className="text-quiet">
        {messages === 0 ? t('noOthers') : t('others', { messages, authors: authorsIn(authors) })}
      </p>
      {authors.length > 0 && (
        <details className="text-sm">
          <summary className="cursor-pointer text-quiet">{t('show')}</summary>
          <ul className="mt-2 grid gap-1">
            {authors.map((author) => (
              <li key={`${author.kind} ${author.id}`} className="flex flex-wrap items-center gap-x-3">
                <CopyableId id={author.id} what={t('author')} />
                <span className="text-quiet tabular-nums">{t('messages', { count: author.messages })}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {decision === null && (
        <div className="flex flex-wrap items-center gap-2">
          <Decide thread={thread} decision="retain" {...rest} />
          {isForOwners ? (
            <span className="text-sm text-quiet">{t('ownersOnly')}</span>
          ) : (
            <Decide thread={thread} decision="delete" {...rest} />
          )}
        </div>
      )}
    </li>
  )
}

interface ThreadDecisionsProps {
  run: Pick<Run, 'state' | 'steps' | 'audit_id'>
  /** Project owners and admins may delete messages of others; other requesters may not. */
  mayDelete: boolean
}
/**
 * Threads that the erasure cannot rewrite, with messages of others in them, until each has a decision. Needs the messages `storeProgress`.
 */
export function ThreadDecisions({ run, mayDelete }: ThreadDecisionsProps) {
  const t = useTranslations('storeProgress.threads')
  const auditId = run.audit_id
  const [hasDecided, setDecided] = useState(false)
  const isAsked = auditId !== null && hasThreads(run)
  const { data, problem } = useApiQuery(threadsAt, { params: { id: auditId ?? '' } }, { enabled: isAsked })
  const threads = data?.data ?? []
  if (auditId === null || !isAsked || (threads.length === 0 && !problem)) return null
  const open = threads.filter(({ decision }) => decision === null).length
  return (
    <section
      aria-labelledby="threads-title"
      className="grid gap-2 rounded-box border border-amber/40 bg-amber-wash px-4 py-3"
    >
      <h3 id="threads-title" className="font-medium">
        {t('title', { count: open })}
      </h3>
      {problem && <ProblemAlert problem={problem} />}
      <p>{t('lead')}</p>
      <p role="status" className="text-accent empty:hidden">
        {hasDecided ? t('done') : ''}
      </p>
      <ul className="divide-y divide-line">
        {threads.map((thread) => (
          <ThreadRow
            key={thread.thread_id}
            auditId={auditId}
            thread={thread}
            mayDelete={mayDelete}
            onDecided={() => setDecided(true)}
          />
        ))}
      </ul>
    </section>
  )
}
